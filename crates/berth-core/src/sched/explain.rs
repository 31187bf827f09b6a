//! Why a pod waits: typed values with evidence. Rendering is elsewhere.
//!
//! A [`Hindrance`] is what stopped the cycle, kept with its decisions. An [`Explanation`] adds the
//! evidence node by node; it is worked out on demand from the same snapshot, by the same filters.
//! Invariant: each node counts under exactly one [`Obstacle`], structural before capacity, so the
//! counts sum to the number of nodes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::amount::GpuUnits;
use crate::id::{NodeId, QueueId};
use crate::model::catalog::Catalog;
use crate::model::gpu::{GpuHealth, GpuState};
use crate::model::node::{Node, NodeState, Readiness, Shape};
use crate::model::request::{GpuRequest, Request};
use crate::model::snapshot::{Alike, GroupKey, Snapshot};
use crate::quota::Blocked;
use crate::sched::fit;
use crate::sched::gate::{Gate, Opening};

/// What keeps the oldest pod of a group from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Hindrance {
    /// No node has room for it now.
    NoNode,
    /// A queue on the way up would exceed its limit.
    QueueLimit {
        /// The nearest such queue.
        queue: QueueId,
    },
    /// A queue on the way up would borrow more than it may.
    BorrowingLimit {
        /// The nearest such queue.
        queue: QueueId,
    },
    /// All quota of the queue's tree is in use.
    QuotaInUse {
        /// The root of the tree.
        queue: QueueId,
    },
    /// It asks for more than a queue on the way up could have, even with nothing in use.
    ExceedsQuota {
        /// The nearest such queue.
        queue: QueueId,
    },
    /// It has just lost its place, and has its turn in the next cycle.
    Evicted,
    /// Members of its gang have yet to be submitted.
    GangIncomplete {
        /// Members that are there.
        have: u32,
        /// Members that must start at once.
        need: u32,
    },
    /// There is room for some members of its gang, but not for enough at once.
    GangNoRoom {
        /// Members that would find a place.
        placed: u32,
        /// Members that must start at once.
        need: u32,
    },
}

/// The one true reason why a pod waits: a closed set of tokens, the same in conditions, events,
/// metrics and views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "PascalCase")]
pub enum Reason {
    /// No node of the cluster could ever serve the request, even empty.
    NeverFits,
    /// No node has a GPU of a model that would do.
    NoMatchingGpu,
    /// No GPU of such a model is in a mode that serves this kind of request.
    NoMatchingMode,
    /// It would fit but for GPUs that are not healthy.
    GpuUnhealthy,
    /// It would fit but for nodes that take no new work.
    NodeNotReady,
    /// It asks for more than its queue could ever have.
    ExceedsMaxQuota,
    /// A queue would exceed its limit.
    QueueLimit,
    /// A queue would borrow more than it may.
    QuotaBorrowBlocked,
    /// All quota that its queue may draw on is in use.
    WaitingForQuota,
    /// It has just made room for other work.
    Evicted,
    /// Its gang has yet to be submitted in full.
    GangIncomplete,
    /// There is room for a part of its gang only.
    GangNoRoom,
    /// Enough GPU is free on some node in total, but not on one card, or not in whole cards.
    Fragmented,
    /// No node that would do passes the rules of the pod or of others: selectors, taints, affinity,
    /// spread, ports, volumes, devices.
    NodeRules,
    /// No node with enough free GPU has the CPU, memory or pod slots beside it.
    HostFull,
    /// The GPUs that would do are taken.
    GpuBusy,
}

impl Hindrance {
    /// Whether it is the queue tree that stands in the way, and not room on nodes.
    #[must_use]
    pub const fn is_quota(self) -> bool {
        match self {
            Self::QueueLimit { .. }
            | Self::BorrowingLimit { .. }
            | Self::QuotaInUse { .. }
            | Self::ExceedsQuota { .. } => true,
            Self::NoNode
            | Self::Evicted
            | Self::GangIncomplete { .. }
            | Self::GangNoRoom { .. } => false,
        }
    }

    /// The reason, where it doesn't take a look at the nodes to tell.
    #[must_use]
    pub const fn reason(self) -> Option<Reason> {
        match self {
            Self::ExceedsQuota { .. } => Some(Reason::ExceedsMaxQuota),
            Self::QueueLimit { .. } => Some(Reason::QueueLimit),
            Self::BorrowingLimit { .. } => Some(Reason::QuotaBorrowBlocked),
            Self::QuotaInUse { .. } => Some(Reason::WaitingForQuota),
            Self::Evicted => Some(Reason::Evicted),
            Self::GangIncomplete { .. } => Some(Reason::GangIncomplete),
            Self::GangNoRoom { placed: 1.., .. } => Some(Reason::GangNoRoom),
            Self::NoNode | Self::GangNoRoom { placed: 0, .. } => None,
        }
    }
}

