//! What must always hold, checked from scratch.
//!
//! [`check_node`] is cheap enough to run after every simulated event on the nodes it touched;
//! [`check`] recounts the whole snapshot. A violation is a defect of Berth, never of its input.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::amount::{Bytes, GpuUnits, MilliCpu};
use crate::id::{GangId, NodeId, PodId};
use crate::model::gpu::GpuGrant;
use crate::model::mig::MigSlices;
use crate::model::node::{Node, Origin, Placement};
use crate::model::pod::Phase;
use crate::model::snapshot::Snapshot;
use crate::quota::{self, Account};

/// Something that must never be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// What is free and what is placed don't add up to what the node has.
    #[error("node {node}: {what} of placements and free amounts don't add up to the shape")]
    Unbalanced {
        /// The node.
        node: String,
        /// Which amount.
        what: &'static str,
    },
    /// More is held than there is.
    #[error("node {node}: more {what} is held than there is")]
    Overcommitted {
        /// The node.
        node: String,
        /// Which amount.
        what: &'static str,
    },
    /// A GPU, or a slice of one, was given twice.
    #[error("node {node}: GPU {gpu} was given twice")]
    GivenTwice {
        /// The node.
        node: String,
        /// The GPU.
        gpu: usize,
    },
    /// A pod's own record and the nodes' records disagree.
    #[error("pod {pod}: {what}")]
    Misplaced {
        /// The pod.
        pod: String,
        /// What disagrees.
        what: &'static str,
    },
    /// A queue's account isn't what its rules and its pods come to.
    #[error("queue {queue}: {recorded:?} recorded, {counted:?} counted")]
    QueueAccount {
        /// The queue.
        queue: String,
        /// What the queue says.
        recorded: Box<Account>,
        /// What its pods hold.
        counted: Box<Account>,
    },
    /// A gang's counts are wrong.
    #[error("gang {gang}: {what}")]
    Gang {
        /// The gang.
        gang: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// Recounts one node.
#[must_use]
pub fn check_node(node: &Node) -> Vec<Violation> {
    let mut found = Vec::new();
    let name = || node.name.to_string();
    let unbalanced = |what| Violation::Unbalanced { node: name(), what };
    let overcommitted = |what| Violation::Overcommitted { node: name(), what };
    let (state, shape) = (&node.state, &node.shape);
    let cpu: MilliCpu = node
        .placements
        .iter()
        .map(|placement| placement.request.cpu)
        .sum();
    let memory: Bytes = node
        .placements
        .iter()
        .map(|placement| placement.request.memory)
        .sum();
    if cpu + state.free_cpu != shape.cpu {
        found.push(unbalanced("CPU"));
    }
    if memory + state.free_memory != shape.memory {
        found.push(unbalanced("memory"));
    }
    if node.placements.len() as i64 + i64::from(state.free_pod_slots) != i64::from(shape.pod_slots)
    {
        found.push(unbalanced("pod slots"));
    }
    let may_exceed = may_exceed(node);
    if state.free_cpu < MilliCpu::ZERO && !may_exceed {
        found.push(overcommitted("CPU"));
    }
    if state.free_memory < Bytes::ZERO && !may_exceed {
        found.push(overcommitted("memory"));
    }
    if state.gpus.len() != shape.gpus().len() {
        found.push(unbalanced("GPUs"));
        return found;
    }
    check_gpus(node, &mut found);
    found
}

/// Whether something was found on the node that nobody decided on for the node as it is.
fn may_exceed(node: &Node) -> bool {
    let found_there = |placement: &Placement| placement.origin == Origin::Found;
    node.placements.iter().any(found_there)
}

/// What the placements of a node come to on one of its GPUs.
#[derive(Clone, Copy, Default)]
struct Held {
    compute: GpuUnits,
    shared_memory: Bytes,
    tenants: u16,
    whole: u16,
    slices: MigSlices,
    slice_twice: bool,
}

fn check_gpus(node: &Node, found: &mut Vec<Violation>) {
    let mut held: SmallVec<[Held; 8]> = SmallVec::from_elem(Held::default(), node.state.gpus.len());
    for placement in &node.placements {
        for index in placement.grant.gpus().iter() {
            let Some(gpu) = held.get_mut(index) else {
                let (node, what) = (node.name.to_string(), "GPUs");
                found.push(Violation::Overcommitted { node, what });
                continue;
            };
            gpu.compute += placement.grant.compute_each();
            gpu.tenants += 1;
            match placement.grant {
                GpuGrant::None | GpuGrant::Vgpu { .. } => {}
                GpuGrant::Whole { .. } => gpu.whole += 1,
                GpuGrant::Share { memory, .. } => gpu.shared_memory += memory,
                GpuGrant::Mig { slices, .. } => {
                    gpu.slice_twice |= slices.overlaps(gpu.slices);
                    gpu.slices = gpu.slices.union(slices);
                }
            }
        }
    }
    let gpus = node.shape.gpus().iter().zip(&node.state.gpus);
    for (index, ((spec, gpu), held)) in gpus.zip(&held).enumerate() {
        let name = || node.name.to_string();
        if held.slice_twice || held.whole > 1 || (held.whole == 1 && held.tenants > 1) {
            found.push(Violation::GivenTwice {
                node: name(),
                gpu: index,
            });
        }
        if held.compute > GpuUnits::ONE_GPU {
            let (node, what) = (name(), "GPU compute");
            found.push(Violation::Overcommitted { node, what });
        }
        if held.shared_memory > spec.memory && !may_exceed(node) {
            let (node, what) = (name(), "GPU memory");
            found.push(Violation::Overcommitted { node, what });
        }
        let balanced = held.compute + gpu.free_compute == GpuUnits::ONE_GPU
            && held.tenants == gpu.tenants
            && held.slices == gpu.mig_used;
        if !balanced {
            let (node, what) = (name(), "GPU compute");
            found.push(Violation::Unbalanced { node, what });
        }
    }
}

/// Recounts the whole snapshot.
#[must_use]
pub fn check(snapshot: &Snapshot) -> Vec<Violation> {
    let mut found: Vec<Violation> = snapshot
        .nodes()
        .iter()
        .flat_map(|node| check_node(node))
        .collect();
    check_pods(snapshot, &mut found);
    check_queues(snapshot, &mut found);
    check_gangs(snapshot, &mut found);
    found
}

fn check_pods(snapshot: &Snapshot, found: &mut Vec<Violation>) {
    let mut places: BTreeMap<PodId, NodeId> = BTreeMap::new();
    let misplaced = |pod: String, what| Violation::Misplaced { pod, what };
    for (index, node) in snapshot.nodes().iter().enumerate() {
        for placement in &node.placements {
            if places.insert(placement.pod, NodeId::at(index)).is_some() {
                found.push(misplaced(
                    format!("{:?}", placement.pod),
                    "it has two placements",
                ));
            }
        }
    }
    let (mut n_pending, mut n_bound) = (0, 0);
    for (id, pod) in snapshot.pods() {
        let place = places.remove(&id);
        match pod.phase {
            Phase::Bound { node, .. } => {
                n_bound += 1;
                if place != Some(node) {
                    found.push(misplaced(
                        pod.spec.name.to_string(),
                        "its node doesn't know it",
                    ));
                }
            }
            Phase::Pending { .. } => {
                n_pending += 1;
                if place.is_some() {
                    found.push(misplaced(
                        pod.spec.name.to_string(),
                        "it waits and has a place",
                    ));
                }
            }
        }
    }
    for pod in places.keys() {
        found.push(misplaced(
            format!("{pod:?}"),
            "it has gone and still has a place",
        ));
    }
    let queued: usize = snapshot.pending().values().map(BTreeMap::len).sum();
    if (queued, n_pending, n_bound) != (n_pending, snapshot.n_pending(), snapshot.n_bound()) {
        found.push(misplaced(
            "all pods".to_owned(),
            "the counts of waiting and bound pods are off",
        ));
    }
}

fn check_queues(snapshot: &Snapshot, found: &mut Vec<Violation>) {
    let n_meters = snapshot.meters().len();
    let mut held = vec![vec![0i128; snapshot.queues.len()]; n_meters];
    for node in snapshot.nodes().iter() {
        for placement in &node.placements {
            let Some(pod) = snapshot.pod(placement.pod) else {
                continue;
            };
            let (request, grant) = (&placement.request, &placement.grant);
            let (meters, carrier) = (snapshot.meters(), pod.spec.carrier());
            let charge = meters.charge(request, carrier, &node.shape, grant);
            for (held, amount) in held.iter_mut().zip(charge) {
                held[pod.spec.queue.index()] += i128::from(amount);
            }
        }
    }
    for (meter, held) in held.iter().enumerate() {
        let accounts = quota::recount(&snapshot.queues, meter, held);
        for ((_, queue), counted) in snapshot.queues().zip(accounts) {
            let recorded = *queue.account(meter);
            if counted != recorded {
                let queue = queue.name.to_string();
                found.push(Violation::QueueAccount {
                    queue,
                    recorded: Box::new(recorded),
                    counted: Box::new(counted),
                });
            }
        }
    }
}

fn check_gangs(snapshot: &Snapshot, found: &mut Vec<Violation>) {
    let mut counted: BTreeMap<GangId, (u32, u32)> = BTreeMap::new();
    for (_, pod) in snapshot.pods() {
        let Some(gang) = pod.spec.gang else { continue };
        let (pending, bound) = counted.entry(gang).or_default();
        *(if pod.node().is_some() { bound } else { pending }) += 1;
    }
    let stranded: Vec<GangId> = snapshot.stranded_gangs().collect();
    for (id, (pending, bound)) in counted {
        let gang = snapshot.gang(id);
        let wrong = |what| Violation::Gang {
            gang: gang.name.to_string(),
            what,
        };
        if (gang.pending, gang.bound) != (pending, bound) {
            found.push(wrong("its counts of waiting and bound members are off"));
        }
        if gang.is_stranded() != stranded.contains(&id) {
            found.push(wrong(
                "it is stranded and not listed so, or the other way round",
            ));
        }
    }
}
