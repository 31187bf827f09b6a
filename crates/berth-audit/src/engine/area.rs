//! How each area stands: a score of what was assessed, and how much was.
//!
//! A rule weighs 10 where it looks for errors, 4 for warnings, 1 for information. The score is the
//! weight of the assessed rules that found nothing, in percent of all assessed ones; a rule that
//! found something loses as much as its worst finding weighs. What was not assessed is in no score.

use serde::Serialize;

use super::{FindingView, Outcome, RuleOutcome};
use crate::finding::Severity;
use crate::rule::{Family, Rule};

/// How an area stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Area {
    /// The family of rules.
    pub family: Family,
    /// 0 to 100; absent where nothing was assessed.
    pub score: Option<u8>,
    /// Rules that looked.
    pub n_assessed: usize,
    /// Rules that apply to the cluster.
    pub n_rules: usize,
    /// Findings by severity, symptoms included.
    pub n_errors: usize,
    /// See above.
    pub n_warnings: usize,
    /// See above.
    pub n_infos: usize,
}

/// Every area that has rules, in the order of reports.
pub(super) fn areas(
    rules: &[&Rule],
    outcomes: &[RuleOutcome],
    findings: &[FindingView],
) -> Vec<Area> {
    let mut flat = Vec::new();
    flatten(findings, &mut flat);
    let of = |family: Family| {
        let n = |severity| {
            flat.iter()
                .filter(|f| f.family == family && f.severity == severity)
                .count()
        };
        let mut area = Area {
            family,
            score: None,
            n_assessed: 0,
            n_rules: 0,
            n_errors: n(Severity::Error),
            n_warnings: n(Severity::Warning),
            n_infos: n(Severity::Info),
        };
        let (mut all, mut lost) = (0, 0);
        for (rule, outcome) in rules
            .iter()
            .zip(outcomes)
            .filter(|(rule, _)| rule.family == family)
        {
            if outcome.outcome == Outcome::NotApplicable {
                continue;
            }
            area.n_rules += 1;
            if matches!(outcome.outcome, Outcome::NotAssessable { .. }) {
                continue;
            }
            area.n_assessed += 1;
            let worst = flat
                .iter()
                .filter(|f| f.code == rule.code)
                .map(|f| weight(f.severity))
                .max();
            all += weight(rule.severity).max(worst.unwrap_or(0));
            lost += worst.unwrap_or(0);
        }
        area.score = (all > 0).then(|| u8::try_from(100 * (all - lost) / all).unwrap_or(100));
        area
    };
    Family::ALL
        .into_iter()
        .filter(|family| rules.iter().any(|rule| rule.family == *family))
        .map(of)
        .collect()
}

fn flatten<'a>(findings: &'a [FindingView], flat: &mut Vec<&'a FindingView>) {
    for finding in findings {
        flat.push(finding);
        flatten(&finding.symptoms, flat);
    }
}

const fn weight(severity: Severity) -> u32 {
    match severity {
        Severity::Error => 10,
        Severity::Warning => 4,
        Severity::Info => 1,
    }
}
