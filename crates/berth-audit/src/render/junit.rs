//! A report as JUnit XML: a suite a family, a case a rule; what could not be assessed is skipped.

use std::fmt::Write as _;

use super::escape;
use crate::engine::{FindingView, Outcome, Report, RuleOutcome};
use crate::finding::Severity;
use crate::rule::Family;

/// The document. Findings below `fail_from` do not fail their case; they stand in its output.
#[must_use]
pub fn render(report: &Report, fail_from: Severity) -> String {
    let flat: Vec<&FindingView> = report
        .flat()
        .into_iter()
        .map(|(_, finding)| finding)
        .collect();
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"berth audit\">\n",
    );
    for family in Family::ALL {
        let rules: Vec<_> = report
            .rules
            .iter()
            .filter(|rule| rule.family == family)
            .collect();
        if rules.is_empty() {
            continue;
        }
        let fails = |code: &str| {
            flat.iter()
                .any(|f| f.code == code && f.severity >= fail_from)
        };
        let is_skipped = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::NotAssessable { .. } | Outcome::NotApplicable
            )
        };
        let n_failures = rules.iter().filter(|rule| fails(rule.code)).count();
        let n_skipped = rules
            .iter()
            .filter(|rule| is_skipped(&rule.outcome))
            .count();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{n_failures}\" errors=\"0\" skipped=\"{n_skipped}\">",
            family.title(),
            rules.len()
        );
        for rule in rules {
            judged(&mut text, &flat, rule, fail_from);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn judged(text: &mut String, flat: &[&FindingView], rule: &RuleOutcome, fail_from: Severity) {
    let family = rule.family;
    let _ = writeln!(
        text,
        "    <testcase classname=\"{}\" name=\"{} {}\">",
        family.title(),
        rule.code,
        rule.name
    );
    match &rule.outcome {
        Outcome::NotAssessable { missing } => {
            let missing: Vec<&str> = missing
                .iter()
                .map(crate::dump::text::Text::as_str)
                .collect();
            let _ = writeln!(
                text,
                "      <skipped message=\"not assessable without {}\"/>",
                escape(&missing.join(", "))
            );
        }
        Outcome::NotApplicable => {
            text.push_str("      <skipped message=\"not applicable\"/>\n");
        }
        Outcome::Clean | Outcome::Found { .. } => {
            case(text, flat, rule.code, fail_from);
        }
    }
    text.push_str("    </testcase>\n");
}

fn case(text: &mut String, flat: &[&FindingView], code: &str, fail_from: Severity) {
    let of_rule = flat.iter().copied().filter(|finding| finding.code == code);
    let (failing, others): (Vec<_>, Vec<_>) =
        of_rule.partition(|finding| finding.severity >= fail_from);
    if !failing.is_empty() {
        let lines: String = failing.iter().map(|finding| lines(finding)).collect();
        let first = format!("{}: {}", failing[0].subject, failing[0].message);
        let _ = writeln!(
            text,
            "      <failure message=\"{}\" type=\"{}\">{}</failure>",
            escape(&first),
            failing[0].severity,
            escape(&lines)
        );
    }
    if !others.is_empty() {
        let lines: String = others.iter().map(|finding| lines(finding)).collect();
        let _ = writeln!(text, "      <system-out>{}</system-out>", escape(&lines));
    }
}

fn lines(finding: &FindingView) -> String {
    let mut lines = format!(
        "{} {}: {}\n",
        finding.severity, finding.subject, finding.message
    );
    for seen in &finding.evidence {
        let _ = writeln!(lines, "  {} {} = {}", seen.subject, seen.path, seen.value);
    }
    if let Some(fix) = &finding.fix {
        let _ = writeln!(lines, "  fix ({}): {}", fix.applicability, fix.text);
    }
    lines
}
