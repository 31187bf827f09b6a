//! Every scenario under `scenarios/`, under every policy.
#![expect(
    clippy::disallowed_methods,
    reason = "the test finds and opens the scenario files"
)]

use std::path::{Path, PathBuf};

use berth_sim::scenario::{Verdict, read, run};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the scenarios are part of the crate") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_scenario_comes_out_as_written() {
    let mut paths = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"),
        &mut paths,
    );
    paths.sort();
    assert!(paths.len() >= 9, "{paths:?}");
    let mut wrong = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let scenarios = read(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        assert!(!scenarios.is_empty(), "{name} has no scenario");
        for scenario in scenarios {
            let verdicts = run(&scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
            wrong.extend(verdicts.into_iter().filter(|verdict| !verdict.holds).map(
                |Verdict {
                     line,
                     policy,
                     expected,
                     found,
                     ..
                 }| {
                    format!("{name}:{line} under {policy}: expected {expected}, found {found}")
                },
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_scenario_is_refused_by_line() {
    let check = |body: &str, line: u64, part: &str| {
        let error = read("f.md", &format!("# Title\n```scenario\n{body}\n```\n")).unwrap_err();
        assert!(
            error.line == line && error.to_string().contains(part),
            "{error}"
        );
    };
    check("nod n1", 3, "`node`, `queue`");
    check("node n1 gpu=8", 3, "8xA100");
    check("node n1\nnode n2 colour=red", 4, "colour");
    check("node n1\njob j gpu=1.5", 4, "GPU request");
    check("node n1\nexpect 0s happiness=1", 4, "running");
    check("node n1\nexpect 0s running=many", 4, "value");
    check("node n1\nat 5m explode n1", 4, "lose");
    check("node n1\nat 5m restart n1", 4, "lose");
    check("node n1\nat 5m lose", 4, "`at TIME restart`");
    check(
        "node n1\nat 5m lose n2\nexpect 0s running=0",
        3,
        "a node of the scenario",
    );
    check("node n1\nexpect 0s j.running=0", 3, "a job of the scenario");
    check("node n1", 3, "at least one `expect`");
    check(
        "policy best-guess\nexpect 0s running=0",
        3,
        "policy of the catalogue",
    );
    assert!(read("f.md", "```scenario\nnode n1\n").is_err());
}

#[test]
fn a_scenario_that_comes_out_otherwise_says_how() {
    let text = "```scenario\nnode n1 gpu=1xT4\njob j x2 gpu=1\npolicy fgd\nexpect 0s running=2 \
                j.reason=HostFull\n```\n";
    let scenario = &read("f.md", text).unwrap()[0];
    let verdicts = run(scenario).unwrap();
    let found: Vec<(bool, &str)> = verdicts
        .iter()
        .map(|verdict| (verdict.holds, &*verdict.found))
        .collect();
    assert_eq!(found[..2], [(false, "1"), (false, "GpuBusy")]);
    assert_eq!(verdicts[0].expected, "at 0s running=2");
}
