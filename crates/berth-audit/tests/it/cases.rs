//! Whole clusters under all rules: what stands under one cause, and what does not fire beside it.
//!
//! A page of `cases/` has the blocks of a rule's page. Its `expect` blocks list findings with their
//! symptoms, and by `with=evidence` what was seen and what to do; `gaps=shown` adds what could not be
//! read, the kinds that were, and whether the audit is complete.

#![expect(
    clippy::disallowed_methods,
    reason = "the pages are files, and blessing is asked for by a variable"
)]

use std::fs;
use std::path::Path;

use berth_audit::engine::baseline::Baseline;
use berth_audit::engine::{Report, audit};
use berth_audit::rules;

use crate::literate::{self, Case};

#[test]
fn whole_clusters_show_their_causes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cases");
    let mut wrong = String::new();
    for entry in fs::read_dir(folder)
        .expect("the folder of cases is there")
        .filter_map(Result::ok)
    {
        let page = fs::read_to_string(entry.path()).expect("a case can be read");
        let (written, problems) = literate::rewrite(&page, |_, case| shown(case));
        wrong += &problems.join("\n");
        if written == page {
            continue;
        }
        if std::env::var_os("BERTH_BLESS").is_some() {
            fs::write(entry.path(), written).expect("the case was just read");
        } else {
            wrong += &format!("{} should be:\n{written}\n", entry.path().display());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn shown(case: &Case) -> String {
    let report = audit(
        &case.dump,
        &rules::all(),
        &case.settings,
        &Baseline::default(),
        case.now,
    );
    let mut text = if case.asks("with", "evidence") {
        with_evidence(&report)
    } else {
        headlines(&report)
    };
    if text.is_empty() {
        text += "nothing\n";
    }
    if case.asks("gaps", "shown") {
        text += &coverage(&report);
    }
    text
}

/// One line a finding.
fn headlines(report: &Report) -> String {
    let lines = report.flat().into_iter().map(|(depth, finding)| {
        let indent = "  ".repeat(depth);
        format!(
            "{indent}{} {} {}: {}\n",
            finding.severity, finding.code, finding.subject, finding.message
        )
    });
    lines.collect()
}

fn with_evidence(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        text += &format!("{} ", finding.code);
        literate::show_finding(finding, 0, &mut text);
    }
    literate::without_trailing_blanks(&text)
}

/// What the report says of its own reach. How many rules there are is no matter of a case.
fn coverage(report: &Report) -> String {
    let gaps = report.coverage.gaps.iter();
    let mut text: String = gaps
        .map(|gap| format!("gap in {}: {}\n", gap.what, gap.why))
        .collect();
    for kind in &report.coverage.kinds {
        text += &format!(
            "{} {}: {} objects\n",
            kind.kind,
            format!("{:?}", kind.extent).to_lowercase(),
            kind.n_objects
        );
    }
    let reach = match (report.is_incomplete(), report.not_assessable().count()) {
        (false, _) => "complete",
        (true, 0) => "incomplete",
        (true, _) => "incomplete: rules are not assessable",
    };
    text + reach + "\n"
}
