//! A node: its fixed shape, its state, and what is placed on it.
//!
//! Invariant: `state` is the shape minus the placements, always; [`Node::charge`] and
//! [`Node::release`] are the only places that move amounts between them. Filters and scores see
//! the shape and the state alone, so they can't depend on names or on who holds what.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::amount::{Bytes, MilliCpu};
use crate::id::PodId;
use crate::model::gpu::{GpuGrant, GpuHealth, GpuMode, GpuSpec, GpuState, ModelSet};
use crate::model::request::{GpuSizeClass, Request};

/// What is fixed about a node, apart from its identity. Interned: equal nodes share one shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Shape {
    /// CPU that pods may use.
    pub cpu: MilliCpu,
    /// Host memory that pods may use.
    pub memory: Bytes,
    /// Pods that the kubelet accepts.
    pub pod_slots: u32,
    gpus: Vec<GpuSpec>,
    models: ModelSet,
}

impl Shape {
    /// A shape; GPUs come in index order, at most 32.
    #[must_use]
    pub fn new(cpu: MilliCpu, memory: Bytes, pod_slots: u32, gpus: Vec<GpuSpec>) -> Self {
        let models = gpus
            .iter()
            .fold(ModelSet::NONE, |models, gpu| models.with(gpu.model));
        Self {
            cpu,
            memory,
            pod_slots,
            gpus,
            models,
        }
    }

    /// The GPUs in index order.
    #[must_use]
    pub fn gpus(&self) -> &[GpuSpec] {
        &self.gpus
    }

    /// The models of the node's GPUs.
    #[must_use]
    pub fn models(&self) -> ModelSet {
        self.models
    }
}

/// A shape's position in the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShapeId(pub u32);

/// Whether a node takes new work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readiness {
    /// Takes new work.
    Ready,
    /// Runs what it has and takes nothing new.
    Cordoned,
    /// Gone or unreachable; what ran on it is lost.
    Lost,
}

/// All of a node that may change and that decides whether and how well a request fits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NodeState {
    /// Whether the node takes new work.
    pub readiness: Readiness,
    /// CPU that no pod holds.
    pub free_cpu: MilliCpu,
    /// Host memory that no pod holds.
    pub free_memory: Bytes,
    /// Pods that the kubelet would still accept; below zero where more run than the kubelet says that it accepts.
    pub free_pod_slots: i32,
    /// One state a GPU, in index order.
    pub gpus: Vec<GpuState>,
    /// Pods that hold GPU, by size class.
    pub gpu_pods: [u16; GpuSizeClass::COUNT],
}

/// How Berth came to know of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It was decided for the node as it is: it fits.
    #[default]
    Decided,
    /// It was found there, placed by others or before the node became what it is now, and may be
    /// more than the node has.
    Found,
}

/// One pod on a node with what it holds there. Releasing gives back exactly these amounts, whatever
/// has become of the pod's specification since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The pod.
    pub pod: PodId,
    /// The request as it was charged.
    pub request: Request,
    /// The GPUs or parts of them that it holds.
    pub grant: GpuGrant,
    /// How it came to be there.
    pub origin: Origin,
}

/// A node of the cluster.
#[derive(Debug, Clone, Serialize)]
pub struct Node {
    /// Kubernetes name, unique in the cluster; breaks ties between nodes.
    pub name: Arc<str>,
    /// Interned shape.
    pub shape: Arc<Shape>,
    /// The shape's position in the catalogue.
    pub shape_id: ShapeId,
    /// Hardware ids of the GPUs in index order; empty where the source has none.
    pub gpu_uuids: Arc<[Arc<str>]>,
    /// What is free, and how the devices are.
    pub state: NodeState,
    /// What runs here, in the order of placing.
    pub placements: Vec<Placement>,
}

