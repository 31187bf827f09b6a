//! A report as Markdown, for tickets and wikis.

use std::fmt::Write as _;

use super::summary;
use crate::engine::{FindingView, Outcome, Report};

/// The page.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut page = String::from("# Audit of the cluster\n\n");
    let _ = writeln!(page, "{}.", summary(report));
    if let Some(taken) = &report.taken_at {
        let _ = writeln!(page, "The dump is of about {taken}.");
    }
    page += "\n## Areas\n\n| area | score | assessed | errors | warnings | notes |\n|---|--:|--:|--:|--:|--:|\n";
    for area in &report.areas {
        let score = area
            .score
            .map_or_else(|| "-".to_owned(), |score| score.to_string());
        let _ = writeln!(
            page,
            "| {} | {score} | {} of {} | {} | {} | {} |",
            area.family.title(),
            area.n_assessed,
            area.n_rules,
            area.n_errors,
            area.n_warnings,
            area.n_infos
        );
    }
    page += "\n## Findings\n\n";
    for finding in &report.findings {
        show(&mut page, finding, 0);
    }
    if report.findings.is_empty() {
        page += "None.\n";
    }
    not_assessed(&mut page, report);
    gaps(&mut page, report);
    page
}

fn show(page: &mut String, finding: &FindingView, depth: usize) {
    let indent = "  ".repeat(depth);
    let _ = writeln!(
        page,
        "{indent}- **{} {}** {}: `{}`: {}",
        finding.severity,
        finding.code,
        finding.name,
        code(&finding.subject.to_string()),
        plain(&finding.message)
    );
    for seen in &finding.evidence {
        let place = seen.location.as_ref().map_or(String::new(), |place| {
            format!(" ({}:{})", plain(&place.file), place.line)
        });
        let subject = code(&format!("{} {} = {}", seen.subject, seen.path, seen.value));
        let _ = writeln!(page, "{indent}  - `{subject}`{place}");
    }
    if finding.n_more_evidence > 0 {
        let _ = writeln!(page, "{indent}  - and {} more", finding.n_more_evidence);
    }
    if let Some(fix) = &finding.fix {
        let _ = writeln!(
            page,
            "{indent}  - fix ({}): {}",
            fix.applicability,
            plain(&fix.text)
        );
    }
    for symptom in &finding.symptoms {
        show(page, symptom, depth + 1);
    }
}

fn not_assessed(page: &mut String, report: &Report) {
    page.push_str("\n## Not assessed\n\n");
    let mut any = false;
    for rule in &report.rules {
        let holes = match &rule.outcome {
            Outcome::NotAssessable { missing } => missing,
            _ => &rule.not_assessed,
        };
        if !holes.is_empty() {
            any = true;
            let holes: Vec<String> = holes.iter().map(|hole| plain(hole)).collect();
            let _ = writeln!(
                page,
                "- {} {}: without {}",
                rule.code,
                rule.name,
                holes.join("; ")
            );
        }
    }
    if !any {
        page.push_str("Nothing.\n");
    }
}

fn gaps(page: &mut String, report: &Report) {
    page.push_str("\n## Gaps\n\n");
    for gap in &report.coverage.gaps {
        let place = gap.location.as_ref().map_or(String::new(), |place| {
            format!("{}:{}: ", plain(&place.file), place.line)
        });
        let _ = writeln!(page, "- {place}{}: {}", plain(&gap.what), plain(&gap.why));
    }
    match report.coverage.n_more_gaps {
        0 if report.coverage.gaps.is_empty() => page.push_str("None.\n"),
        0 => {}
        n => {
            let _ = writeln!(page, "- and {n} more");
        }
    }
}

/// Text from a dump, without what Markdown would obey.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => {
                plain.push('\\');
                plain.push(c);
            }
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

/// Text from a dump inside a code span.
fn code(text: &str) -> String {
    text.chars()
        .map(|c| if c == '`' || c.is_control() { '\'' } else { c })
        .collect()
}