impl From<Blocked> for Hindrance {
    fn from(blocked: Blocked) -> Self {
        match blocked {
            Blocked::Limit { queue } => Self::QueueLimit { queue },
            Blocked::Borrowing { queue } => Self::BorrowingLimit { queue },
            Blocked::Exhausted { queue } => Self::QuotaInUse { queue },
        }
    }
}

impl Reason {
    /// Every reason, in order of precedence.
    pub const ALL: [Self; 16] = [
        Self::ExceedsMaxQuota,
        Self::NeverFits,
        Self::NoMatchingGpu,
        Self::NoMatchingMode,
        Self::QueueLimit,
        Self::QuotaBorrowBlocked,
        Self::WaitingForQuota,
        Self::Evicted,
        Self::GangIncomplete,
        Self::GangNoRoom,
        Self::GpuUnhealthy,
        Self::NodeNotReady,
        Self::NodeRules,
        Self::Fragmented,
        Self::HostFull,
        Self::GpuBusy,
    ];

    /// The token as it stands in conditions and metrics.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::NeverFits => "NeverFits",
            Self::NoMatchingGpu => "NoMatchingGpu",
            Self::NoMatchingMode => "NoMatchingMode",
            Self::GpuUnhealthy => "GpuUnhealthy",
            Self::NodeNotReady => "NodeNotReady",
            Self::ExceedsMaxQuota => "ExceedsMaxQuota",
            Self::QueueLimit => "QueueLimit",
            Self::QuotaBorrowBlocked => "QuotaBorrowBlocked",
            Self::WaitingForQuota => "WaitingForQuota",
            Self::Evicted => "Evicted",
            Self::GangIncomplete => "GangIncomplete",
            Self::GangNoRoom => "GangNoRoom",
            Self::NodeRules => "NodeRules",
            Self::Fragmented => "Fragmented",
            Self::HostFull => "HostFull",
            Self::GpuBusy => "GpuBusy",
        }
    }

    /// What it means and what to do about it, for people.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::NeverFits => {
                "No node could serve this even when empty: ask for less per pod, or split the work."
            }
            Self::NoMatchingGpu => "The cluster has no GPU of the models asked for: allow others.",
            Self::NoMatchingMode => {
                "No GPU of these models is offered in this form: ask for a whole GPU, a share or a \
                 profile that the cluster offers."
            }
            Self::GpuUnhealthy => "A GPU that would do is out of order; it starts after repair.",
            Self::NodeNotReady => {
                "A node that would do takes no work now; it starts when it is back."
            }
            Self::ExceedsMaxQuota => {
                "The queue could never have this much: ask for less, or for more quota."
            }
            Self::QuotaBorrowBlocked => {
                "The queue has borrowed as much as it may: it starts when work of the queue ends."
            }
            Self::WaitingForQuota => {
                "All quota that the queue may draw on is in use: it starts when some is given back."
            }
            Self::QueueLimit => {
                "The queue is at its limit: it starts when work of the queue ends or the limit rises."
            }
            Self::Evicted => {
                "It has just made room for other work; it starts again where there is room."
            }
            Self::GangIncomplete => "Not all members of the gang have been submitted yet.",
            Self::GangNoRoom => {
                "There is room for some members only; a gang starts in full or not at all."
            }
            Self::Fragmented => {
                "Enough GPU is free in total but in pieces: a smaller share may start now."
            }
            Self::NodeRules => {
                "Every node that has room is ruled out by what the pod asks of nodes, or others of it: \
                 the counts beside this say by what."
            }
            Self::HostFull => {
                "GPU is free, but not the CPU or memory beside it: ask for less of these."
            }
            Self::GpuBusy => "All GPUs that would do are taken: it starts when one is free.",
        }
    }
}

/// Why one node can't take a request now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// Even empty it couldn't.
    TooSmall,
    /// It has no GPU of a model that would do.
    Model,
    /// Its GPUs of such models are in another mode.
    Mode,
    /// It takes no new work.
    NotReady,
    /// It would fit but for the health of a GPU.
    Unhealthy,
    /// Its free GPU would suffice, were it in one piece.
    Fragmented,
    /// Its GPUs are taken.
    GpuBusy,
    /// CPU is short.
    Cpu,
    /// Host memory is short.
    Memory,
    /// It runs as many pods as the kubelet accepts.
    PodSlots,
    /// It has room, and a rule of Kubernetes keeps the pod out.
    Rules,
}

