//! A world that may be changed: the working state of a feed, and the ground of every what-if.
//!
//! Invariant: the books balance after every call. What a pod is charged on its node, in its gang
//! and in its queue chain moves together, and giving it back undoes exactly that. A draft over a
//! snapshot leaves the snapshot as it was; dropping the draft discards the hypothesis.

use std::cmp::Reverse;
use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::filter;
use crate::id::{GangId, NodeId, PodId, QueueId, TaskTypeId, UserId, VmId};
use crate::limits;
use crate::model::catalog::Catalog;
use crate::model::gang::Gang;
use crate::model::gpu::{GpuGrant, GpuHealth, GpuMode};
use crate::model::node::{Node, Origin, Placement, Readiness, Shape};
use crate::model::pod::{Facts, FactsKind, Phase, Pod, PodSpec};
use crate::model::queue::{Queue, QueueSpec};
use crate::model::snapshot::{Alike, GroupKey, PodSlot, Snapshot};
use crate::model::vm::Vm;
use crate::quota::{self, Account, Charge, Meter, Quota, Usage};
use crate::sched::fit;
use crate::time::{Span, Time};

/// Why a change was refused. Nothing of it has been made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The pod has gone; a later one may have its slot.
    #[error("the pod has gone")]
    PodGone,
    /// The pod already holds a place.
    #[error("the pod is already bound")]
    AlreadyBound,
    /// The pod holds no place.
    #[error("the pod is not bound")]
    NotBound,
    /// The grant doesn't fit what is free on the node now.
    #[error("the grant no longer fits the node")]
    NoLongerFits,
    /// A table has reached its bound.
    #[error("{what} would exceed the bound of {bound}")]
    Full {
        /// What is full.
        what: &'static str,
        /// The bound.
        bound: usize,
    },
    /// The queue tree would be too deep.
    #[error("queue `{name}` would be {depth} levels deep; at most {bound} are allowed")]
    QueueTooDeep {
        /// The queue.
        name: Arc<str>,
        /// Its depth.
        depth: usize,
        /// The bound.
        bound: usize,
    },
}

/// A node as a feed introduces it.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// Kubernetes name.
    pub name: Arc<str>,
    /// Shape.
    pub shape: Shape,
    /// Mode of each GPU, in index order.
    pub gpu_modes: Vec<GpuMode>,
    /// Hardware id of each GPU, in index order; empty where unknown.
    pub gpu_uuids: Arc<[Arc<str>]>,
}

/// A snapshot in the making.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    snapshot: Snapshot,
}

impl Deref for Draft {
    type Target = Snapshot;
    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl Draft {
    /// An empty world.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A hypothesis over `snapshot`, which stays as it is.
    #[must_use]
    pub fn over(snapshot: &Snapshot) -> Self {
        Self {
            snapshot: snapshot.clone(),
        }
    }

    /// The world as it stands, to keep.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
    }

    /// The catalogue, to intern in.
    pub fn catalog_mut(&mut self) -> &mut Catalog {
        Arc::make_mut(&mut self.snapshot.catalog)
    }

    /// The cluster as Kubernetes' filters see it, for a feed to keep up with. Pods of the draft are
    /// put there and taken away by the draft itself.
    pub fn facts_mut(&mut self) -> &mut filter::cluster::Cluster {
        Arc::make_mut(&mut self.snapshot.facts)
    }

    /// Adds an empty node.
    ///
    /// # Errors
    /// If the cluster or the node would be larger than the bounds.
    pub fn add_node(&mut self, spec: NodeSpec) -> Result<NodeId, Refused> {
        bounded("nodes", self.snapshot.nodes.len() + 1, limits::NODES_MAX)?;
        bounded(
            "GPUs of one node",
            spec.shape.gpus().len(),
            limits::GPUS_PER_NODE_MAX,
        )?;
        let (shape_id, shape) = self.catalog_mut().intern_shape(spec.shape);
        let state = shape.empty_state(&spec.gpu_modes);
        let node = Node {
            name: spec.name,
            shape,
            shape_id,
            gpu_uuids: spec.gpu_uuids,
            state,
            placements: Vec::new(),
        };
        Ok(NodeId::at(self.snapshot.nodes.push(Arc::new(node))))
    }

    /// Sets whether a node takes new work. Pods on it stay where they are; a feed that knows them
    /// lost evicts them.
    pub fn set_readiness(&mut self, node: NodeId, readiness: Readiness) {
        self.node_mut(node).state.readiness = readiness;
    }

