//! The world at one instant, immutable and cheap to keep.
//!
//! Invariant: a snapshot never changes; clones share structure, so keeping one costs a handful of
//! pointers. Changes are made to a [`Draft`](crate::model::draft::Draft). Not here: history.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::amount::GpuUnits;
use crate::cow::CowVec;
use crate::filter;
use crate::id::{GangId, NodeId, PodId, QueueId, TaskTypeId, UserId, VmId};
use crate::model::catalog::Catalog;
use crate::model::gang::Gang;
use crate::model::node::Node;
use crate::model::pod::{FactsKind, Pod};
use crate::model::queue::Queue;
use crate::model::vm::Vm;
use crate::quota::{self, Beside, Blocked, DEFAULT_HALF_LIFE, Meters, Usage};
use crate::time::{Span, Time};

/// Waiting pods that a cycle can't tell apart but by age, or the members of one gang.
///
/// Ordered by priority, highest first. If the oldest of a group finds no place, none of it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct GroupKey {
    /// Priority of the group, reversed so that the highest sorts first.
    pub priority: Reverse<i32>,
    /// What the pods have in common.
    pub alike: Alike,
}

/// What a pod is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Its own containers.
    Pod,
    /// A virtual machine.
    Machine,
}

/// What the pods of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alike {
    /// The same request, charged to the same queue, and the same to every filter.
    Task {
        /// The queue.
        queue: QueueId,
        /// The request.
        task: TaskTypeId,
        /// What carries it.
        carrier: Carrier,
        /// What filters see of it.
        kind: FactsKind,
    },
    /// The same gang.
    Gang {
        /// The gang.
        gang: GangId,
    },
}

/// Order among waiting pods of one group: oldest first, then by name.
pub type Age = (Time, Arc<str>);

/// The pods of one group, oldest first.
pub type Group = BTreeMap<Age, PodId>;

/// A slot of the pod table.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodSlot {
    pub(crate) generation: u32,
    pub(crate) pod: Option<Arc<Pod>>,
}

/// The world at one instant.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) nodes: CowVec<Arc<Node>>,
    pub(crate) pods: CowVec<PodSlot>,
    pub(crate) free_slots: Arc<Vec<u32>>,
    pub(crate) pending: Arc<BTreeMap<GroupKey, Group>>,
    pub(crate) n_pending: usize,
    pub(crate) n_bound: usize,
    pub(crate) gangs: CowVec<Arc<Gang>>,
    pub(crate) stranded: Arc<std::collections::BTreeSet<GangId>>,
    pub(crate) vms: CowVec<Arc<Vm>>,
    pub(crate) queues: CowVec<Arc<Queue>>,
    pub(crate) meters: Arc<Meters>,
    pub(crate) half_life: Span,
    pub(crate) users: CowVec<Arc<str>>,
    /// Pods that have ever been submitted, by task type.
    pub(crate) arrivals: Arc<Vec<u64>>,
    /// What Kubernetes' filters look at.
    pub(crate) facts: Arc<filter::cluster::Cluster>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            catalog: Arc::default(),
            nodes: CowVec::new(),
            pods: CowVec::new(),
            free_slots: Arc::default(),
            pending: Arc::default(),
            n_pending: 0,
            n_bound: 0,
            gangs: CowVec::new(),
            stranded: Arc::default(),
            vms: CowVec::new(),
            queues: CowVec::new(),
            meters: Arc::default(),
            half_life: DEFAULT_HALF_LIFE,
            users: CowVec::new(),
            arrivals: Arc::default(),
            facts: Arc::default(),
        }
    }
}

impl Snapshot {
    /// An empty world.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Interned descriptions.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The cluster as Kubernetes' filters see it; empty where no Kubernetes stands behind it.
    #[must_use]
    pub fn facts(&self) -> &filter::cluster::Cluster {
        &self.facts
    }

    /// The node table; an id is its index.
    #[must_use]
    pub fn nodes(&self) -> &CowVec<Arc<Node>> {
        &self.nodes
    }