impl Obstacle {
    /// Every obstacle, in order of precedence.
    pub const ALL: [Self; 11] = [
        Self::TooSmall,
        Self::Model,
        Self::Mode,
        Self::NotReady,
        Self::Unhealthy,
        Self::Fragmented,
        Self::GpuBusy,
        Self::Cpu,
        Self::Memory,
        Self::PodSlots,
        Self::Rules,
    ];
}

/// Why a group waits, with the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The one reason.
    pub reason: Reason,
    /// What stopped the cycle.
    pub hindrance: Hindrance,
    /// Nodes by what stands in the way there; obstacles without nodes are left out.
    pub nodes: Vec<(Obstacle, u32)>,
    /// Nodes with room by the rule of Kubernetes that keeps the pod out, in kube-scheduler's words.
    pub rules: Vec<(String, u32)>,
    /// The most free compute on any one healthy card that would do, on nodes that take work.
    pub largest_free: GpuUnits,
    /// Free compute on all such cards.
    pub total_free: GpuUnits,
}

/// Why the oldest pod of the group `key` waits, given what stopped the cycle.
#[must_use]
pub fn explain(snapshot: &Snapshot, key: &GroupKey, hindrance: Hindrance) -> Explanation {
    let catalog = snapshot.catalog();
    let pending = snapshot.pending();
    let oldest = pending.get(key).and_then(|group| group.values().next());
    let oldest = oldest.and_then(|&pod| snapshot.pod(pod));
    let task = match key.alike {
        Alike::Task { task, .. } => Some(task),
        Alike::Gang { .. } => oldest.map(|pod| pod.spec.task),
    };
    let Some(request) = task.map(|task| *catalog.task(task)) else {
        return Explanation {
            reason: Reason::GangIncomplete,
            hindrance,
            nodes: Vec::new(),
            rules: Vec::new(),
            largest_free: GpuUnits::ZERO,
            total_free: GpuUnits::ZERO,
        };
    };
    let facts = oldest.and_then(|pod| pod.spec.facts.as_ref());
    let gate = Gate::new(snapshot.facts(), facts);
    let mut rules: BTreeMap<String, u32> = BTreeMap::new();
    let mut counts = [0u32; Obstacle::ALL.len()];
    let (mut largest_free, mut total_free) = (GpuUnits::ZERO, GpuUnits::ZERO);
    for (at, node) in snapshot.nodes().iter().enumerate() {
        if let Some(obstacle) = obstacle(catalog, &request, node) {
            counts[obstacle as usize] += 1;
        } else if let Some(rule) = rule_against(&gate, snapshot, NodeId::at(at)) {
            counts[Obstacle::Rules as usize] += 1;
            *rules.entry(rule).or_default() += 1;
        }
        let is_open = node.state.readiness == Readiness::Ready;
        for (spec, gpu) in node.shape.gpus().iter().zip(&node.state.gpus) {
            if is_open && request.models.contains(spec.model) && serves(&request, gpu) {
                largest_free = largest_free.max(gpu.free_compute);
                total_free += gpu.free_compute;
            }
        }
    }
    let nodes = Obstacle::ALL
        .into_iter()
        .zip(counts)
        .filter(|&(_, n)| n > 0)
        .collect();
    let reason = reason_for(hindrance, &counts, request.wants_gpu());
    Explanation {
        reason,
        hindrance,
        nodes,
        rules: rules.into_iter().collect(),
        largest_free,
        total_free,
    }
}

/// The rule that keeps the pod off a node with room for it.
fn rule_against(gate: &Gate<'_>, snapshot: &Snapshot, node: NodeId) -> Option<String> {
    match gate.ask(snapshot, node) {
        Opening::Open => None,
        Opening::AfterOthers(shut) | Opening::Shut(shut) => Some(match shut.reason {
            Some(reason) => reason.to_string(),
            None => format!("{} can't be answered", shut.filter),
        }),
    }
}

fn serves(request: &Request, gpu: &GpuState) -> bool {
    gpu.health == GpuHealth::Healthy && fit::mode_serves(request, gpu.mode)
}