impl Shape {
    /// The state of an empty, ready node of this shape, every GPU in the mode given for it.
    ///
    /// # Panics
    /// If `modes` doesn't name a mode for each GPU.
    #[must_use]
    pub fn empty_state(&self, modes: &[GpuMode]) -> NodeState {
        assert_eq!(modes.len(), self.gpus.len(), "each GPU has a mode");
        let gpus = self.gpus.iter().zip(modes);
        NodeState {
            readiness: Readiness::Ready,
            free_cpu: self.cpu,
            free_memory: self.memory,
            free_pod_slots: i32::try_from(self.pod_slots).unwrap_or(i32::MAX),
            gpus: gpus
                .map(|(spec, &mode)| GpuState::empty(spec, mode))
                .collect(),
            gpu_pods: [0; GpuSizeClass::COUNT],
        }
    }
}

impl NodeState {
    /// Takes what `request` and `grant` name out of what is free.
    ///
    /// # Panics
    /// If a GPU that the grant names doesn't exist; [`crate::sched::fit`] makes only grants that
    /// fit.
    pub fn take(&mut self, request: &Request, grant: &GpuGrant) {
        self.free_cpu -= request.cpu;
        self.free_memory -= request.memory;
        self.free_pod_slots -= 1;
        if let Some(class) = request.size_class() {
            self.gpu_pods[class.index()] += 1;
        }
        for index in grant.gpus().iter() {
            self.gpus[index].take(grant);
        }
    }
}

impl Node {
    /// The placement of `pod`, if it is here.
    #[must_use]
    pub fn placement(&self, pod: PodId) -> Option<&Placement> {
        self.placements
            .iter()
            .find(|placement| placement.pod == pod)
    }

    /// The placements that hold a part of GPU `index`.
    pub fn tenants(&self, index: usize) -> impl Iterator<Item = &Placement> {
        self.placements
            .iter()
            .filter(move |placement| placement.grant.gpus().contains(index))
    }

    /// Charges a placement to the node.
    pub fn charge(&mut self, placement: Placement) {
        self.state.take(&placement.request, &placement.grant);
        self.placements.push(placement);
    }

    /// Gives back what `pod` holds here, and what that was; `None` if it holds nothing.
    pub fn release(&mut self, pod: PodId) -> Option<Placement> {
        let at = self
            .placements
            .iter()
            .position(|placement| placement.pod == pod)?;
        let placement = self.placements.remove(at);
        let Placement { request, grant, .. } = &placement;
        let state = &mut self.state;
        state.free_cpu += request.cpu;
        state.free_memory += request.memory;
        state.free_pod_slots += 1;
        if let Some(class) = request.size_class() {
            state.gpu_pods[class.index()] -= 1;
        }
        for index in grant.gpus().iter() {
            self.refresh_gpu(index);
        }
        Some(placement)
    }

    /// Sets the health of GPU `index`; returns whether there is such a GPU.
    pub fn set_gpu_health(&mut self, index: usize, health: GpuHealth) -> Option<GpuHealth> {
        let gpu = self.state.gpus.get_mut(index)?;
        Some(std::mem::replace(&mut gpu.health, health))
    }

    /// Gives the node another shape. What is placed stays, as far as its GPUs are still there; the
    /// rest of a grant is no more.
    pub(crate) fn reshape(&mut self, (shape_id, shape): (ShapeId, Arc<Shape>), modes: &[GpuMode]) {
        let mut state = shape.empty_state(modes);
        state.readiness = self.state.readiness;
        for (gpu, before) in state.gpus.iter_mut().zip(&self.state.gpus) {
            gpu.health = before.health;
        }
        self.state = state;
        (self.shape_id, self.shape) = (shape_id, shape);
        for mut placement in std::mem::take(&mut self.placements) {
            let is_left = |index| index < self.state.gpus.len();
            if !placement.grant.gpus().iter().all(is_left) {
                placement.grant = GpuGrant::None;
            }
            placement.origin = Origin::Found;
            self.charge(placement);
        }
    }

    /// Works out anew what is free on GPU `index` from the placements that remain: a card that a
    /// whole request leaves regains all its memory, whatever was rounded while it was shared.
    fn refresh_gpu(&mut self, index: usize) {
        let old = &self.state.gpus[index];
        let mut fresh = GpuState {
            health: old.health,
            mig_geometry: old.mig_geometry.clone(),
            ..GpuState::empty(&self.shape.gpus()[index], old.mode)
        };
        for Placement { grant, .. } in self.tenants(index) {
            fresh.take(grant);
        }
        self.state.gpus[index] = fresh;
    }
}
