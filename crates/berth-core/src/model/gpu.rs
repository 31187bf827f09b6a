//! A GPU: what it is, what is free on it, and what of it one pod holds.
//!
//! Invariant: `0 <= free_compute <= 10,000` and `0 <= free_memory <= memory`, and what is free plus
//! what the placements of the node hold is the whole card. Not here: which card a policy prefers.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::amount::{Bytes, GpuUnits};
use crate::id::GpuModelId;
use crate::limits;
use crate::model::mig::{MigGeometry, MigSlices};
use crate::model::vgpu::VgpuProfileId;

/// How a physical GPU is offered to tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuMode {
    /// One tenant at a time owns the whole card.
    Exclusive,
    /// Tenants share the card in turns; shares of compute and memory are handed out.
    TimeSlice,
    /// Tenants share the card at the same time through NVIDIA's Multi-Process Service.
    Mps,
    /// The card is partitioned into hardware instances (Multi-Instance GPU).
    Mig,
    /// The card is divided among virtual machines by the host driver; one profile a card.
    Vgpu,
    /// The card is bound to vfio and given to one virtual machine.
    Passthrough,
}

/// Whether new work may land on a GPU.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum GpuHealth {
    /// Fit for work.
    #[default]
    Healthy,
    /// Work that runs may go on; nothing new lands here.
    Degraded,
    /// Work on it has been lost; nothing lands here until it is repaired.
    Failed,
}

/// What is fixed about one GPU of a node, apart from its identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GpuSpec {
    /// Model, as the catalogue interned it.
    pub model: GpuModelId,
    /// Memory of the card. Zero where the source doesn't say (public traces): then memory of
    /// shares isn't counted either.
    pub memory: Bytes,
    /// NUMA node that the card hangs off, where known.
    pub numa: Option<u8>,
    /// PCIe root complex that the card hangs off, where known.
    pub pcie_root: Option<u8>,
    /// NVLink domain within the node: cards with equal numbers reach each other by NVLink.
    pub nvlink: Option<u8>,
}

/// The state of one GPU: all of it that decides whether and how well a request fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuState {
    /// How the card is offered.
    pub mode: GpuMode,
    /// Whether new work may land on it.
    pub health: GpuHealth,
    /// Compute that nobody holds, 0 to 10,000.
    pub free_compute: GpuUnits,
    /// GPU memory that nobody holds.
    pub free_memory: Bytes,
    /// Number of tenants.
    pub tenants: u16,
    /// MIG only: memory slices that instances in use cover.
    pub mig_used: MigSlices,
    /// MIG only: which instances may exist.
    pub mig_geometry: MigGeometry,
    /// vGPU only: the profile that all tenants of the card share, while there are any.
    pub vgpu_profile: Option<VgpuProfileId>,
}

impl Hash for GpuState {
    /// Packs all small fields into one word: states are hashed at every change of a node.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let vgpu = self
            .vgpu_profile
            .map_or(0, |profile| u64::from(profile.0) + 1);
        let devices = self.mode as u64 | (self.health as u64) << 4 | vgpu << 8;
        let tenants = u64::from(self.tenants) | u64::from(self.mig_used.bits()) << 16;
        let compute = self.free_compute.0 as u64;
        hasher.write_u64(devices | tenants << 32 | compute.rotate_left(56));
        hasher.write_u64(self.free_memory.0 as u64);
        if let MigGeometry::Fixed(instances) = &self.mig_geometry {
            instances.hash(hasher);
        }
    }
}

impl GpuState {
    /// An empty, healthy GPU of `spec` in `mode`.
    #[must_use]
    pub fn empty(spec: &GpuSpec, mode: GpuMode) -> Self {
        Self {
            mode,
            health: GpuHealth::Healthy,
            free_compute: GpuUnits::ONE_GPU,
            free_memory: spec.memory,
            tenants: 0,
            mig_used: MigSlices::NONE,
            mig_geometry: MigGeometry::Dynamic,
            vgpu_profile: None,
        }
    }

    /// Takes this card's part of `grant` out of what is free.
    pub fn take(&mut self, grant: &GpuGrant) {
        self.free_compute -= grant.compute_each();
        self.tenants += 1;
        match *grant {
            GpuGrant::None => {}
            GpuGrant::Whole { .. } => self.free_memory = Bytes::ZERO,
            GpuGrant::Share { memory, .. } => self.free_memory -= memory,
            GpuGrant::Mig { slices, memory, .. } => {
                self.free_memory = self.free_memory.minus_or_zero(memory);
                self.mig_used = self.mig_used.union(slices);
            }
            GpuGrant::Vgpu {
                profile, memory, ..
            } => {
                self.free_memory = self.free_memory.minus_or_zero(memory);
                self.vgpu_profile = Some(profile);
            }
        }
    }

