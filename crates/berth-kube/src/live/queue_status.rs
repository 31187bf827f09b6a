//! What is said of queues: whether their work is scheduled, and why not.
//!
//! Invariant: a queue's own status and those who ask get the same words, and a status is written once
//! for each change of it and no more often than the rate below. Not here: pods.

use std::collections::BTreeMap;

use berth_core::filter::facts::Text;
use berth_core::id::QueueId;
use berth_core::model::snapshot::Snapshot;
use berth_core::time::{Span, Time};

use super::act::Order;
use super::feed::{Feed, QueueStanding};

/// Between two rounds of telling.
const ROUND: Span = Span::from_secs(2);

/// Queues whose status is written in a round.
const QUEUES_MAX: usize = 64;

/// What the status of a queue says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Of the spec that this is about.
    pub generation: i64,
    pub is_ready: bool,
    /// Reason and message of the condition `Ready`.
    pub words: (&'static str, String),
    /// GPUs that it and the queues under it hold, as a quantity.
    pub gpus_held: String,
    /// Pods of the queue itself that wait.
    pub pending: i64,
}

/// Tells queues how they stand.
#[derive(Debug, Default)]
pub(super) struct QueueTeller {
    next: Option<Time>,
    /// The last queue that a round has come to.
    last: Option<Text>,
    told: BTreeMap<Text, Said>,
}

impl QueueTeller {
    /// What is to be written now.
    pub(super) fn orders(&mut self, feed: &Feed, index: &Snapshot, now: Time) -> Vec<Order> {
        if self.next.is_some_and(|next| now < next) {
            return Vec::new();
        }
        self.next = Some(now + ROUND);
        let names = feed.queue_names();
        self.told.retain(|name, _| names.contains(name));
        let waiting = waiting(index);
        // Begins behind the last one, so that no queue is always too late.
        let behind = |name: &&&Text| self.last.as_ref().is_none_or(|last| **name > last);
        let (after, before): (Vec<&Text>, Vec<&Text>) = names.iter().partition(behind);
        let mut orders = Vec::new();
        for name in after.into_iter().chain(before) {
            if orders.len() == QUEUES_MAX {
                break;
            }
            self.last = Some(name.clone());
            let Some(said) = said(feed, index, &waiting, name) else {
                continue;
            };
            if self.told.get(name) != Some(&said) {
                self.told.insert(name.clone(), said.clone());
                let queue = name.clone();
                orders.push(Order::TellQueue { queue, said });
            }
        }
        orders
    }
}

fn said(
    feed: &Feed,
    index: &Snapshot,
    waiting: &BTreeMap<QueueId, u64>,
    name: &Text,
) -> Option<Said> {
    let standing = feed.queue_standing(name)?;
    let (gpus_held, pending) = match &standing {
        QueueStanding::In(id) => {
            let pending = waiting.get(id).copied().unwrap_or(0);
            let held = index.queue(*id).used();
            (held.to_string(), i64::try_from(pending).unwrap_or(i64::MAX))
        }
        _ => ("0".to_owned(), 0),
    };
    Some(Said {
        generation: feed.queue_generation(name),
        is_ready: matches!(standing, QueueStanding::In(_)),
        words: words(&standing),
        gpus_held,
        pending,
    })
}

/// The reason of a queue's condition `Ready`, and a sentence for people.
#[must_use]
pub fn words(standing: &QueueStanding) -> (&'static str, String) {
    match standing {
        QueueStanding::In(_) => ("Scheduled", "work of the queue is scheduled.".to_owned()),
        QueueStanding::ParentMissing(parent) => (
            "ParentMissing",
            format!("it hangs below queue {parent}, which doesn't exist; make that one."),
        ),
        QueueStanding::Cycle(names) => {
            let names: Vec<&str> = names.iter().map(Text::as_str).collect();
            let circle = names.join(" < ");
            let message = format!(
                "its parents lead in a circle ({circle}); delete one of them and make it anew."
            );
            ("ParentCycle", message)
        }
        QueueStanding::Unreadable(why) => (
            "Invalid",
            format!("it can't be taken in: {why}; mend its spec."),
        ),
    }
}

/// Pods that wait in each queue itself, without those below it.
#[must_use]
pub fn waiting(index: &Snapshot) -> BTreeMap<QueueId, u64> {
    let mut waiting = BTreeMap::new();
    let pods = index.pending().values().flat_map(BTreeMap::values);
    for pod in pods.filter_map(|&pod| index.pod(pod)) {
        *waiting.entry(pod.spec.queue).or_default() += 1;
    }
    waiting
}
