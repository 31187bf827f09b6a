//! What changed between two dumps of a cluster.
//!
//! Findings are the same where rule and subject are. A rule that could be assessed in one dump only
//! makes neither new nor gone findings: it is listed as not comparable.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{FindingView, Outcome, Report};
use crate::finding::{Severity, Subject};

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Diff {
    /// Findings of the second dump that the first does not have.
    pub appeared: Vec<FindingView>,
    /// Findings of the first dump that the second does not have.
    pub disappeared: Vec<FindingView>,
    /// Findings that say something else, first and second.
    pub changed: Vec<Change>,
    /// Findings that are as they were.
    pub n_same: usize,
    /// Codes of rules that could be assessed in one dump only.
    pub not_comparable: Vec<&'static str>,
}

/// A finding that says something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Change {
    /// In the first dump.
    pub before: FindingView,
    /// In the second.
    pub after: FindingView,
}

/// Compares two reports of the same rules.
#[must_use]
pub fn diff(before: &Report, after: &Report) -> Diff {
    let not_comparable = not_comparable(before, after);
    let (mut old, new) = (
        keyed(before, &not_comparable),
        keyed(after, &not_comparable),
    );
    let mut diff = Diff {
        appeared: Vec::new(),
        disappeared: Vec::new(),
        changed: Vec::new(),
        n_same: 0,
        not_comparable,
    };
    for (key, finding) in new {
        match old.remove(&key) {
            None => diff.appeared.push(finding),
            Some(known)
                if known.message == finding.message && known.severity == finding.severity =>
            {
                diff.n_same += 1;
            }
            Some(known) => diff.changed.push(Change {
                before: known,
                after: finding,
            }),
        }
    }
    diff.disappeared = old.into_values().collect();
    diff
}

impl Diff {
    /// The worst severity among what appeared or grew worse.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        let grown = self
            .changed
            .iter()
            .filter(|change| change.after.severity > change.before.severity);
        let grown = grown.map(|change| change.after.severity);
        self.appeared
            .iter()
            .map(|finding| finding.severity)
            .chain(grown)
            .max()
    }
}

type Key = (&'static str, Subject, usize);

/// Findings by rule, subject and their number among those of both, without their symptoms.
fn keyed(report: &Report, without: &[&'static str]) -> BTreeMap<Key, FindingView> {
    let mut found = BTreeMap::new();
    for (_, finding) in report
        .flat()
        .into_iter()
        .filter(|(_, finding)| !without.contains(&finding.code))
    {
        let mut number = 0;
        while found.contains_key(&(finding.code, finding.subject.clone(), number)) {
            number += 1;
        }
        let bare = FindingView {
            symptoms: Vec::new(),
            ..finding.clone()
        };
        found.insert((finding.code, finding.subject.clone(), number), bare);
    }
    found
}

fn not_comparable(before: &Report, after: &Report) -> Vec<&'static str> {
    let assessed = |report: &Report, code: &str| {
        let outcome = report
            .rules
            .iter()
            .find(|rule| rule.code == code)
            .map(|rule| &rule.outcome);
        outcome.is_some_and(|outcome| !matches!(outcome, Outcome::NotAssessable { .. }))
    };
    let codes = after.rules.iter().map(|rule| rule.code);
    codes
        .filter(|code| assessed(before, code) != assessed(after, code))
        .collect()
}
