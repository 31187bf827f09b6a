//! A report as one HTML page that needs nothing else: filters by severity, area and words.
//!
//! Invariant: everything from the dump is escaped, and the page loads nothing from anywhere; its
//! policy forbids it.

use std::fmt::Write as _;

use super::{escape, summary};
use crate::engine::{FindingView, Outcome, Report};
use crate::finding::Severity;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// The page.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    let taken = report.taken_at.as_ref().map_or(String::new(), |taken| {
        format!(" The dump is of about {taken}.")
    });
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>Berth audit</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Audit of the cluster</h1>\n<p class=\"lead\">{}.{}</p>\n",
        escape(&summary(report)),
        escape(&taken)
    );
    areas(&mut page, report);
    filters(&mut page, report);
    page.push_str("<section id=\"findings\" aria-label=\"Findings\">\n");
    for finding in &report.findings {
        show(&mut page, finding);
    }
    page.push_str("</section>\n<p id=\"none\" hidden>No finding fits the filters.</p>\n");
    coverage(&mut page, report);
    let _ = write!(
        page,
        "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

fn areas(page: &mut String, report: &Report) {
    page.push_str("<h2>Areas</h2>\n<table>\n<thead><tr><th scope=\"col\">area</th><th scope=\"col\">score</th><th scope=\"col\">assessed</th><th scope=\"col\">errors</th><th scope=\"col\">warnings</th><th scope=\"col\">notes</th></tr></thead>\n<tbody>\n");
    for area in &report.areas {
        let score = area
            .score
            .map_or_else(|| "not assessed".to_owned(), |score| score.to_string());
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{score}</td><td>{} of {}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            area.family.title(),
            area.n_assessed,
            area.n_rules,
            area.n_errors,
            area.n_warnings,
            area.n_infos
        );
    }
    page.push_str("</tbody>\n</table>\n");
}

fn filters(page: &mut String, report: &Report) {
    page.push_str("<h2>Findings</h2>\n<form id=\"filters\" role=\"search\">\n<label>Severity <select id=\"severity\"><option value=\"0\">all</option><option value=\"1\">warnings and errors</option><option value=\"2\">errors</option></select></label>\n<label>Area <select id=\"area\"><option value=\"\">all</option>");
    for area in &report.areas {
        let _ = write!(page, "<option>{}</option>", area.family.title());
    }
    page.push_str("</select></label>\n<label>Words <input id=\"words\" type=\"search\" placeholder=\"code, name, object\"></label>\n</form>\n");
}

fn show(page: &mut String, finding: &FindingView) {
    let severity = finding.severity;
    let _ = write!(
        page,
        "<details class=\"finding {severity}\" data-severity=\"{}\" data-area=\"{}\">\n<summary><span class=\"badge\">{severity}</span> <code>{}</code> {} <strong>{}</strong>: {}</summary>\n",
        rank(finding.severity),
        finding.family.title(),
        finding.code,
        finding.name,
        escape(&finding.subject.to_string()),
        escape(&finding.message)
    );
    let _ = writeln!(page, "<p>Confidence: {}</p>", finding.confidence);
    if let Some(fix) = &finding.fix {
        let _ = writeln!(
            page,
            "<p>Fix ({}): {}</p>",
            fix.applicability,
            escape(&fix.text)
        );
    }
    page.push_str("<ul>\n");
    for seen in &finding.evidence {
        let place = seen.location.as_ref().map_or(String::new(), |place| {
            format!("{}:{}", place.file, place.line)
        });
        let _ = writeln!(
            page,
            "<li>{} <code>{}</code> = <code>{}</code> <small>{}</small></li>",
            escape(&seen.subject.to_string()),
            escape(&seen.path),
            escape(&seen.value),
            escape(&place)
        );
    }
    if finding.n_more_evidence > 0 {
        let _ = writeln!(page, "<li>and {} more</li>", finding.n_more_evidence);
    }
    page.push_str("</ul>\n");
    if !finding.symptoms.is_empty() {
        page.push_str("<p>Explains:</p>\n");
        for symptom in &finding.symptoms {
            show(page, symptom);
        }
    }
    page.push_str("</details>\n");
}

/// What the filter of severities compares.
const fn rank(severity: Severity) -> u8 {
    match severity {
        Severity::Info => 0,
        Severity::Warning => 1,
        Severity::Error => 2,
    }
}

fn coverage(page: &mut String, report: &Report) {
    page.push_str("<h2>Coverage</h2>\n<table>\n<thead><tr><th scope=\"col\">kind</th><th scope=\"col\">extent</th><th scope=\"col\">objects</th><th scope=\"col\">sources</th></tr></thead>\n<tbody>\n");
    for kind in &report.coverage.kinds {
        let extent = match kind.extent {
            crate::dump::coverage::Extent::Complete => "complete",
            crate::dump::coverage::Extent::Partial => "partial",
            crate::dump::coverage::Extent::Absent => "absent",
        };
        let _ = writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{extent}</td><td>{}</td><td>{}</td></tr>",
            kind.kind,
            kind.n_objects,
            kind.sources.join(", ")
        );
    }
    page.push_str("</tbody>\n</table>\n<h2>Not assessed</h2>\n<ul>\n");
    for rule in &report.rules {
        let holes = match &rule.outcome {
            Outcome::NotAssessable { missing } => missing,
            _ => &rule.not_assessed,
        };
        if !holes.is_empty() {
            let holes: Vec<String> = holes.iter().map(|hole| escape(hole)).collect();
            let _ = writeln!(
                page,
                "<li><code>{}</code> {}: without {}</li>",
                rule.code,
                rule.name,
                holes.join("; ")
            );
        }
    }
    page.push_str("</ul>\n<h2>Gaps</h2>\n<ul>\n");
    for gap in &report.coverage.gaps {
        let place = gap.location.as_ref().map_or(String::new(), |place| {
            format!("{}:{}: ", place.file, place.line)
        });
        let _ = writeln!(
            page,
            "<li>{}{}: {}</li>",
            escape(&place),
            escape(&gap.what),
            escape(&gap.why)
        );
    }
    if report.coverage.n_more_gaps > 0 {
        let _ = writeln!(page, "<li>and {} more</li>", report.coverage.n_more_gaps);
    }
    page.push_str("</ul>\n");
}
