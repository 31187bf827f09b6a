//! Virtual GPUs of the host driver: profiles that divide a card among virtual machines.
//!
//! Invariant: all vGPUs of one card have the same profile (NVIDIA's equal-size mode, the default of
//! every driver release). Not here: the vGPU scheduler's time slices.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::amount::{Bytes, GpuUnits};
use crate::model::gpu::ModelSet;

/// A vGPU profile, as the catalogue interned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VgpuProfileId(pub u16);

/// A kind of vGPU.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VgpuProfile {
    /// Name as NVIDIA writes it (`A40-8Q`).
    pub name: Arc<str>,
    /// Models that offer it.
    pub models: ModelSet,
    /// Framebuffer of each vGPU.
    pub memory: Bytes,
    /// How many of them one card carries, at least 1.
    pub per_gpu_max: u16,
}

impl VgpuProfile {
    /// The charge in physical-GPU equivalents: an equal part of the card, rounded down so that a
    /// full card never sums to more than one.
    #[must_use]
    pub fn equivalents(&self) -> GpuUnits {
        GpuUnits(GpuUnits::ONE_GPU.0 / i64::from(self.per_gpu_max.max(1)))
    }
}
