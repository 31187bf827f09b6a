//! What must hold after every step, worked out by brute force.

use berth_core::id::{GangId, QueueId, TaskTypeId};
use berth_core::invariant;
use berth_core::model::draft::Draft;
use berth_core::model::node::NodeState;
use berth_core::model::snapshot::{Alike, GroupKey, Snapshot};
use berth_core::quota::Beside;
use berth_core::sched::decisions::{Decisions, EvictCause};
use berth_core::sched::explain::{self, Hindrance};
use berth_core::sched::fit;

/// Checks the index after `decisions` have been applied to it.
pub(super) fn after(index: &Draft, decisions: &Decisions) -> Result<(), String> {
    let violations = invariant::check(index);
    if let Some(violation) = violations.first() {
        return Err(format!("{violation} (and {} more)", violations.len() - 1));
    }
    for (_, queue) in index.queues() {
        let (used, limit) = (queue.used(), queue.limit());
        if limit.is_some_and(|limit| used > limit) {
            return Err(format!("queue {} holds {used} of {limit:?}", queue.name));
        }
    }
    for evict in &decisions.evictions {
        let started = |by| index.pod(by).is_some_and(|pod| pod.node().is_some());
        match evict.cause {
            EvictCause::GangStranded => {}
            EvictCause::Preempted | EvictCause::Reclaimed => {
                if !evict.by.is_some_and(started) {
                    return Err(format!("{evict:?} led to no start"));
                }
            }
        }
    }
    if let Some(gang) = index.stranded_gangs().next() {
        return Err(format!(
            "gang {} has too few members running",
            index.gang(gang).name
        ));
    }
    for (key, group) in index.pending() {
        let told: Vec<&(GroupKey, Hindrance)> = decisions
            .waiting
            .iter()
            .filter(|(waiting, _)| waiting == key)
            .collect();
        let [(_, hindrance)] = told[..] else {
            return Err(format!("{key:?} waits and is told so {} times", told.len()));
        };
        if group.is_empty() {
            return Err(format!("{key:?} waits without pods"));
        }
        waits_rightly(index, key, *hindrance)?;
    }
    Ok(())
}

/// Whether the group really can't start now, for the reason given.
fn waits_rightly(index: &Snapshot, key: &GroupKey, hindrance: Hindrance) -> Result<(), String> {
    let explanation = explain::explain(index, key, hindrance);
    let wrong = |what: &str| Err(format!("{key:?}: {what} ({explanation:?})"));
    match key.alike {
        Alike::Task { queue, task, .. } => {
            let over = blocked(index, queue, task, 1, Beside::WhatIsHeld);
            let ever = blocked(index, queue, task, 1, Beside::Nothing);
            let fits = room_for(index, task, 1) == 1;
            match hindrance {
                Hindrance::NoNode if fits => wrong("there is room for it"),
                Hindrance::NoNode => {
                    let counted: u32 = explanation.nodes.iter().map(|(_, n)| n).sum();
                    let nodes = index.nodes().len();
                    if counted as usize == nodes {
                        Ok(())
                    } else {
                        wrong("nodes are miscounted")
                    }
                }
                Hindrance::ExceedsQuota { .. } if ever => Ok(()),
                Hindrance::QueueLimit { .. }
                | Hindrance::BorrowingLimit { .. }
                | Hindrance::QuotaInUse { .. }
                    if over && !ever =>
                {
                    Ok(())
                }
                Hindrance::QueueLimit { .. }
                | Hindrance::BorrowingLimit { .. }
                | Hindrance::QuotaInUse { .. }
                | Hindrance::ExceedsQuota { .. } => wrong("its queues have room for it"),
                Hindrance::Evicted => Ok(()),
                Hindrance::GangIncomplete { .. } | Hindrance::GangNoRoom { .. } => {
                    wrong("it is no gang")
                }
            }
        }
        Alike::Gang { gang } => {
            let Some((queue, task)) = of_gang(index, key) else {
                return wrong("no such pods");
            };
            let need = needed(index, gang);
            let over = blocked(index, queue, task, need, Beside::WhatIsHeld);
            match hindrance {
                Hindrance::GangIncomplete { .. } if index.gang(gang).pending >= need => {
                    wrong("it is complete")
                }
                Hindrance::GangIncomplete { .. } | Hindrance::Evicted => Ok(()),
                _ if !over && room_for(index, task, need) >= need => wrong("there is room for it"),
                _ => Ok(()),
            }
        }
    }
}

fn of_gang(index: &Snapshot, key: &GroupKey) -> Option<(QueueId, TaskTypeId)> {
    let oldest = index.pending().get(key)?.values().next()?;
    index
        .pod(*oldest)
        .map(|pod| (pod.spec.queue, pod.spec.task))
}

fn needed(index: &Snapshot, gang: GangId) -> u32 {
    index.gang(gang).needed_at_once()
}

/// Whether the queue tree keeps `pods` of `task` out.
fn blocked(index: &Snapshot, queue: QueueId, task: TaskTypeId, pods: u32, beside: Beside) -> bool {
    let catalog = index.catalog();
    let charge = catalog.equivalents(catalog.task(task)) * i64::from(pods);
    index.room_for(queue, 0, charge.0, beside).is_err()
}

/// How many pods of `task`, up to `most`, there is room for now. Exact, since pods that are alike
/// take the same from a node in whatever order they come.
fn room_for(index: &Snapshot, task: TaskTypeId, most: u32) -> u32 {
    let catalog = index.catalog();
    let request = catalog.task(task);
    let mut placed = 0;
    for node in index.nodes().iter() {
        let mut state: NodeState = node.state.clone();
        while placed < most && fit::fits(catalog, request, &node.shape, &state) {
            let grant = fit::best_fit_grant(catalog, request, &node.shape, &state);
            state.take(request, &grant);
            placed += 1;
        }
    }
    placed
}
