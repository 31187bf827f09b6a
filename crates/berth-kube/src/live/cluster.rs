//! The port of the scheduler's loop onto a live cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_api::grant::PodGrant;
use berth_core::filter::facts::Text;
use berth_core::filter::facts::pod::PodFacts;
use berth_core::filter::facts::storage::{ClaimFacts, ClaimKey};
use berth_core::id::{NodeId, PodId};
use berth_core::model::draft::Draft;
use berth_core::model::gpu::{GpuGrant, GpuMode};
use berth_core::model::pod::Pod;
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::decisions::{Decisions, Evict};
use berth_core::sched::scheduler::Cluster;
use berth_core::time::Time;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender};

use super::act::grants::Record;
use super::act::volumes::VolumeOrder;
use super::act::{Bind, Order, PodName};
use super::change::Change;
use super::clock::Clock;
use super::feed::{Feed, PodState, Standing};
use super::leaving::Leaving;
use super::queue_status::QueueTeller;
use super::tell::{Teller, Waiting};

/// Changes that are taken in before the next cycle; more wait for the one after.
const BATCH_MAX: usize = 16_384;

/// A live cluster behind the scheduler's loop.
#[derive(Debug)]
pub struct Live {
    feed: Feed,
    changes: Receiver<Change>,
    orders: Sender<Order>,
    clock: Clock,
    runtime: Handle,
    leaving: Leaving,
    /// Pods that were evicted in the last step, to be taken out of the index.
    dismissed: Vec<Text>,
    teller: Teller,
    queue_teller: QueueTeller,
    /// How often the right to write has passed from one scheduler to another.
    epoch: i64,
    /// Whether nobody has decided yet about what is there.
    is_new: bool,
    /// Pods that were evicted since the start.
    pub evictions: u64,
}

impl Live {
    /// A live cluster that is told of `changes` and gives out `orders`.
    #[must_use]
    pub fn new(
        feed: Feed,
        changes: Receiver<Change>,
        orders: Sender<Order>,
        clock: Clock,
        runtime: Handle,
    ) -> Self {
        Self {
            feed,
            changes,
            orders,
            clock,
            runtime,
            leaving: Leaving::default(),
            dismissed: Vec::new(),
            teller: Teller::default(),
            queue_teller: QueueTeller::default(),
            epoch: 0,
            is_new: false,
            evictions: 0,
        }
    }

    /// From now on decisions are asked for, first of all about what is already there. Records are
    /// written in this epoch.
    pub fn begin(&mut self, epoch: i64) {
        self.epoch = epoch;
        self.is_new = true;
    }

    /// What the index was made of.
    #[must_use]
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    fn send(&self, order: Order) {
        match self.orders.try_send(order) {
            // The actuator ends after this, and nobody minds what it no longer does.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => unreachable!("half of the room is for these orders"),
        }
    }

    /// The next change, within `patience`.
    fn next(&mut self, patience: Duration) -> Option<Change> {
        let changes = &mut self.changes;
        self.runtime
            .block_on(async { tokio::time::timeout(patience, changes.recv()).await })
            .ok()
            .flatten()
    }

    /// Binds pods once more whose place is held.
    fn bind_again(&mut self, index: &Snapshot) {
        for pod in self.feed.take_again() {
            if let Some(node) = index.pod(pod).and_then(Pod::node) {
                self.bind_all(index, node, &[pod]);
            }
        }
    }

    fn release_after_departures(&mut self) {
        for gone in self.feed.take_gone() {
            for order in self.leaving.gone(&gone) {
                self.send(order);
            }
        }
    }

    /// Tells a pod which of its markers counts.
    fn disagreement(&self, key: &Text) -> Option<Order> {
        let pod = self.feed.pod_named(key)?;
        let mark = pod.record.gang.as_ref()?;
        let other = mark.conflict?;
        let message = format!(
            "its markers name different gangs: {} counts, the one of {other} does not; take one away",
            mark.key
        );
        let pod = PodName::of(&pod.record.facts);
        Some(Order::TellDisagreement { pod, message })
    }

    fn evict(&mut self, index: &Snapshot, evict: &Evict) {
        let Some((key, pod)) = self.feed.pod(evict.pod) else {
            return;
        };
        let by = evict.by.and_then(|by| self.feed.pod(by));
        let message = match by {
            Some((by, _)) => format!("makes room for {by}"),
            None => "its gang has too few members left".to_owned(),
        };
        let (key, name) = (key.clone(), PodName::of(&pod.record.facts));
        let place = match pod.standing {
            // Its bind may be on its way, and may still arrive.
            Standing::Assumed(_, node) => Some(Text::from(&*index.node(node).name)),
            _ => pod.record.node.clone(),
        };
        if let Some(node) = place {
            self.leaving.add(&key, &node);
        }
        self.dismissed.push(key);
        self.evictions += 1;
        self.send(Order::Evict {
            pod: name,
            cause: "PreemptionByScheduler",
            message,
        });
    }

