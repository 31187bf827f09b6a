//! What happens in a scenario, told in the order in which it happens.
//!
//! Invariant: a start, an eviction and a change of what makes a group wait are told once each. Not
//! here: layout.

use std::collections::BTreeMap;

use berth_core::id::PodId;
use berth_core::model::snapshot::GroupKey;
use berth_core::sched::decisions::EvictCause;
use berth_core::sched::explain;
use berth_core::sched::scheduler::{Scheduler, Step};
use berth_core::time::Time;
use serde::Serialize;

use crate::world::World;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When.
    pub at: Time,
    /// The pod, or the oldest of the group.
    pub pod: String,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened to a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// It starts.
    Starts {
        /// Where.
        node: String,
    },
    /// It loses its place by decision.
    Evicted {
        /// Why.
        cause: EvictCause,
        /// Whose start that makes possible.
        by: Option<String>,
    },
    /// It waits.
    Waits {
        /// The pods of its group.
        pods: usize,
        /// The token of the reason.
        reason: &'static str,
        /// What would start the oldest of them, in words after "it starts if"; the cheapest first.
        next: Vec<String>,
    },
}

/// What each group that waits was last told.
pub(super) type Told = BTreeMap<GroupKey, (usize, &'static str)>;

/// What a step brought, given what those who wait have been told.
pub(super) fn of_step(scheduler: &Scheduler<World>, step: &Step, told: &mut Told) -> Vec<Moment> {
    let index = scheduler.index();
    let name = |pod: PodId| {
        let pod = index.pod(pod).map(|pod| pod.spec.name.to_string());
        pod.unwrap_or_default()
    };
    let at = step.now;
    let mut moments = Vec::new();
    for evict in &step.decisions.evictions {
        let (cause, by) = (evict.cause, evict.by.map(name));
        let (pod, what) = (name(evict.pod), What::Evicted { cause, by });
        moments.push(Moment { at, pod, what });
    }
    for bind in &step.decisions.binds {
        let node = index.node(bind.node).name.to_string();
        let (pod, what) = (name(bind.pod), What::Starts { node });
        moments.push(Moment { at, pod, what });
    }
    let before = std::mem::take(told);
    for (key, hindrance) in scheduler.waiting() {
        let Some(group) = index.pending().get(key) else {
            continue;
        };
        let reason = explain::explain(index, key, *hindrance).reason.token();
        let now = (group.len(), reason);
        told.insert(*key, now);
        if before.get(key).is_some_and(|(_, known)| *known == reason) {
            continue;
        }
        let pod = group
            .values()
            .next()
            .map_or_else(String::new, |&pod| name(pod));
        let ways = scheduler.ways_out(key, *hindrance, at).into_iter();
        let next = ways.map(|change| change.words(index)).collect();
        let (pods, reason) = now;
        let what = What::Waits { pods, reason, next };
        moments.push(Moment { at, pod, what });
    }
    moments
}
