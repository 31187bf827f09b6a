//! A report as SARIF 2.1.0, for code scanning views and their tools.
//!
//! Invariant: the driver has a name, no object is empty, and every location is a file of the dump
//! with its line where that is known. A symptom names its cause among its related locations' text.

use serde_json::{Value, json};

use super::summary;
use crate::engine::baseline::Ignored;
use crate::engine::{EvidenceView, FindingView, Report};
use crate::finding::Severity;
use crate::rule::Rule;

/// The log.
#[must_use]
pub fn render(report: &Report, rules: &[&Rule], version: &str) -> String {
    let mut results: Vec<Value> = Vec::new();
    for (_, finding) in report.flat() {
        results.push(result(finding, rules, None));
    }
    for ignored in &report.ignored {
        results.push(result(&ignored.finding, rules, Some(&ignored.accepted)));
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "berth audit",
                "semanticVersion": version,
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation(report)],
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).expect("a log is plain JSON") + "\n"
}

fn descriptor(rule: &Rule) -> Value {
    let finds = section(rule.manual, "What it finds");
    let why = section(rule.manual, "Why it matters");
    json!({
        "id": rule.code,
        "name": rule.name,
        "shortDescription": { "text": rule.name.replace('-', " ") },
        "fullDescription": { "text": format!("{finds}\n\n{why}") },
        "help": { "text": rule.manual, "markdown": rule.manual },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "tags": [rule.family.title()], "precision": precision(rule.confidence) },
    })
}

fn result(finding: &FindingView, rules: &[&Rule], accepted: Option<&Ignored>) -> Value {
    let mut text = format!("{}: {}", finding.subject, finding.message);
    if let Some(fix) = &finding.fix {
        text += &format!("\nFix ({}): {}", fix.applicability, fix.text);
    }
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": { "text": text },
        "partialFingerprints": { "ruleAndSubject/v1": format!("{} {}", finding.code, finding.subject) },
        "properties": { "confidence": finding.confidence },
    });
    if let Some(index) = rules.iter().position(|rule| rule.code == finding.code) {
        result["ruleIndex"] = json!(index);
    }
    let mut places = finding.evidence.iter().filter_map(location);
    if let Some(first) = places.next() {
        result["locations"] = json!([first]);
    }
    let related: Vec<Value> = places.collect();
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    if let Some(accepted) = accepted {
        let justification = format!("{} ({})", accepted.reason, accepted.owner);
        result["suppressions"] =
            json!([{ "kind": "external", "status": "accepted", "justification": justification }]);
    }
    result
}

fn location(seen: &EvidenceView) -> Option<Value> {
    let place = seen.location.as_ref()?;
    let mut physical = json!({ "artifactLocation": { "uri": uri(&place.file) } });
    if place.line > 0 {
        physical["region"] = json!({ "startLine": place.line });
    }
    let name = format!("{} {}", seen.subject, seen.path);
    Some(json!({
        "physicalLocation": physical,
        "logicalLocations": [{ "fullyQualifiedName": name, "kind": "resource" }],
        "message": { "text": format!("{name} = {}", seen.value) },
    }))
}

fn invocation(report: &Report) -> Value {
    let mut notes: Vec<Value> =
        vec![json!({ "level": "note", "message": { "text": summary(report) } })];
    for rule in report.not_assessable() {
        let text = format!("{} {} could not be assessed", rule.code, rule.name);
        notes.push(json!({ "level": "warning", "message": { "text": text }, "associatedRule": { "id": rule.code } }));
    }
    for gap in &report.coverage.gaps {
        notes.push(json!({ "level": "warning", "message": { "text": format!("{}: {}", gap.what, gap.why) } }));
    }
    json!({ "executionSuccessful": true, "toolExecutionNotifications": notes })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

const fn precision(confidence: crate::finding::Confidence) -> &'static str {
    match confidence {
        crate::finding::Confidence::High => "high",
        crate::finding::Confidence::Medium => "medium",
        crate::finding::Confidence::Low => "low",
    }
}

/// The text under a heading of a manual.
fn section<'a>(manual: &'a str, heading: &str) -> &'a str {
    let rest = manual
        .split(&format!("## {heading}\n"))
        .nth(1)
        .unwrap_or_default();
    rest.split("## ").next().unwrap_or_default().trim()
}

/// A path as a relative reference of RFC 3986: everything that is not unreserved is escaped.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
