//! What is said of queues: whether their work is scheduled, and why not.
//!
//! Invariant: a queue's own status and those who ask get the same words. Not here: pods.

use std::collections::BTreeMap;

use berth_core::filter::facts::Text;
use berth_core::id::QueueId;
use berth_core::model::snapshot::Snapshot;

use super::feed::QueueStanding;

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