    /// A node.
    ///
    /// # Panics
    /// If `id` is of another lineage of snapshots.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Arc<Node> {
        self.nodes
            .get(id.index())
            .expect("node ids are given out by this lineage and never expire")
    }

    /// A pod, unless it has gone.
    #[must_use]
    pub fn pod(&self, id: PodId) -> Option<&Pod> {
        let slot = self.pods.get(id.slot as usize)?;
        if slot.generation == id.generation {
            slot.pod.as_deref()
        } else {
            None
        }
    }

    /// All pods, in no order of meaning but always the same.
    pub fn pods(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.pods.iter().enumerate().filter_map(|(index, slot)| {
            let slot_number = u32::try_from(index).expect("pods are bounded far below 2^32");
            let id = PodId {
                slot: slot_number,
                generation: slot.generation,
            };
            slot.pod.as_deref().map(|pod| (id, pod))
        })
    }

    /// Waiting pods by group.
    #[must_use]
    pub fn pending(&self) -> &BTreeMap<GroupKey, Group> {
        &self.pending
    }

    /// Number of waiting pods.
    #[must_use]
    pub fn n_pending(&self) -> usize {
        self.n_pending
    }

    /// Number of pods that hold a place.
    #[must_use]
    pub fn n_bound(&self) -> usize {
        self.n_bound
    }

    /// A gang.
    ///
    /// # Panics
    /// If `id` is of another lineage of snapshots.
    #[must_use]
    pub fn gang(&self, id: GangId) -> &Gang {
        self.gangs
            .get(id.index())
            .expect("gang ids are given out by this lineage")
    }

    /// Gangs that lost members and have too few left.
    pub fn stranded_gangs(&self) -> impl Iterator<Item = GangId> + '_ {
        self.stranded.iter().copied()
    }

    /// A virtual machine.
    ///
    /// # Panics
    /// If `id` is of another lineage of snapshots.
    #[must_use]
    pub fn vm(&self, id: VmId) -> &Vm {
        self.vms
            .get(id.index())
            .expect("machine ids are given out by this lineage")
    }

    /// A queue.
    ///
    /// # Panics
    /// If `id` is of another lineage of snapshots.
    #[must_use]
    pub fn queue(&self, id: QueueId) -> &Queue {
        self.queues
            .get(id.index())
            .expect("queue ids are given out by this lineage")
    }

    /// All queues in order of creation, so that a parent comes before its children.
    pub fn queues(&self) -> impl Iterator<Item = (QueueId, &Queue)> {
        self.queues
            .iter()
            .enumerate()
            .map(|(index, queue)| (QueueId::at(index), &**queue))
    }

    /// What queues are charged in.
    #[must_use]
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Whether `queue` may take `amount` more of the meter at `meter`.
    ///
    /// # Errors
    /// The nearest queue on the way up that stands in the way.
    pub fn room_for(
        &self,
        queue: QueueId,
        meter: usize,
        amount: i64,
        beside: Beside,
    ) -> Result<(), Blocked> {
        quota::room_for(&self.queues, queue, meter, amount, beside)
    }

    /// Whether `queue` has `amount` more of its own to claim, see [`quota::entitled`].
    #[must_use]
    pub fn entitled(&self, queue: QueueId, meter: usize, amount: i64) -> bool {
        quota::entitled(&self.queues, queue, meter, amount)
    }

    /// Whether `taker` may have back what `holder` holds, see [`quota::reclaimable`].
    #[must_use]
    pub fn reclaimable(
        &self,
        taker: QueueId,
        holder: QueueId,
        meter: usize,
        amounts: (i64, i64),
    ) -> bool {
        quota::reclaimable(&self.queues, taker, holder, meter, amounts)
    }

    /// What a queue has held over time up to `now`, faded.
    #[must_use]
    pub fn usage(&self, queue: QueueId, now: Time) -> Usage {
        self.queue(queue).usage_at(now, self.half_life)
    }

    /// The queue and those above it, nearest first.
    pub fn queue_chain(&self, id: QueueId) -> impl Iterator<Item = (QueueId, &Queue)> {
        std::iter::successors(Some(id), |&id| self.queue(id).parent).map(|id| (id, self.queue(id)))
    }

    /// Pods of each task type that have ever been submitted, by position of the type; types beyond
    /// the end have had none.
    #[must_use]
    pub fn arrivals(&self) -> &[u64] {
        &self.arrivals
    }

    /// A user's name.
    ///
    /// # Panics
    /// If `id` is of another lineage of snapshots.
    #[must_use]
    pub fn user(&self, id: UserId) -> &Arc<str> {
        self.users
            .get(id.index())
            .expect("user ids are given out by this lineage")
    }

    /// Number of users known.
    #[must_use]
    pub fn n_users(&self) -> usize {
        self.users.len()
    }

    /// GPUs of all nodes that are not lost.
    #[must_use]
    pub fn gpu_capacity(&self) -> GpuUnits {
        let present = self
            .nodes
            .iter()
            .filter(|node| node.state.readiness != super::node::Readiness::Lost);
        GpuUnits::ONE_GPU
            * present
                .map(|node| node.shape.gpus().len() as i64)
                .sum::<i64>()
    }
}
