//! Help, refusals and exit codes.

use std::process::Stdio;

use crate::support::{Folder, berth, command};

const COMMANDS: [&str; 13] = [
    "up",
    "why",
    "queue ls",
    "queue show",
    "ps",
    "simulate",
    "simulate bound",
    "simulate suite",
    "simulate fuzz",
    "simulate scenario",
    "policies",
    "completions",
    "man",
];

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let ended = berth(["--help"]);
    assert_eq!(ended.code, 0);
    for word in [
        "up",
        "simulate",
        "policies",
        "completions",
        "man",
        "Exit codes",
    ] {
        assert!(ended.out.contains(word), "{word}: {}", ended.out);
    }
    assert!(!ended.out.contains("docs"), "a hidden command is shown");
}

#[test]
fn every_command_shows_examples() {
    for command in COMMANDS {
        let ended = berth(command.split(' ').chain(["--help"]));
        assert_eq!(ended.code, 0, "{command}");
        assert!(
            ended.out.contains("Examples:\n  berth "),
            "{command}: {}",
            ended.out
        );
    }
}

#[test]
fn without_a_command_it_helps_and_says_that_usage_was_wrong() {
    let ended = berth::<&str>([]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("Usage:"), "{}", ended.err);
}

#[test]
fn wrong_usage_ends_with_2_and_names_what_would_do() {
    let check = |arguments: &str, hint: &str| {
        let ended = berth(arguments.split(' '));
        assert_eq!(ended.code, 2, "{arguments}: {}", ended.err);
        assert!(ended.err.contains(hint), "{arguments}: {}", ended.err);
        assert_eq!(ended.out, "", "{arguments}");
    };
    check("simulte", "simulate");
    check("simulate --policy best-fti", "'best-fit'");
    check("simulate --policy fgd,nonsense", "'nonsense'");
    check("simulate --trace openb:default --until 131", "131");
    check("simulate --trace openb:default --until 0", "0");
    check("simulate --seeds 5..4", "4..5");
    check("simulate --seed -1", "-1");
    check("simulate --seed 1 --seeds 2..3", "--seeds");
    check("simulate --jobs 0", "--jobs");
    check("simulate --trace philly:x", "openb:NAME");
    check("simulate --trace openb:../x", "openb:default");
    check("simulate --trace openb:default --days 3", "--replay");
    check("simulate --trace openb:default --faults heavy", "--replay");
    check(
        "simulate --trace site:small --replay",
        "leave `--replay` out",
    );
    check("simulate --trace site:small --until 100", "--days");
    check("simulate --trace site:smal", "site:small");
    check("policies show fdg", "fgd");
    check("up --for 60", "60s");
    check("up --speed 0", "above 0");
    check("up --listen here", "--listen");
}

#[test]
fn missing_data_say_who_has_them() {
    let check = |arguments: &str, words: &[&str]| {
        let ended = berth(arguments.split(' '));
        assert_eq!(ended.code, 3, "{arguments}: {}", ended.err);
        for word in words.iter().chain(&["BERTH_DATA", "why:", "next:"]) {
            assert!(
                ended.err.contains(word),
                "{arguments}, {word}: {}",
                ended.err
            );
        }
    };
    let lists = [
        "hkust-adsl/kubernetes-scheduler-simulator",
        "alibaba/clusterdata",
    ];
    check("simulate --trace openb:default", &lists);
    check("simulate --trace openb:default --replay", &lists);
    check(
        "simulate suite fgd",
        &["experiments/analysis/expected_results"],
    );
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_run() {
    let folder = Folder::new();
    for path in [folder.path("missing/report.html"), folder.path(".")] {
        // The data are missing too: had the run begun, it would have ended with 3.
        let arguments = ["simulate", "--trace", "openb:default", "--html"];
        let ended = berth(arguments.into_iter().chain([path.to_str().unwrap()]));
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.contains("unable to write"), "{}", ended.err);
    }
}

#[test]
fn a_failed_run_leaves_no_file_behind() {
    let folder = Folder::new();
    let report = folder.path("report.html");
    let arguments = [
        "simulate",
        "--trace",
        "openb:default",
        "--html",
        report.to_str().unwrap(),
    ];
    assert_eq!(berth(arguments).code, 3);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn nothing_is_coloured_without_a_terminal_or_with_no_color() {
    for no_color in ["", "1"] {
        for arguments in [
            &["policies"][..],
            &["simulate", "--policy", "x"],
            &["--help"],
        ] {
            let mut command = command(arguments);
            let output = command.env("NO_COLOR", no_color).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            assert!(!text.contains(&0x1b), "{arguments:?}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let mut child = command(["man"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