    /// Gives a node another shape: a kubelet has found other devices, or an administrator has moved
    /// a limit. What is placed stays and is charged for what is left of it.
    ///
    /// # Errors
    /// If the node would be larger than the bounds.
    pub fn reshape(&mut self, id: NodeId, spec: NodeSpec, now: Time) -> Result<(), Refused> {
        bounded(
            "GPUs of one node",
            spec.shape.gpus().len(),
            limits::GPUS_PER_NODE_MAX,
        )?;
        let interned = self.catalog_mut().intern_shape(spec.shape);
        let before = self.charges_on(id);
        let node = self.node_mut(id);
        node.reshape(interned, &spec.gpu_modes);
        node.gpu_uuids = spec.gpu_uuids;
        let after = self.charges_on(id);
        for ((queue, before), (_, mut after)) in before.into_iter().zip(after) {
            for (after, before) in after.iter_mut().zip(before) {
                *after -= before;
            }
            self.charge_queues(queue, &after, now);
        }
        Ok(())
    }

    /// What is charged for each placement on a node, in their order.
    fn charges_on(&self, id: NodeId) -> Vec<(QueueId, Charge)> {
        let node = self.node(id);
        let charge = |placement: &Placement| {
            let pod = self.pod(placement.pod);
            let spec = &pod.expect("what is placed is in the snapshot").spec;
            (spec.queue, self.charge(spec, node, placement))
        };
        node.placements.iter().map(charge).collect()
    }

    /// Sets the health of a GPU and returns what it was; `None` if there is no such GPU.
    pub fn set_gpu_health(
        &mut self,
        node: NodeId,
        gpu: usize,
        health: GpuHealth,
    ) -> Option<GpuHealth> {
        self.node_mut(node).set_gpu_health(gpu, health)
    }

    /// Adds a user.
    pub fn add_user(&mut self, name: impl Into<Arc<str>>) -> UserId {
        UserId::at(self.snapshot.users.push(name.into()))
    }

    /// Adds a queue. A tree that grows downwards only can't have cycles.
    ///
    /// # Errors
    /// If the tree would be deeper than its bound.
    pub fn add_queue(&mut self, spec: QueueSpec) -> Result<QueueId, Refused> {
        let above = spec.parent.map(|parent| self.queue_chain(parent).count());
        let depth = 1 + above.unwrap_or(0);
        if depth > limits::QUEUE_DEPTH_MAX {
            return Err(Refused::QueueTooDeep {
                name: spec.name,
                depth,
                bound: limits::QUEUE_DEPTH_MAX,
            });
        }
        let queue = Queue {
            name: spec.name,
            parent: spec.parent,
            weight: spec.weight,
            accounts: SmallVec::from_elem(Account::default(), self.meters.len()),
            usage: Usage::default(),
        };
        let id = QueueId::at(self.snapshot.queues.push(Arc::new(queue)));
        for (meter, quota) in spec.quotas {
            self.set_quota(id, meter, quota);
        }
        Ok(id)
    }

    /// Gives a queue another rule for a meter; from then on the meter counts in all queues. What is
    /// held beyond the new rule stays where it is.
    pub fn set_quota(&mut self, id: QueueId, meter: Meter, quota: Quota) {
        let at = match self.meters.position(meter) {
            Some(at) => at,
            None => self.turn_on(meter),
        };
        quota::requota(&mut self.snapshot.queues, id, at, quota);
    }

    /// Gives a queue another part among those beside it.
    pub fn set_weight(&mut self, id: QueueId, weight: u32) {
        let queue = self.snapshot.queues.get_mut(id.index());
        Arc::make_mut(queue.expect("queue ids are given out by this lineage")).weight = weight;
    }

    /// Sets after how long use counts half in all queues.
    pub fn set_half_life(&mut self, half_life: Span) {
        self.snapshot.half_life = half_life;
    }

    /// Sets what a queue has held over time: how a feed that has just started hands in what the
    /// ledger knows.
    pub fn set_usage(&mut self, id: QueueId, usage: Usage) {
        let queue = self.snapshot.queues.get_mut(id.index());
        Arc::make_mut(queue.expect("queue ids are given out by this lineage")).usage = usage;
    }

