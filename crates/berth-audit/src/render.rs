//! A report as text for people and programs.
//!
//! Invariant: a renderer decides nothing and drops nothing that it does not count; the same report
//! gives the same bytes. Not here: where the text goes, and whether a terminal takes colours.

pub mod html;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;

use crate::engine::{Outcome, Report};
use crate::finding::Severity;

/// The schema of the JSON form of a [`Report`], as pretty JSON.
#[must_use]
pub fn json_schema() -> String {
    let schema = schemars::schema_for!(Report);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}

/// One sentence that sums a report up.
#[must_use]
pub fn summary(report: &Report) -> String {
    let flat = report.flat();
    let n = |severity| {
        flat.iter()
            .filter(|(_, finding)| finding.severity == severity)
            .count()
    };
    let (errors, warnings, infos) = (n(Severity::Error), n(Severity::Warning), n(Severity::Info));
    let n_causes = report.findings.len();
    let n_assessed = report
        .rules
        .iter()
        .filter(|rule| {
            !matches!(
                rule.outcome,
                Outcome::NotAssessable { .. } | Outcome::NotApplicable
            )
        })
        .count();
    let n_blind = report.not_assessable().count();
    let n_not_there = report.rules.len() - n_assessed - n_blind;
    let mut text = format!(
        "{}, {} and {} under {}; {} assessed, {n_blind} not assessable",
        count(errors, "error"),
        count(warnings, "warning"),
        count(infos, "note"),
        count(n_causes, "root cause"),
        count(n_assessed, "rule"),
    );
    if n_not_there > 0 {
        text += &format!(", {n_not_there} not applicable");
    }
    if !report.ignored.is_empty() {
        text += &format!("; {} accepted", count(report.ignored.len(), "finding"));
    }
    text
}

/// `1 rule`, `2 rules`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Escapes text for XML and HTML, attributes included; characters that XML forbids become `?`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' | '\r' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}
