//! The queue tree of a cluster that has been looked at.
//!
//! Invariant: every queue that exists is there, also one whose work is not scheduled. Not here: layout.

use std::collections::BTreeMap;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::filter::facts::Text;
use berth_core::id::QueueId;
use berth_core::model::snapshot::Snapshot;
use berth_core::quota::Meter;
use berth_kube::live::feed::QueueStanding;
use berth_kube::live::queue_status;

use super::seen::Seen;
use crate::output::API_VERSION;
use crate::output::queues::{QueueList, QueueRow, QueueShow, QuotaRow};

/// Every queue, each below its parent, siblings by name.
pub(crate) fn list(seen: &Seen) -> QueueList {
    let mut children: BTreeMap<Option<&Text>, Vec<&Text>> = BTreeMap::new();
    for name in seen.feed.queue_names() {
        let is_in = matches!(seen.feed.queue_standing(name), Some(QueueStanding::In(_)));
        // What hangs below nothing, or in a circle, stands at the top.
        let parent = seen.feed.queue_parent(name).filter(|_| is_in);
        children.entry(parent).or_default().push(name);
    }
    let roots = children.get(&None).into_iter().flatten().rev();
    let mut stack: Vec<(&Text, usize)> = roots.map(|name| (*name, 0)).collect();
    let waiting = queue_status::waiting(seen.snapshot());
    let mut queues = Vec::new();
    while let Some((name, depth)) = stack.pop() {
        queues.extend(row(seen, name, depth, &waiting));
        let below = children.get(&Some(name)).into_iter().flatten().rev();
        stack.extend(below.map(|name| (*name, depth + 1)));
    }
    QueueList {
        api_version: API_VERSION,
        kind: "QueueList",
        queues,
    }
}

/// The queue of this name in full; `None` if there is none.
pub(crate) fn show(seen: &Seen, name: &Text) -> Option<QueueShow> {
    let waiting = queue_status::waiting(seen.snapshot());
    let names = seen.feed.queue_names().into_iter();
    let children = names.filter(|child| seen.feed.queue_parent(child) == Some(name));
    Some(QueueShow {
        api_version: API_VERSION,
        kind: "Queue",
        queue: row(seen, name, 0, &waiting)?,
        children: children.map(ToString::to_string).collect(),
    })
}

fn row(
    seen: &Seen,
    name: &Text,
    depth: usize,
    waiting: &BTreeMap<QueueId, u64>,
) -> Option<QueueRow> {
    let standing = seen.feed.queue_standing(name)?;
    let (reason, message) = queue_status::words(&standing);
    let mut row = QueueRow {
        name: name.to_string(),
        parent: seen.feed.queue_parent(name).map(ToString::to_string),
        depth,
        ready: false,
        reason,
        message,
        weight: 0,
        gpus_held: 0.0,
        share_percent: None,
        pending: 0,
        quotas: Vec::new(),
    };
    if let QueueStanding::In(id) = standing {
        let index = seen.snapshot();
        let queue = index.queue(id);
        row.ready = true;
        row.weight = queue.weight;
        row.gpus_held = queue.used().gpus_f64();
        row.share_percent = share_percent(index, id);
        // With all that waits below it.
        let below = waiting
            .iter()
            .filter(|(leaf, _)| index.queue_chain(**leaf).any(|(above, _)| above == id));
        row.pending = below.map(|(_, n)| n).sum();
        row.quotas = quotas(index, id);
    }
    Some(row)
}

/// What a queue holds of all that it and those beside it hold.
fn share_percent(index: &Snapshot, id: QueueId) -> Option<f64> {
    let parent = index.queue(id).parent;
    let beside = index.queues().filter(|(_, queue)| queue.parent == parent);
    let all: GpuUnits = beside.map(|(_, queue)| queue.used()).sum();
    let held = index.queue(id).used().gpus_f64();
    (!all.is_zero()).then(|| 100.0 * held / all.gpus_f64())
}

fn quotas(index: &Snapshot, id: QueueId) -> Vec<QuotaRow> {
    let queue = index.queue(id);
    let mut rows = Vec::new();
    for (at, meter) in index.meters().iter().enumerate() {
        let account = queue.account(at);
        let amount = |amount: i128| {
            let amount = i64::try_from(amount).unwrap_or(i64::MAX);
            match meter {
                Meter::Gpu | Meter::GpuModel(_) => GpuUnits(amount).to_string(),
                Meter::Cpu => MilliCpu(amount).to_string(),
                Meter::Memory => Bytes(amount).to_string(),
                Meter::Machines => amount.to_string(),
            }
        };
        let rule = |rule: Option<i64>| rule.map(|rule| amount(rule.into()));
        rows.push(QuotaRow {
            resource: match meter {
                Meter::Gpu => "gpu".to_owned(),
                Meter::GpuModel(model) => format!("gpu/{}", index.catalog().model(model).name),
                Meter::Cpu => "cpu".to_owned(),
                Meter::Memory => "memory".to_owned(),
                Meter::Machines => "machines".to_owned(),
            },
            nominal: rule(account.quota.nominal),
            borrowing_limit: rule(account.quota.borrowing_limit),
            lending_limit: rule(account.quota.lending_limit),
            limit: rule(account.quota.limit),
            held: amount(account.used),
            borrowed: amount(account.borrowed()),
        });
    }
    rows
}