    /// Turns a meter on: every queue gets an account, and what is bound is charged.
    fn turn_on(&mut self, meter: Meter) -> usize {
        let at = Arc::make_mut(&mut self.snapshot.meters).turn_on(meter);
        for index in 0..self.snapshot.queues.len() {
            let queue = self.snapshot.queues.get_mut(index);
            let queue = Arc::make_mut(queue.expect("the index is below the length"));
            queue.accounts.push(Account::default());
        }
        let bound = self.pods().filter_map(|(id, pod)| {
            let node = self.node(pod.node()?);
            let placement = node.placement(id).expect("a bound pod has a placement");
            Some((pod.spec.queue, self.charge(&pod.spec, node, placement)[at]))
        });
        let bound: Vec<(QueueId, i64)> = bound.collect();
        for (queue, amount) in bound {
            quota::charge(&mut self.snapshot.queues, queue, at, amount);
        }
        at
    }

    /// What a pod is charged for a place.
    fn charge(&self, spec: &PodSpec, node: &Node, placement: &Placement) -> Charge {
        let Placement { request, grant, .. } = placement;
        self.meters
            .charge(request, spec.carrier(), &node.shape, grant)
    }

    /// Adds a gang that starts with `members_min` pods at least.
    ///
    /// # Errors
    /// If the gang would be larger than its bound.
    pub fn add_gang(
        &mut self,
        name: impl Into<Arc<str>>,
        members_min: u32,
        priority: i32,
    ) -> Result<GangId, Refused> {
        bounded(
            "members of one gang",
            members_min as usize,
            limits::GANG_MEMBERS_MAX,
        )?;
        let members_min = members_min.max(1);
        let gang = Gang {
            name: name.into(),
            members_min,
            priority,
            pending: 0,
            bound: 0,
        };
        Ok(GangId::at(self.snapshot.gangs.push(Arc::new(gang))))
    }

    /// Sets how many members a gang needs to start.
    ///
    /// # Errors
    /// If the gang would be larger than its bound.
    pub fn set_gang_members_min(&mut self, id: GangId, members_min: u32) -> Result<(), Refused> {
        bounded(
            "members of one gang",
            members_min as usize,
            limits::GANG_MEMBERS_MAX,
        )?;
        let gang = Arc::make_mut(self.gang_slot(id));
        gang.members_min = members_min.max(1);
        self.note_stranded(id);
        Ok(())
    }

    /// Adds a virtual machine.
    pub fn add_vm(&mut self, vm: Vm) -> VmId {
        VmId::at(self.snapshot.vms.push(Arc::new(vm)))
    }

    /// Adds a pod that waits for a place.
    ///
    /// # Errors
    /// If there are too many pods.
    pub fn add_pod(&mut self, spec: PodSpec) -> Result<PodId, Refused> {
        let world = &mut self.snapshot;
        bounded(
            "pods",
            world.n_pending + world.n_bound + 1,
            limits::PODS_MAX,
        )?;
        let slot = match Arc::make_mut(&mut world.free_slots).pop() {
            Some(slot) => slot,
            None => {
                let index = world.pods.push(PodSlot::default());
                u32::try_from(index).expect("pods are bounded far below 2^32")
            }
        };
        let entry = world.pods.get_mut(slot as usize).expect("the slot exists");
        let id = PodId {
            slot,
            generation: entry.generation,
        };
        let phase = Phase::Pending {
            since: spec.created,
        };
        let pod = Pod {
            spec,
            phase,
            evictions: 0,
        };
        self.count_arrival(pod.spec.task);
        self.enqueue(id, &pod.spec);
        self.slot_mut(id).pod = Some(Arc::new(pod));
        Ok(id)
    }

    /// Takes a pod out: it ended or was deleted. Gives back what it held.
    ///
    /// # Errors
    /// If it has gone already.
    pub fn remove_pod(&mut self, id: PodId, now: Time) -> Result<Arc<Pod>, Refused> {
        if self.pod(id).is_none() {
            return Err(Refused::PodGone);
        }
        let slot = self.slot_mut(id);
        let pod = slot.pod.take().expect("the pod was just seen");
        slot.generation = slot.generation.wrapping_add(1);
        Arc::make_mut(&mut self.snapshot.free_slots).push(id.slot);
        match pod.phase {
            Phase::Pending { .. } => self.dequeue(&pod.spec),
            Phase::Bound { node, .. } => self.give_back(id, &pod.spec, node, now),
        }
        Ok(pod)
    }

