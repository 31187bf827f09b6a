//! Who holds what a waiting group is short of: the quota, or the room on nodes.
//!
//! Invariant: amounts are the books' own, of the instant of the explanation; their sum is what is held
//! of that resource in all. Not here: who of them would have to go for the group (that is
//! [`crate::sched::room`]), and when they will end, which nobody knows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::id::{PodId, QueueId, UserId};
use crate::model::node::{Node, Placement};
use crate::model::request::Request;
use crate::model::snapshot::{Alike, GroupKey, Snapshot};
use crate::quota::{Beside, Meter};
use crate::sched::explain::{Explanation, Hindrance, Obstacle, obstacle};

/// What a group is short of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Short {
    /// What a queue may hold of a meter, itself and with all below it.
    Quota {
        /// The queue that stands in the way.
        queue: QueueId,
        /// In what it is full.
        meter: Meter,
    },
    /// GPUs that would do, in 1/10,000 of a card.
    Gpu,
    /// CPU, in thousandths of a core.
    Cpu,
    /// Host memory, in bytes.
    Memory,
    /// Pods that a kubelet accepts.
    PodSlots,
}

/// What one user holds in one queue of what is short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The queue that is charged.
    pub queue: QueueId,
    /// Whose work it is.
    pub user: UserId,
    /// How much they hold, in the unit of what is short.
    pub amount: i64,
    /// In how many pods.
    pub pods: u32,
    /// The pod that holds most of it, the first by name among equals.
    pub largest: PodId,
}

/// Who holds what is short, the largest holder first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holders {
    /// What is short.
    pub short: Short,
    /// Everybody who holds any of it.
    pub holders: Vec<Holder>,
}

/// Who holds what the group `key` waits for; `None` where it waits for nothing that anybody holds.
#[must_use]
pub fn holders(snapshot: &Snapshot, key: &GroupKey, explained: &Explanation) -> Option<Holders> {
    let first = *snapshot.pending().get(key)?.values().next()?;
    let request = *snapshot.catalog().task(snapshot.pod(first)?.spec.task);
    let short = short_of(snapshot, key, first, explained)?;
    let mut found = Found::default();
    for node in snapshot.nodes().iter() {
        if !is_in_the_way(snapshot, short, &request, node) {
            continue;
        }
        for placement in &node.placements {
            let amount = amount(snapshot, short, &request, node, placement);
            found.add(snapshot, placement.pod, amount);
        }
    }
    let holders = found.largest_first(snapshot);
    Some(Holders { short, holders })
}

/// Who holds anything of a meter in a queue and those below it, the largest holder first.
#[must_use]
pub fn holders_in(snapshot: &Snapshot, queue: QueueId, meter: Meter) -> Vec<Holder> {
    let short = Short::Quota { queue, meter };
    let mut found = Found::default();
    for node in snapshot.nodes().iter() {
        for placement in &node.placements {
            let amount = amount(snapshot, short, &placement.request, node, placement);
            found.add(snapshot, placement.pod, amount);
        }
    }
    found.largest_first(snapshot)
}

/// Holders as they are found, each with what its largest pod holds.
#[derive(Default)]
struct Found(BTreeMap<(QueueId, UserId), (Holder, i64)>);

impl Found {
    fn add(&mut self, snapshot: &Snapshot, pod: PodId, amount: i64) {
        let Some(spec) = snapshot.pod(pod).map(|pod| &pod.spec) else {
            return;
        };
        if amount <= 0 {
            return;
        }
        let (queue, user) = (spec.queue, spec.user);
        let none = Holder {
            queue,
            user,
            amount: 0,
            pods: 0,
            largest: pod,
        };
        let (holder, most) = self.0.entry((queue, user)).or_insert((none, 0));
        holder.amount = holder.amount.saturating_add(amount);
        holder.pods += 1;
        let name = |id| snapshot.pod(id).map(|pod| &pod.spec.name);
        if amount > *most || (amount == *most && name(pod) < name(holder.largest)) {
            (holder.largest, *most) = (pod, amount);
        }
    }

    fn largest_first(self, snapshot: &Snapshot) -> Vec<Holder> {
        let mut holders: Vec<Holder> = self.0.into_values().map(|(holder, _)| holder).collect();
        holders.sort_by_cached_key(|holder| {
            let queue = snapshot.queue(holder.queue).name.clone();
            let user = snapshot.user(holder.user).clone();
            (Reverse(holder.amount), queue, user)
        });
        holders
    }
}

