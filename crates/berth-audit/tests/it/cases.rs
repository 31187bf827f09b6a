//! Whole clusters under all rules: what stands under one cause, and what does not fire beside it.
//!
//! A page of `cases/` has the blocks of a rule's page; its `expect` blocks list findings with their
//! symptoms, without evidence.

#![expect(
    clippy::disallowed_methods,
    reason = "the pages are files, and blessing is asked for by a variable"
)]

use std::fs;
use std::path::Path;

use berth_audit::engine::audit;
use berth_audit::engine::baseline::Baseline;
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
    let lines = report.flat().into_iter().map(|(depth, finding)| {
        let indent = "  ".repeat(depth);
        format!(
            "{indent}{} {} {}: {}\n",
            finding.severity, finding.code, finding.subject, finding.message
        )
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        "nothing\n".to_owned()
    } else {
        lines
    }
}
