//! The example dumps: the faulty ones show their faults, and no rule fires on a clean one.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "examples are files, and blessing is asked for by a variable"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use berth_audit::engine::baseline::Baseline;
use berth_audit::engine::{Report, audit};
use berth_audit::rules;
use berth_audit::settings::Settings;
use berth_audit::source::{FORMATS, Reader};

fn folder(reader: &mut Reader, path: &Path, name: &str) {
    let mut entries: Vec<_> = fs::read_dir(path)
        .expect("the folder is there")
        .filter_map(Result::ok)
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            folder(reader, &entry.path(), &inner);
        } else {
            let mut file = fs::File::open(entry.path()).expect("an example can be opened");
            reader.seekable(&inner, &mut file);
        }
    }
}

fn report(path: &Path) -> Report {
    let mut reader = Reader::new();
    folder(&mut reader, path, "d");
    audit(
        &reader.finish(),
        &rules::all(),
        &Settings::default(),
        &Baseline::default(),
        None,
    )
}

fn lines(report: &Report) -> String {
    let lines = report.flat().into_iter().map(|(depth, finding)| {
        format!(
            "{}{} {} {}: {}\n",
            "  ".repeat(depth),
            finding.severity,
            finding.code,
            finding.subject,
            finding.message
        )
    });
    lines.collect()
}

#[test]
fn faulty_examples_show_their_faults_under_their_causes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let report = report(&root.join("../../examples"));
    // A live cluster is no file that somebody could send.
    for format in FORMATS.iter().filter(|one| one.name != "live cluster") {
        assert!(
            report
                .coverage
                .sources
                .iter()
                .any(|source| source.format == format.name),
            "no example of {}",
            format.name
        );
    }
    let expected = root.join("tests/it/examples.txt");
    let found = lines(&report);
    if std::env::var_os("BERTH_BLESS").is_some() {
        fs::write(&expected, &found).expect("the expectation can be written");
    }
    assert_eq!(fs::read_to_string(expected).unwrap_or_default(), found);
    assert!(
        report.coverage.gaps.is_empty(),
        "{:?}",
        report.coverage.gaps
    );
}

#[test]
fn no_rule_fires_on_a_clean_example() {
    let clean = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clean");
    let mut wrong = String::new();
    let mut formats = BTreeSet::new();
    for entry in fs::read_dir(clean)
        .expect("clean examples are there")
        .filter_map(Result::ok)
    {
        let report = report(&entry.path());
        assert!(!report.is_empty_handed(), "{}", entry.path().display());
        assert!(
            report.coverage.gaps.is_empty(),
            "{:?}",
            report.coverage.gaps
        );
        formats.extend(report.coverage.sources.iter().map(|source| source.format));
        let found = lines(&report);
        if !found.is_empty() {
            wrong += &format!("{}:\n{found}", entry.file_name().to_string_lossy());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    for format in FORMATS.iter().filter(|one| one.name != "live cluster") {
        assert!(
            formats.contains(format.name),
            "no clean example of {}",
            format.name
        );
    }
}
