//! A report for a terminal: grouped by root cause, short unless all is asked for.

use std::fmt::Write as _;

use super::{count, summary};
use crate::dump::coverage::Extent;
use crate::engine::{FindingView, Outcome, Report};
use crate::finding::Severity;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The worst of each rule, with some evidence.
    Short,
    /// Everything.
    All,
}

/// Whether the terminal takes colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    None,
    /// ANSI escapes.
    Ansi,
}

/// Findings of one rule that are shown in short form.
const SHOWN: usize = 3;
/// Evidence of one finding that is shown in short form.
const SHOWN_EVIDENCE: usize = 3;
/// Gaps that are shown in short form.
const SHOWN_GAPS: usize = 5;

/// The report.
#[must_use]
pub fn render(report: &Report, detail: Detail, paint: Paint) -> String {
    let mut page = Page {
        text: String::new(),
        detail,
        paint,
    };
    page.findings(&report.findings);
    page.areas(report);
    page.coverage(report);
    page.not_assessed(report);
    let _ = writeln!(page.text, "{}", summary(report));
    page.text
}

struct Page {
    text: String,
    detail: Detail,
    paint: Paint,
}

impl Page {
    fn findings(&mut self, findings: &[FindingView]) {
        let mut at = 0;
        while at < findings.len() {
            let first = &findings[at];
            let n = findings[at..]
                .iter()
                .take_while(|f| f.code == first.code && f.severity == first.severity)
                .count();
            self.group(&findings[at..at + n]);
            at += n;
        }
    }

    /// Findings of one rule and severity.
    fn group(&mut self, group: &[FindingView]) {
        let first = &group[0];
        let severity = self.severity(first.severity);
        let name = self.bold(&format!("{} {}", first.code, first.name));
        let times = if group.len() > 1 {
            format!("  x{}", group.len())
        } else {
            String::new()
        };
        let _ = writeln!(self.text, "{severity} {name}{times}");
        let shown = if self.detail == Detail::All {
            group.len()
        } else {
            SHOWN
        };
        for finding in group.iter().take(shown) {
            self.finding(finding, "  ");
        }
        if group.len() > shown {
            let _ = writeln!(
                self.text,
                "  and {} more; -v shows them",
                group.len() - shown
            );
        }
        let fixes = group.iter().filter_map(|finding| finding.fix.as_ref());
        if self.detail == Detail::Short
            && let Some(fix) = fixes.into_iter().next()
        {
            let _ = writeln!(self.text, "  fix ({}): {}", fix.applicability, fix.text);
        }
        self.text.push('\n');
    }

    fn finding(&mut self, finding: &FindingView, indent: &str) {
        let _ = writeln!(
            self.text,
            "{indent}{}: {}",
            finding.subject, finding.message
        );
        if self.detail == Detail::All {
            for other in &finding.also {
                let _ = writeln!(self.text, "{indent}    also {other}");
            }
        }
        let shown = if self.detail == Detail::All {
            finding.evidence.len()
        } else {
            SHOWN_EVIDENCE
        };
        for seen in finding.evidence.iter().take(shown) {
            let subject = if seen.subject == finding.subject {
                String::new()
            } else {
                format!("{} ", seen.subject)
            };
            let place = match (&seen.location, self.detail) {
                (Some(place), Detail::All) if place.line > 0 => {
                    format!("  ({}:{})", place.file, place.line)
                }
                (Some(place), Detail::All) => format!("  ({})", place.file),
                _ => String::new(),
            };
            let value = one_line(&seen.value, self.detail);
            let line = self.faint(&format!("{subject}{} = {value}{place}", seen.path));
            let _ = writeln!(self.text, "{indent}    {line}");
        }
        let n_more = finding.evidence.len().saturating_sub(shown) as u64 + finding.n_more_evidence;
        if n_more > 0 {
            let line = self.faint(&format!("and {n_more} more"));
            let _ = writeln!(self.text, "{indent}    {line}");
        }
        if self.detail == Detail::All
            && let Some(fix) = &finding.fix
        {
            let _ = writeln!(
                self.text,
                "{indent}    fix ({}): {}",
                fix.applicability, fix.text
            );
        }
        self.symptoms(finding, indent);
    }

    fn symptoms(&mut self, finding: &FindingView, indent: &str) {
        if finding.symptoms.is_empty() {
            return;
        }
        if self.detail == Detail::All {
            let _ = writeln!(self.text, "{indent}    explains:");
            for symptom in &finding.symptoms {
                let below = format!("{indent}      ");
                let _ = writeln!(
                    self.text,
                    "{below}{} {} {}",
                    symptom.severity, symptom.code, symptom.name
                );
                self.finding(symptom, &below);
            }
            return;
        }
        let mut names: Vec<(&str, &str, usize)> = Vec::new();
        for symptom in &finding.symptoms {
            match names.iter_mut().find(|(code, ..)| *code == symptom.code) {
                Some(known) => known.2 += 1,
                None => names.push((symptom.code, symptom.name, 1)),
            }
        }
        let names: Vec<String> = names
            .iter()
            .map(|(code, name, n)| format!("{code} {name} x{n}"))
            .collect();
        let _ = writeln!(self.text, "{indent}    explains {}", names.join(", "));
    }

