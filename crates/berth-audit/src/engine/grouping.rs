//! Puts symptoms under their cause.
//!
//! A finding names causes, the most likely first; it goes under the first that is there. A circle of
//! causes is broken at the finding that comes first in order.

use std::collections::BTreeMap;

use super::FindingView;
use crate::finding::{Finding, Severity};

/// Sorted findings, each under its cause where that was found too.
pub(super) fn group(
    mut found: Vec<Finding>,
    view: impl Fn(&Finding) -> FindingView,
) -> Vec<FindingView> {
    found.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut by_code: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, finding) in found.iter().enumerate() {
        by_code.entry(finding.code).or_default().push(index);
    }
    let mut parents: Vec<Option<usize>> = vec![None; found.len()];
    for index in 0..found.len() {
        parents[index] = found[index].causes.iter().find_map(|cause| {
            let candidates = by_code.get(cause.code)?;
            candidates.iter().copied().find(|candidate| {
                let other = &found[*candidate];
                let is_meant = cause.subject.as_ref().is_none_or(|subject| {
                    other.subject == *subject || other.also.contains(subject)
                });
                *candidate != index && is_meant && !is_above(&parents, index, *candidate)
            })
        });
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); found.len()];
    for (index, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(index);
        }
    }
    let roots = (0..found.len()).filter(|index| parents[*index].is_none());
    let mut grouped: Vec<FindingView> = roots
        .map(|root| tree(root, &found, &children, &view))
        .collect();
    // A cause is as urgent as the worst that it explains.
    grouped.sort_by_key(|finding| std::cmp::Reverse(worst(finding)));
    grouped
}

fn key(
    finding: &Finding,
) -> (
    std::cmp::Reverse<Severity>,
    &str,
    &crate::finding::Subject,
    &str,
) {
    (
        std::cmp::Reverse(finding.severity),
        finding.code,
        &finding.subject,
        &finding.message,
    )
}

/// True where `index` stands above `candidate`, so that putting it below would close a circle.
fn is_above(parents: &[Option<usize>], index: usize, candidate: usize) -> bool {
    std::iter::successors(Some(candidate), |at| parents[*at]).any(|at| at == index)
}

fn tree(
    index: usize,
    found: &[Finding],
    children: &[Vec<usize>],
    view: &impl Fn(&Finding) -> FindingView,
) -> FindingView {
    let mut finding = view(&found[index]);
    finding.symptoms = children[index]
        .iter()
        .map(|child| tree(*child, found, children, view))
        .collect();
    finding
}

fn worst(finding: &FindingView) -> Severity {
    finding
        .symptoms
        .iter()
        .map(worst)
        .max()
        .map_or(finding.severity, |below| below.max(finding.severity))
}
