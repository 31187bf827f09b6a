//! Cases on which kube-scheduler's own plugins were asked: question and answer in one file each.
//!
//! Invariant: an answer in `cases/` is what the plugins of 1.37.2 said. `cargo xtask test
//! differential` asks again on random ones.

use std::path::Path;

use serde_json::Value;

use crate::question::{ALL, Answers, Said, UNRESOLVABLE, UNSCHEDULABLE, ours};

#[test]
fn recorded_cases_are_answered_as_by_kube_scheduler() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases");
    let mut n_cases = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            ours(&file["case"]),
            Ok(expected(&file["answer"])),
            "{}",
            path.display()
        );
        n_cases += 1;
    }
    assert!(n_cases > 0, "no case in {}", folder.display());
}

/// Answers as they are written down: `fits`, `PLUGIN waits`, `PLUGIN never` or `PLUGIN failed`.
fn expected(from: &Value) -> Answers {
    let read = |text: &str| match text.split_once(' ') {
        None if text == "fits" => Said::Fits,
        Some((plugin, "waits")) => Said::Refused(plugin.into(), UNSCHEDULABLE),
        Some((plugin, "never")) => Said::Refused(plugin.into(), UNRESOLVABLE),
        Some((plugin, "failed")) => Said::Failed(plugin.into()),
        other => panic!("`{text}` is no answer: {other:?}"),
    };
    match from {
        Value::String(text) => Answers::from([(ALL.to_owned(), read(text))]),
        Value::Object(nodes) => {
            let pairs = nodes.iter();
            let read = |(node, said): (&String, &Value)| {
                (
                    node.clone(),
                    read(said.as_str().expect("answers are words")),
                )
            };
            pairs.map(read).collect()
        }
        other => panic!("`{other}` is no answer"),
    }
}