    fn areas(&mut self, report: &Report) {
        let heading = self.bold("Areas");
        let _ = writeln!(self.text, "{heading}");
        for area in &report.areas {
            let score = area
                .score
                .map_or("   -".to_owned(), |score| format!("{score:>4}"));
            let found = [
                (area.n_errors, "error"),
                (area.n_warnings, "warning"),
                (area.n_infos, "note"),
            ];
            let found: Vec<String> = found
                .into_iter()
                .filter(|(n, _)| *n > 0)
                .map(|(n, what)| count(n, what))
                .collect();
            let line = format!(
                "  {:<22}{score}  {:>2} of {:>2} rules assessed  {}",
                area.family.title(),
                area.n_assessed,
                area.n_rules,
                found.join(", ")
            );
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
        self.text.push('\n');
    }

    fn coverage(&mut self, report: &Report) {
        let coverage = &report.coverage;
        let heading = self.bold("Coverage");
        let _ = writeln!(self.text, "{heading}");
        for source in &coverage.sources {
            let _ = writeln!(self.text, "  {} ({})", source.root, source.format);
        }
        for (extent, name) in [(Extent::Complete, "complete"), (Extent::Partial, "partial")] {
            let kinds = coverage.kinds.iter().filter(|kind| kind.extent == extent);
            let kinds: Vec<String> = kinds
                .map(|kind| format!("{} {}", kind.n_objects, kind.kind))
                .collect();
            if !kinds.is_empty() {
                let _ = writeln!(self.text, "  {name}: {}", kinds.join(", "));
            }
        }
        if !coverage.hosts.is_empty() {
            let hosts: Vec<String> = coverage
                .hosts
                .iter()
                .map(|host| host.name.to_string())
                .collect();
            let _ = writeln!(self.text, "  hosts: {}", hosts.join(", "));
        }
        let n_gaps = coverage.gaps.len() as u64 + coverage.n_more_gaps;
        let shown = if self.detail == Detail::All {
            coverage.gaps.len()
        } else {
            SHOWN_GAPS
        };
        for gap in coverage.gaps.iter().take(shown) {
            let place = gap
                .location
                .as_ref()
                .map_or(String::new(), |place| match place.line {
                    0 => format!("{}: ", place.file),
                    line => format!("{}:{line}: ", place.file),
                });
            let _ = writeln!(
                self.text,
                "  gap: {place}{}: {}",
                gap.what,
                one_line(&gap.why, self.detail)
            );
        }
        if n_gaps > shown as u64 {
            let _ = writeln!(self.text, "  and {} more gaps", n_gaps - shown as u64);
        }
        self.text.push('\n');
    }

    fn not_assessed(&mut self, report: &Report) {
        let mut by_missing: std::collections::BTreeMap<String, Vec<&str>> =
            std::collections::BTreeMap::new();
        for rule in &report.rules {
            let holes = match &rule.outcome {
                Outcome::NotAssessable { missing } => missing.iter(),
                _ => rule.not_assessed.iter(),
            };
            for missing in holes {
                by_missing
                    .entry(missing.to_string())
                    .or_default()
                    .push(rule.code);
            }
        }
        if by_missing.is_empty() {
            return;
        }
        let heading = self.bold("Not assessed");
        let _ = writeln!(self.text, "{heading}");
        for (missing, codes) in &by_missing {
            let _ = writeln!(self.text, "  without {missing}: {}", codes.join(", "));
        }
        self.text.push('\n');
    }

    fn severity(&self, severity: Severity) -> String {
        let colour = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Info => "1;36",
        };
        self.painted(&format!("{severity:<7}"), colour)
    }

    fn bold(&self, text: &str) -> String {
        self.painted(text, "1")
    }

    fn faint(&self, text: &str) -> String {
        self.painted(text, "2")
    }

    fn painted(&self, text: &str, code: &str) -> String {
        match self.paint {
            Paint::None => text.to_owned(),
            Paint::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// Values from a dump on one line, without control characters that a terminal would obey.
fn one_line(text: &str, detail: Detail) -> String {
    let max = if detail == Detail::All { 400 } else { 120 };
    let mut line: String = text
        .chars()
        .take(max)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(max).is_some() {
        line.push_str("...");
    }
    line
}