    /// Binds the pods that were given places on one node.
    fn bind_all(&mut self, index: &Snapshot, id: NodeId, pods: &[PodId]) {
        let node = Text::from(&*index.node(id).name);
        let mut orders = Vec::new();
        for &pod in pods {
            let Some((_, state)) = self.feed.pod(pod) else {
                continue;
            };
            let claims = self.feed.claim_orders(index, &state.record.facts);
            let order = Order::Bind(Bind {
                pod: PodName::of(&state.record.facts),
                node: node.clone(),
                is_gated: !state.record.gates.is_empty(),
                claims,
                volumes: volume_orders(index, &state.record.facts),
            });
            orders.extend(self.leaving.pass(&node, order));
        }
        if is_shared(index, id) {
            self.record(index, id, orders);
        } else {
            for order in orders {
                self.send(order);
            }
        }
    }

    /// Records who has which GPU of a node, and does `then` after that.
    fn record(&self, index: &Snapshot, id: NodeId, then: Vec<Order>) {
        let node = index.node(id);
        let grants = node.placements.iter().filter_map(|placement| {
            let (_, state) = self.feed.pod(placement.pod)?;
            pod_grant(state, &placement.grant)
        });
        let record = Record {
            epoch: self.epoch,
            grants: grants.collect(),
            then,
        };
        let node = Text::from(&*node.name);
        self.send(Order::Record { node, record });
    }
}

/// The claims of a pod that have no volume yet, with what has been decided for them.
fn volume_orders(index: &Snapshot, pod: &PodFacts) -> Vec<VolumeOrder> {
    let storage = &index.facts().storage;
    let claims = pod
        .volume_claims()
        .filter_map(|key| storage.claims.get(&key));
    let unbound = claims.filter(|claim| !claim.is_bound);
    let order = |claim: &ClaimFacts| VolumeOrder {
        name: claim.key.name.clone(),
        uid: claim.uid.clone(),
        volume: storage
            .decided
            .get(&claim.key)
            .and_then(|decision| decision.volume.clone()),
    };
    unbound.map(order).collect()
}

/// Whether the GPUs of a node are cut into shares, so that somebody has to say who has which.
fn is_shared(index: &Snapshot, id: NodeId) -> bool {
    let mut gpus = index.node(id).state.gpus.iter();
    gpus.any(|gpu| matches!(gpu.mode, GpuMode::TimeSlice | GpuMode::Mps))
}

fn pod_grant(pod: &PodState, grant: &GpuGrant) -> Option<PodGrant> {
    let facts = &pod.record.facts;
    let memory = match *grant {
        GpuGrant::None => return None,
        GpuGrant::Whole { .. } => 0,
        GpuGrant::Share { memory, .. }
        | GpuGrant::Mig { memory, .. }
        | GpuGrant::Vgpu { memory, .. } => memory.0,
    };
    let gpus = grant.gpus().iter().filter_map(|gpu| u8::try_from(gpu).ok());
    Some(PodGrant {
        namespace: facts.namespace.to_string(),
        name: facts.name.to_string(),
        uid: facts.uid.to_string(),
        gpus: gpus.collect(),
        compute: grant.compute_each().0,
        memory_bytes: memory,
    })
}

impl Cluster for Live {
    fn observe(&mut self, index: &mut Draft, until: Time) -> Option<Time> {
        let now = self.clock.now();
        let mut news = !self.dismissed.is_empty() || std::mem::take(&mut self.is_new);
        for key in std::mem::take(&mut self.dismissed) {
            self.feed.dismiss(index, &key, now);
        }
        news |= self.feed.wake(index, now);
        let until = self.feed.next_rest().map_or(until, |rest| rest.min(until));
        let mut taken = 0;
        if !news && let Some(change) = self.next(self.clock.until(until)) {
            self.feed.apply(index, change, self.clock.now());
            taken += 1;
        }
        while taken < BATCH_MAX
            && let Ok(change) = self.changes.try_recv()
        {
            self.feed.apply(index, change, now);
            taken += 1;
        }
        self.release_after_departures();
        let now = self.clock.now();
        news |= self.feed.wake(index, now);
        self.bind_again(index);
        index.facts_mut().now = now;
        (news || taken > 0).then_some(now)
    }

    fn pass(&mut self, _now: Time) {}

    fn tell(&mut self, index: &Snapshot, waiting: &[Waiting], now: Time) {
        for ClaimKey { namespace, name } in self.feed.take_left_over() {
            self.send(Order::Unmake { namespace, name });
        }
        for key in self.feed.take_disagreeing() {
            if let Some(order) = self.disagreement(&key) {
                self.send(order);
            }
        }
        for node in self.feed.take_unrecorded() {
            if is_shared(index, node) {
                self.record(index, node, Vec::new());
            }
        }
        // An API server that is far behind with binds has no time for reasons.
        if self.orders.capacity() < self.orders.max_capacity() / 2 {
            return;
        }
        for order in self.teller.orders(&self.feed, index, waiting, now) {
            self.send(order);
        }
        for order in self.queue_teller.orders(&self.feed, index, now) {
            self.send(order);
        }
    }

    fn act(&mut self, index: &Snapshot, decisions: &Decisions, _now: Time) {
        self.feed.note(decisions);
        for evict in &decisions.evictions {
            self.evict(index, evict);
        }
        let mut by_node: BTreeMap<NodeId, Vec<PodId>> = BTreeMap::new();
        for bind in &decisions.binds {
            by_node.entry(bind.node).or_default().push(bind.pod);
        }
        for (node, pods) in by_node {
            self.bind_all(index, node, &pods);
        }
    }
}