    /// Gives a waiting pod its place.
    ///
    /// # Errors
    /// If the pod has gone or is bound, or if the grant doesn't fit what is free now: the decision
    /// is stale.
    pub fn bind(
        &mut self,
        id: PodId,
        node: NodeId,
        grant: GpuGrant,
        now: Time,
    ) -> Result<(), Refused> {
        let request = self.catalog.task(self.unbound(id)?.spec.task);
        let target = self.nodes.get(node.index()).ok_or(Refused::NoLongerFits)?;
        if !fit::grant_fits(request, &grant, target) {
            return Err(Refused::NoLongerFits);
        }
        self.place(id, node, grant, Origin::Decided, now);
        self.mark_bound(id, node, now);
        Ok(())
    }

    /// Notes that a waiting pod has been found on a node, since `since`, whoever put it there. It is
    /// charged whether it fits or not; a grant that doesn't fit is none.
    ///
    /// # Errors
    /// If the pod has gone or is bound.
    pub fn adopt(
        &mut self,
        id: PodId,
        node: NodeId,
        grant: GpuGrant,
        since: Time,
        now: Time,
    ) -> Result<(), Refused> {
        let request = self.catalog.task(self.unbound(id)?.spec.task);
        let fits = fit::gpu_grant_fits(request, &grant, self.node(node));
        let grant = if fits { grant } else { GpuGrant::None };
        self.place(id, node, grant, Origin::Found, now);
        self.mark_bound(id, node, since);
        Ok(())
    }

    fn unbound(&self, id: PodId) -> Result<&Pod, Refused> {
        let pod = self.pod(id).ok_or(Refused::PodGone)?;
        match pod.node() {
            Some(_) => Err(Refused::AlreadyBound),
            None => Ok(pod),
        }
    }

    fn mark_bound(&mut self, id: PodId, node: NodeId, since: Time) {
        let slot = self.slot_mut(id).pod.as_mut();
        let pod = Arc::make_mut(slot.expect("the pod was just seen"));
        pod.phase = Phase::Bound { node, since };
        let spec = pod.spec.clone();
        self.dequeue(&spec);
        self.count_bound(&spec, 1);
    }

    /// Charges a waiting pod's place to the node and the queues and leaves the pod's own record as
    /// it is: all that a cycle needs to know while it decides on the next pod, at a cost that
    /// doesn't grow with the number of pods. For drafts that are dropped afterwards.
    pub(crate) fn reserve(&mut self, id: PodId, node: NodeId, grant: GpuGrant, now: Time) {
        self.place(id, node, grant, Origin::Decided, now);
    }

    /// Charges a pod's place to the node and the queues.
    fn place(&mut self, id: PodId, node: NodeId, grant: GpuGrant, origin: Origin, now: Time) {
        let pod = self.pod(id).expect("the caller has seen it");
        let placement = Placement {
            pod: id,
            request: *self.catalog.task(pod.spec.task),
            grant,
            origin,
        };
        let charge = self.charge(&pod.spec, self.node(node), &placement);
        let (queue, facts) = (pod.spec.queue, pod.spec.facts.clone());
        if let Some(facts) = facts {
            let name = Arc::clone(&self.node(node).name);
            let cluster = self.facts_mut();
            if origin == Origin::Decided {
                cluster.allocate(&name, facts.pod());
            }
            cluster.add_pod(&name, Arc::clone(facts.pod()));
        }
        self.node_mut(node).charge(placement);
        self.charge_queues(queue, &charge, now);
    }

    /// Takes a pod's place away; it waits again, from `now`.
    ///
    /// # Errors
    /// If it has gone or holds no place.
    pub fn evict(&mut self, id: PodId, now: Time) -> Result<NodeId, Refused> {
        let pod = self.pod(id).ok_or(Refused::PodGone)?;
        let node = pod.node().ok_or(Refused::NotBound)?;
        let slot = self
            .slot_mut(id)
            .pod
            .as_mut()
            .expect("the pod was just seen");
        let pod = Arc::make_mut(slot);
        pod.phase = Phase::Pending { since: now };
        pod.evictions = pod.evictions.saturating_add(1);
        let spec = pod.spec.clone();
        self.give_back(id, &spec, node, now);
        self.enqueue(id, &spec);
        Ok(node)
    }

    fn count_arrival(&mut self, task: TaskTypeId) {
        let arrivals = Arc::make_mut(&mut self.snapshot.arrivals);
        if arrivals.len() <= task.index() {
            arrivals.resize(task.index() + 1, 0);
        }
        arrivals[task.index()] += 1;
    }

