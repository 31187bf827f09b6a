//! Who waits, for what, since when, and why.
//!
//! Invariant: a reason is the core's, worked out from the same publication. Explaining walks all
//! nodes, so it is bounded; what is beyond the bound says `NotAssessed`, never something else.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use berth_core::id::TaskTypeId;
use berth_core::model::pod::Phase;
use berth_core::model::snapshot::{Alike, GroupKey, Snapshot};
use berth_core::sched::explain::{self, Explanation, Hindrance, Reason};
use berth_core::time::Span;

use super::{Bounded, words};
use crate::service::published::Published;

/// Groups whose rows are made, with evidence: more than anyone scrolls through.
pub(crate) const ROWS_MAX: usize = 50;

/// Explanations worked out for one view. Groups that differ in their queue only share one.
pub(crate) const EXPLAINED_MAX: usize = 400;

/// The token of what is beyond the bound.
pub(crate) const NOT_ASSESSED: &str = "NotAssessed";

/// A group that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct WaitingRow {
    /// Its turn among all groups, from 1.
    pub(crate) position: usize,
    /// Its oldest pod.
    pub(crate) oldest: Arc<str>,
    /// Whose that is.
    pub(crate) user: Arc<str>,
    /// The queue that is charged for it.
    pub(crate) queue: Arc<str>,
    /// The gang, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gang: Option<Arc<str>>,
    /// Priority; higher goes first.
    pub(crate) priority: i32,
    /// What each pod asks for.
    pub(crate) ask: String,
    /// Pods that wait.
    pub(crate) pods: usize,
    /// How long the oldest has waited, in virtual milliseconds.
    pub(crate) age_ms: Span,
    /// Reason token.
    pub(crate) reason: &'static str,
    /// What the reason means and what would change it.
    pub(crate) advice: &'static str,
    /// What stands in the way, in words.
    pub(crate) evidence: String,
    /// The same for programs.
    pub(crate) explanation: Explanation,
}

/// The first groups that wait, and all waiting pods by reason.
pub(crate) fn rows(published: &Published) -> (Bounded<WaitingRow>, BTreeMap<&'static str, u64>) {
    let snapshot = &published.snapshot;
    let mut reasons: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut known: BTreeMap<Kind, Reason> = BTreeMap::new();
    let mut items = Vec::new();
    let mut explained = 0;
    for (at, (key, hindrance)) in published.waiting.iter().enumerate() {
        let Some(group) = snapshot.pending().get(key) else {
            continue;
        };
        let kind = kind(snapshot, key, *hindrance);
        let is_shown = at < ROWS_MAX;
        let reason = match known.get(&kind) {
            Some(&reason) if !is_shown => Some(reason),
            _ if explained < EXPLAINED_MAX => {
                explained += 1;
                let explanation = explain::explain(snapshot, key, *hindrance);
                let reason = explanation.reason;
                known.insert(kind, reason);
                if is_shown {
                    items.extend(row(published, at + 1, key, explanation));
                }
                Some(reason)
            }
            _ => None,
        };
        let token = reason.map_or(NOT_ASSESSED, Reason::token);
        *reasons.entry(token).or_default() += group.len() as u64;
    }
    let total = published.waiting.len();
    (
        Bounded {
            truncated: total - items.len(),
            items,
            total,
        },
        reasons,
    )
}

/// What a reason depends on, beside the nodes: groups of one kind have one reason.
type Kind = (Option<TaskTypeId>, u8);

fn kind(snapshot: &Snapshot, key: &GroupKey, hindrance: Hindrance) -> Kind {
    let task = match key.alike {
        Alike::Task { task, .. } => Some(task),
        Alike::Gang { .. } => {
            let oldest = snapshot
                .pending()
                .get(key)
                .and_then(|group| group.values().next());
            oldest
                .and_then(|&pod| snapshot.pod(pod))
                .map(|pod| pod.spec.task)
        }
    };
    let class = match hindrance {
        Hindrance::NoNode => 0,
        Hindrance::QueueLimit { .. } => 1,
        Hindrance::GangIncomplete { .. } => 2,
        Hindrance::GangNoRoom { placed: 0, .. } => 3,
        Hindrance::GangNoRoom { .. } => 4,
        Hindrance::BorrowingLimit { .. } => 5,
        Hindrance::QuotaInUse { .. } => 6,
        Hindrance::ExceedsQuota { .. } => 7,
        Hindrance::Evicted => 8,
    };
    (task, class)
}

fn row(
    published: &Published,
    position: usize,
    key: &GroupKey,
    explanation: Explanation,
) -> Option<WaitingRow> {
    let snapshot = &published.snapshot;
    let group = snapshot.pending().get(key)?;
    let oldest = snapshot.pod(*group.values().next()?)?;
    let since = match oldest.phase {
        Phase::Pending { since } | Phase::Bound { since, .. } => since,
    };
    let mut ask = words::ask(
        snapshot.catalog(),
        snapshot.catalog().task(oldest.spec.task),
    );
    let gang = match key.alike {
        Alike::Task { .. } => None,
        Alike::Gang { gang } => {
            let gang = snapshot.gang(gang);
            ask += &format!(", gang of {}", gang.members_min);
            Some(Arc::clone(&gang.name))
        }
    };
    Some(WaitingRow {
        position,
        oldest: Arc::clone(&oldest.spec.name),
        user: Arc::clone(snapshot.user(oldest.spec.user)),
        queue: Arc::clone(&snapshot.queue(oldest.spec.queue).name),
        gang,
        priority: key.priority.0,
        ask,
        pods: group.len(),
        age_ms: published.pace.now.since(since),
        reason: explanation.reason.token(),
        advice: explanation.reason.advice(),
        evidence: words::evidence(snapshot, &explanation),
        explanation,
    })
}
