//! The queue tree as rows.
//!
//! Invariant: a queue comes right after its parent or a sibling's last descendant, siblings by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use berth_core::amount::GpuUnits;
use berth_core::id::QueueId;
use berth_core::model::snapshot::{Alike, Snapshot};

use super::as_gpus;

/// A queue as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct QueueRow {
    /// Name.
    pub(crate) name: Arc<str>,
    /// Name of the queue above.
    pub(crate) parent: Option<Arc<str>>,
    /// Levels above it.
    pub(crate) depth: usize,
    /// GPUs that it and those below hold.
    #[serde(serialize_with = "as_gpus")]
    pub(crate) used: GpuUnits,
    /// The most they may hold.
    #[serde(serialize_with = "as_gpus_or_null")]
    pub(crate) limit: Option<GpuUnits>,
    /// Pods that wait in it and below.
    pub(crate) pods_waiting: u64,
}

fn as_gpus_or_null<S: Serializer>(units: &Option<GpuUnits>, to: S) -> Result<S::Ok, S::Error> {
    units.map(GpuUnits::gpus_f64).serialize(to)
}

/// All queues of `snapshot`, each below its parent.
pub(crate) fn rows(snapshot: &Snapshot) -> Vec<QueueRow> {
    let mut children: BTreeMap<Option<QueueId>, Vec<(&Arc<str>, QueueId)>> = BTreeMap::new();
    for (id, queue) in snapshot.queues() {
        children
            .entry(queue.parent)
            .or_default()
            .push((&queue.name, id));
    }
    for siblings in children.values_mut() {
        siblings.sort_unstable();
    }
    let waiting = waiting(snapshot);
    let mut rows = Vec::new();
    let roots = children.get(&None).into_iter().flatten().rev();
    let mut stack: Vec<(QueueId, usize)> = roots.map(|&(_, id)| (id, 0)).collect();
    while let Some((id, depth)) = stack.pop() {
        let queue = snapshot.queue(id);
        rows.push(QueueRow {
            name: Arc::clone(&queue.name),
            parent: queue
                .parent
                .map(|parent| Arc::clone(&snapshot.queue(parent).name)),
            depth,
            used: queue.used(),
            limit: queue.limit(),
            pods_waiting: waiting.get(&id).copied().unwrap_or(0),
        });
        let below = children.get(&Some(id)).into_iter().flatten().rev();
        stack.extend(below.map(|&(_, id)| (id, depth + 1)));
    }
    rows
}

/// Waiting pods of each queue and those below it.
fn waiting(snapshot: &Snapshot) -> BTreeMap<QueueId, u64> {
    let mut own: BTreeMap<QueueId, u64> = BTreeMap::new();
    for (key, group) in snapshot.pending() {
        match key.alike {
            Alike::Task { queue, .. } => *own.entry(queue).or_default() += group.len() as u64,
            // Members of a gang may be charged to different queues.
            Alike::Gang { .. } => {
                for pod in group.values().filter_map(|&pod| snapshot.pod(pod)) {
                    *own.entry(pod.spec.queue).or_default() += 1;
                }
            }
        }
    }
    let mut all: BTreeMap<QueueId, u64> = BTreeMap::new();
    for (queue, n) in own {
        for (above, _) in snapshot.queue_chain(queue) {
            *all.entry(above).or_default() += n;
        }
    }
    all
}