    fn group_key(&self, spec: &PodSpec) -> GroupKey {
        let (priority, alike) = match spec.gang {
            Some(gang) => (self.gang(gang).priority, Alike::Gang { gang }),
            None => (
                spec.priority,
                Alike::Task {
                    queue: spec.queue,
                    task: spec.task,
                    carrier: spec.carrier(),
                    kind: spec
                        .facts
                        .as_ref()
                        .map_or_else(FactsKind::default, Facts::kind),
                },
            ),
        };
        GroupKey {
            priority: Reverse(priority),
            alike,
        }
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        let node = self.snapshot.nodes.get_mut(id.index());
        Arc::make_mut(node.expect("node ids are given out by this lineage and never expire"))
    }

    fn slot_mut(&mut self, id: PodId) -> &mut PodSlot {
        self.snapshot
            .pods
            .get_mut(id.slot as usize)
            .expect("pod ids are given out by this lineage")
    }

    fn enqueue(&mut self, id: PodId, spec: &PodSpec) {
        let key = self.group_key(spec);
        let groups = Arc::make_mut(&mut self.snapshot.pending);
        let group = groups.entry(key).or_default();
        let other = group.insert((spec.created, Arc::clone(&spec.name)), id);
        assert!(
            other.is_none(),
            "pod names are unique: two pods are called {}",
            spec.name
        );
        self.snapshot.n_pending += 1;
        self.count_pending(spec, 1);
    }

    fn dequeue(&mut self, spec: &PodSpec) {
        let key = self.group_key(spec);
        let groups = Arc::make_mut(&mut self.snapshot.pending);
        let group = groups.get_mut(&key).expect("a waiting pod is in its group");
        let removed = group.remove(&(spec.created, Arc::clone(&spec.name)));
        assert!(removed.is_some(), "a waiting pod is in its group");
        if group.is_empty() {
            groups.remove(&key);
        }
        self.snapshot.n_pending -= 1;
        self.count_pending(spec, -1);
    }

    fn give_back(&mut self, id: PodId, spec: &PodSpec, node: NodeId, now: Time) {
        let placement = self
            .node_mut(node)
            .release(id)
            .expect("a bound pod has a placement");
        if let Some(facts) = &spec.facts {
            let name = Arc::clone(&self.node(node).name);
            let cluster = self.facts_mut();
            cluster.remove_pod(&name, &facts.pod().uid);
            cluster.take_back(facts.pod());
        }
        self.count_bound(spec, -1);
        let mut charge = self.charge(spec, self.node(node), &placement);
        for amount in &mut charge {
            *amount = -*amount;
        }
        self.charge_queues(spec.queue, &charge, now);
    }

    fn count_pending(&mut self, spec: &PodSpec, by: i32) {
        if let Some(gang) = spec.gang {
            let gang = Arc::make_mut(self.gang_slot(gang));
            gang.pending = gang.pending.checked_add_signed(by).expect("counts balance");
        }
    }

    fn count_bound(&mut self, spec: &PodSpec, by: i32) {
        let n_bound = &mut self.snapshot.n_bound;
        *n_bound = n_bound
            .checked_add_signed(by as isize)
            .expect("counts balance");
        let Some(id) = spec.gang else { return };
        let gang = Arc::make_mut(self.gang_slot(id));
        gang.bound = gang.bound.checked_add_signed(by).expect("counts balance");
        self.note_stranded(id);
    }

    /// Keeps the list of stranded gangs in step with a gang that has changed.
    fn note_stranded(&mut self, id: GangId) {
        let is_stranded = self.gang(id).is_stranded();
        if is_stranded != self.stranded.contains(&id) {
            let stranded = Arc::make_mut(&mut self.snapshot.stranded);
            if is_stranded {
                stranded.insert(id)
            } else {
                stranded.remove(&id)
            };
        }
    }

    fn gang_slot(&mut self, id: GangId) -> &mut Arc<Gang> {
        self.snapshot
            .gangs
            .get_mut(id.index())
            .expect("gang ids are given out by this lineage")
    }

    /// Charges a queue and those above, or gives back what is negative.
    fn charge_queues(&mut self, queue: QueueId, charge: &[i64], now: Time) {
        if charge.iter().all(|&amount| amount == 0) {
            return;
        }
        let half_life = self.half_life;
        quota::charge_all(&mut self.snapshot.queues, queue, charge, |queue| {
            queue.usage = queue.usage_at(now, half_life);
        });
    }
}

fn bounded(what: &'static str, n: usize, bound: usize) -> Result<(), Refused> {
    if n > bound {
        Err(Refused::Full { what, bound })
    } else {
        Ok(())
    }
}