    /// Whether nobody holds any part of the card.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.tenants == 0
    }

    /// Compute that a share or a whole-GPU request could still get here: nothing unless the card
    /// is healthy and in a mode that serves containers directly.
    #[must_use]
    pub fn open_compute(&self) -> GpuUnits {
        match (self.mode, self.health) {
            (GpuMode::Exclusive | GpuMode::TimeSlice | GpuMode::Mps, GpuHealth::Healthy) => {
                self.free_compute
            }
            _ => GpuUnits::ZERO,
        }
    }
}

/// A set of GPU models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelSet(u64);

impl ModelSet {
    /// Every model, also those that the cluster has yet to see.
    pub const ANY: Self = Self(u64::MAX);
    /// No model.
    pub const NONE: Self = Self(0);

    /// The set with `model` in it too.
    #[must_use]
    pub fn with(self, model: GpuModelId) -> Self {
        assert!(
            model.index() < limits::GPU_MODELS_MAX,
            "the catalogue bounds the models"
        );
        Self(self.0 | 1 << model.0)
    }

    /// Whether `model` is in the set.
    #[must_use]
    pub fn contains(self, model: GpuModelId) -> bool {
        model.index() < limits::GPU_MODELS_MAX && self.0 >> model.0 & 1 == 1
    }

    /// Whether `model` is the only one in the set.
    #[must_use]
    pub fn is_only(self, model: GpuModelId) -> bool {
        self.len() == 1 && self.contains(model)
    }

    /// Number of models in the set.
    #[must_use]
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether no model is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the two sets share a model.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A set of GPUs of one node, by index.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct GpuSet(u32);

impl GpuSet {
    /// No GPU.
    pub const EMPTY: Self = Self(0);

    /// The GPU at `index` alone.
    #[must_use]
    pub fn one(index: usize) -> Self {
        Self::EMPTY.with(index)
    }

    /// The set with the GPU at `index` in it too.
    #[must_use]
    pub fn with(self, index: usize) -> Self {
        assert!(
            index < limits::GPUS_PER_NODE_MAX,
            "nodes are bounded to 32 GPUs"
        );
        Self(self.0 | 1 << index)
    }

    /// Whether the GPU at `index` is in the set.
    #[must_use]
    pub fn contains(self, index: usize) -> bool {
        index < limits::GPUS_PER_NODE_MAX && self.0 >> index & 1 == 1
    }

    /// Number of GPUs in the set.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The indices in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let index = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (index < u32::BITS).then_some(index as usize)
        })
    }
}

/// What one pod holds of its node's GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuGrant {
    /// No GPU.
    None,
    /// Whole cards.
    Whole {
        /// Which ones.
        gpus: GpuSet,
    },
    /// A share of one card.
    Share {
        /// Which card.
        gpu: u8,
        /// Compute held on it.
        compute: GpuUnits,
        /// GPU memory held on it.
        memory: Bytes,
    },
    /// A MIG instance of one card.
    Mig {
        /// Which card.
        gpu: u8,
        /// Memory slices that the instance covers.
        slices: MigSlices,
        /// Compute charged for it.
        compute: GpuUnits,
        /// GPU memory of the instance.
        memory: Bytes,
    },
    /// A vGPU of one card.
    Vgpu {
        /// Which card.
        gpu: u8,
        /// The profile.
        profile: VgpuProfileId,
        /// Compute charged for it.
        compute: GpuUnits,
        /// Framebuffer of the profile.
        memory: Bytes,
    },
}

impl GpuGrant {
    /// The cards that the grant touches.
    #[must_use]
    pub fn gpus(&self) -> GpuSet {
        match *self {
            Self::None => GpuSet::EMPTY,
            Self::Whole { gpus } => gpus,
            Self::Share { gpu, .. } | Self::Mig { gpu, .. } | Self::Vgpu { gpu, .. } => {
                GpuSet::one(usize::from(gpu))
            }
        }
    }

    /// Compute held on each touched card, which is also the charge in physical-GPU equivalents.
    #[must_use]
    pub fn compute_each(&self) -> GpuUnits {
        match *self {
            Self::None => GpuUnits::ZERO,
            Self::Whole { .. } => GpuUnits::ONE_GPU,
            Self::Share { compute, .. }
            | Self::Mig { compute, .. }
            | Self::Vgpu { compute, .. } => compute,
        }
    }

    /// The charge of the whole grant in physical-GPU equivalents.
    #[must_use]
    pub fn equivalents(&self) -> GpuUnits {
        // At most 32 cards, so the cast is exact.
        self.compute_each() * self.gpus().len() as i64
    }
}

/// A GPU model: its name and what a request can be cut from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GpuModel {
    /// Name as the site writes it (`H100`, `A100-80GB`, `T4`).
    pub name: Arc<str>,
}