/// What stands in the way of `request` on `node`; `None` if it fits.
#[must_use]
pub fn obstacle(catalog: &Catalog, request: &Request, node: &Node) -> Option<Obstacle> {
    let (shape, state) = (&*node.shape, &node.state);
    if fit::fits(catalog, request, shape, state) {
        return None;
    }
    if request.wants_gpu() && !fit::has_model(request.models, shape) {
        return Some(Obstacle::Model);
    }
    if !fit::shape_could_serve(catalog, request, shape) {
        return Some(Obstacle::TooSmall);
    }
    let mut suitable = shape.gpus().iter().zip(&state.gpus).filter(|(spec, gpu)| {
        request.models.contains(spec.model) && fit::mode_serves(request, gpu.mode)
    });
    if request.wants_gpu() && suitable.next().is_none() {
        return Some(Obstacle::Mode);
    }
    if state.readiness != Readiness::Ready {
        return Some(Obstacle::NotReady);
    }
    gpu_obstacle(catalog, request, shape, state).or_else(|| host_obstacle(request, state))
}

fn gpu_obstacle(
    catalog: &Catalog,
    request: &Request,
    shape: &Shape,
    state: &NodeState,
) -> Option<Obstacle> {
    let needed = usize::from(request.whole_gpus().max(u8::from(request.wants_gpu())));
    let fitting = |state: &NodeState| fit::fitting_cards(catalog, request, shape, state).count();
    if fitting(state) >= needed {
        return None;
    }
    let mut healed = state.clone();
    for gpu in &mut healed.gpus {
        gpu.health = GpuHealth::Healthy;
    }
    if fitting(&healed) >= needed {
        return Some(Obstacle::Unhealthy);
    }
    let open = |(spec, gpu): (&crate::model::gpu::GpuSpec, &GpuState)| {
        let would_do = request.models.contains(spec.model) && serves(request, gpu);
        if would_do {
            gpu.free_compute
        } else {
            GpuUnits::ZERO
        }
    };
    let free: GpuUnits = shape.gpus().iter().zip(&state.gpus).map(open).sum();
    let fragmented = match request.gpu {
        GpuRequest::None => false,
        GpuRequest::Whole { .. }
        | GpuRequest::Passthrough { .. }
        | GpuRequest::Share { .. }
        | GpuRequest::Mig { .. }
        | GpuRequest::Vgpu { .. } => free >= catalog.equivalents(request),
    };
    Some(if fragmented {
        Obstacle::Fragmented
    } else {
        Obstacle::GpuBusy
    })
}

fn host_obstacle(request: &Request, state: &NodeState) -> Option<Obstacle> {
    if request.cpu > state.free_cpu {
        Some(Obstacle::Cpu)
    } else if request.memory > state.free_memory {
        Some(Obstacle::Memory)
    } else if state.free_pod_slots <= 0 {
        Some(Obstacle::PodSlots)
    } else {
        None
    }
}

/// One reason out of the hindrance and the nodes' obstacles: structural before capacity, and among
/// capacity what stands in the way on most nodes, the one nearest to a start among equals.
fn reason_for(
    hindrance: Hindrance,
    counts: &[u32; Obstacle::ALL.len()],
    wants_gpu: bool,
) -> Reason {
    if let Some(reason) = hindrance.reason() {
        return reason;
    }
    let nodes = |obstacles: &[Obstacle]| -> u32 {
        obstacles
            .iter()
            .map(|&obstacle| counts[obstacle as usize])
            .sum()
    };
    let capacity = [
        (nodes(&[Obstacle::NotReady]), Reason::NodeNotReady),
        (nodes(&[Obstacle::Unhealthy]), Reason::GpuUnhealthy),
        (nodes(&[Obstacle::Rules]), Reason::NodeRules),
        (nodes(&[Obstacle::GpuBusy]), Reason::GpuBusy),
        (nodes(&[Obstacle::Fragmented]), Reason::Fragmented),
        (
            nodes(&[Obstacle::Cpu, Obstacle::Memory, Obstacle::PodSlots]),
            Reason::HostFull,
        ),
    ];
    // The last of equals is the maximum: the order above is from far to near.
    let most = capacity
        .into_iter()
        .max_by_key(|(n, _)| *n)
        .filter(|(n, _)| *n > 0);
    match most {
        Some((_, reason)) => reason,
        None if nodes(&[Obstacle::Mode]) > 0 => Reason::NoMatchingMode,
        None if wants_gpu && nodes(&[Obstacle::TooSmall]) == 0 => Reason::NoMatchingGpu,
        None => Reason::NeverFits,
    }
}