/// What the group is short of, by what stopped it.
fn short_of(
    snapshot: &Snapshot,
    key: &GroupKey,
    first: PodId,
    explained: &Explanation,
) -> Option<Short> {
    match explained.hindrance {
        Hindrance::QueueLimit { queue }
        | Hindrance::BorrowingLimit { queue }
        | Hindrance::QuotaInUse { queue } => {
            let meter = full_meter(snapshot, key, first, queue).unwrap_or(Meter::Gpu);
            Some(Short::Quota { queue, meter })
        }
        Hindrance::NoNode | Hindrance::GangNoRoom { .. } => most_in_the_way(explained),
        Hindrance::ExceedsQuota { .. } | Hindrance::Evicted | Hindrance::GangIncomplete { .. } => {
            None
        }
    }
}

/// The meter in which `queue` keeps the group out.
fn full_meter(snapshot: &Snapshot, key: &GroupKey, first: PodId, queue: QueueId) -> Option<Meter> {
    let spec = &snapshot.pod(first)?.spec;
    let members = match key.alike {
        Alike::Task { .. } => 1,
        Alike::Gang { gang } => snapshot.gang(gang).needed_at_once().into(),
    };
    let request = snapshot.catalog().task(spec.task);
    let meters = snapshot.meters();
    let demand = meters.demand(snapshot.catalog(), request, spec.carrier());
    let full = |at: usize, amount: i64| {
        let amount = amount.saturating_mul(members);
        let room = snapshot.room_for(spec.queue, at, amount, Beside::WhatIsHeld);
        room.is_err_and(|blocked| blocked.queue() == queue)
    };
    let mut all = meters.iter().zip(demand).enumerate();
    all.find(|(at, (_, amount))| full(*at, *amount))
        .map(|(_, (meter, _))| meter)
}

/// What is short on most nodes that would do.
fn most_in_the_way(explained: &Explanation) -> Option<Short> {
    let short = |obstacle| match obstacle {
        Obstacle::GpuBusy | Obstacle::Fragmented => Some(Short::Gpu),
        Obstacle::Cpu => Some(Short::Cpu),
        Obstacle::Memory => Some(Short::Memory),
        Obstacle::PodSlots => Some(Short::PodSlots),
        Obstacle::TooSmall
        | Obstacle::Model
        | Obstacle::Mode
        | Obstacle::NotReady
        | Obstacle::Unhealthy
        | Obstacle::Rules => None,
    };
    let nodes = explained.nodes.iter();
    let capacity = nodes.filter_map(|&(obstacle, nodes)| Some((short(obstacle)?, nodes)));
    // The first of equals is nearest to the head of the list, where GPUs stand.
    let most = capacity.rev().max_by_key(|(_, nodes)| *nodes);
    most.map(|(short, _)| short)
}

/// Whether what is held on `node` keeps the request out.
fn is_in_the_way(snapshot: &Snapshot, short: Short, request: &Request, node: &Node) -> bool {
    let at_node = || obstacle(snapshot.catalog(), request, node);
    match short {
        Short::Quota { .. } => true,
        Short::Gpu => matches!(at_node(), Some(Obstacle::GpuBusy | Obstacle::Fragmented)),
        Short::Cpu => at_node() == Some(Obstacle::Cpu),
        Short::Memory => at_node() == Some(Obstacle::Memory),
        Short::PodSlots => at_node() == Some(Obstacle::PodSlots),
    }
}

/// What a placement holds of what is short.
fn amount(
    snapshot: &Snapshot,
    short: Short,
    request: &Request,
    node: &Node,
    placement: &Placement,
) -> i64 {
    match short {
        Short::Quota { queue, meter } => {
            let Some(spec) = snapshot.pod(placement.pod).map(|pod| &pod.spec) else {
                return 0;
            };
            if !snapshot.queue_chain(spec.queue).any(|(id, _)| id == queue) {
                return 0;
            }
            let meters = snapshot.meters();
            let (shape, grant) = (&node.shape, &placement.grant);
            let charge = meters.charge(&placement.request, spec.carrier(), shape, grant);
            meters.position(meter).map_or(0, |at| charge[at])
        }
        Short::Gpu => {
            let specs = node.shape.gpus();
            let gpus = placement.grant.gpus();
            let would_do = gpus.iter().filter(|&at| {
                specs
                    .get(at)
                    .is_some_and(|gpu| request.models.contains(gpu.model))
            });
            would_do.map(|_| placement.grant.compute_each().0).sum()
        }
        Short::Cpu => placement.request.cpu.0,
        Short::Memory => placement.request.memory.0,
        Short::PodSlots => 1,
    }
}
