//! Interned descriptions: GPU models, MIG and vGPU profiles, node shapes, task types.
//!
//! Invariant: the catalogue only grows; an id stays valid and keeps its meaning for the whole
//! lineage of snapshots. Not here: anything that has a state.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use serde::Serialize;

use std::sync::Arc;

use crate::amount::GpuUnits;
use crate::id::{GpuModelId, TaskTypeId};
use crate::limits;
use crate::model::gpu::{GpuModel, ModelSet};
use crate::model::mig::{MigProfile, MigProfileId};
use crate::model::node::{Shape, ShapeId};
use crate::model::request::{GpuRequest, Request};
use crate::model::vgpu::{VgpuProfile, VgpuProfileId};

/// Why the catalogue can't take a new entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// More distinct GPU models than a model set has bits.
    #[error("GPU model `{name}` would be the 65th; Berth tells at most 64 models apart")]
    TooManyModels {
        /// The model that didn't fit.
        name: String,
    },
}

/// Interned descriptions of what a cluster is made of and of what is asked of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Catalog {
    models: Vec<GpuModel>,
    mig_profiles: Vec<MigProfile>,
    vgpu_profiles: Vec<VgpuProfile>,
    shapes: IndexSet<Arc<Shape>, FxBuildHasher>,
    task_types: IndexSet<Request, FxBuildHasher>,
}

impl Catalog {
    /// The id of the GPU model called `name`, new if need be.
    ///
    /// # Errors
    /// If it would be the 65th model.
    pub fn intern_model(&mut self, name: &str) -> Result<GpuModelId, CatalogError> {
        if let Some(known) = self.model_named(name) {
            return Ok(known);
        }
        if self.models.len() == limits::GPU_MODELS_MAX {
            return Err(CatalogError::TooManyModels {
                name: name.to_owned(),
            });
        }
        self.models.push(GpuModel { name: name.into() });
        Ok(GpuModelId::at(self.models.len() - 1))
    }

    /// The id of the GPU model called `name`, if the cluster has had one.
    #[must_use]
    pub fn model_named(&self, name: &str) -> Option<GpuModelId> {
        self.models
            .iter()
            .position(|model| &*model.name == name)
            .map(GpuModelId::at)
    }

    /// A GPU model.
    #[must_use]
    pub fn model(&self, id: GpuModelId) -> &GpuModel {
        &self.models[id.index()]
    }

    /// The names of the models in `set` that the cluster knows, in order of interning.
    pub fn model_names(&self, set: ModelSet) -> impl Iterator<Item = &str> {
        let known = self.models.iter().enumerate();
        known
            .filter(move |(index, _)| set.contains(GpuModelId::at(*index)))
            .map(|(_, model)| &*model.name)
    }

    /// Adds a MIG profile.
    ///
    /// # Panics
    /// With more than 65,536 profiles; NVIDIA's tables have some dozens.
    pub fn add_mig_profile(&mut self, profile: MigProfile) -> MigProfileId {
        self.mig_profiles.push(profile);
        let index = self.mig_profiles.len() - 1;
        MigProfileId(u16::try_from(index).expect("some dozens of profiles exist"))
    }

    /// A MIG profile.
    #[must_use]
    pub fn mig_profile(&self, id: MigProfileId) -> &MigProfile {
        &self.mig_profiles[usize::from(id.0)]
    }

    /// Every MIG profile, in the order of adding.
    pub fn mig_profile_ids(&self) -> impl Iterator<Item = MigProfileId> + use<> {
        let count = u16::try_from(self.mig_profiles.len()).expect("some dozens of profiles exist");
        (0..count).map(MigProfileId)
    }

    /// Adds a vGPU profile.
    ///
    /// # Panics
    /// With more than 65,536 profiles; NVIDIA's tables have some hundreds.
    pub fn add_vgpu_profile(&mut self, profile: VgpuProfile) -> VgpuProfileId {
        self.vgpu_profiles.push(profile);
        let index = self.vgpu_profiles.len() - 1;
        VgpuProfileId(u16::try_from(index).expect("some hundreds of profiles exist"))
    }

    /// A vGPU profile.
    #[must_use]
    pub fn vgpu_profile(&self, id: VgpuProfileId) -> &VgpuProfile {
        &self.vgpu_profiles[usize::from(id.0)]
    }

    /// Every vGPU profile, in the order of adding.
    pub fn vgpu_profile_ids(&self) -> impl Iterator<Item = VgpuProfileId> + use<> {
        let count =
            u16::try_from(self.vgpu_profiles.len()).expect("some hundreds of profiles exist");
        (0..count).map(VgpuProfileId)
    }

    /// The interned twin of `shape` and its id.
    pub fn intern_shape(&mut self, shape: Shape) -> (ShapeId, Arc<Shape>) {
        let (index, _) = self.shapes.insert_full(Arc::new(shape));
        let id = u32::try_from(index).expect("no more shapes than nodes, which are bounded");
        (ShapeId(id), Arc::clone(&self.shapes[index]))
    }

    /// The task type of `request`.
    pub fn intern_task(&mut self, request: Request) -> TaskTypeId {
        TaskTypeId::at(self.task_types.insert_full(request).0)
    }

    /// The request that a task type stands for.
    #[must_use]
    pub fn task(&self, id: TaskTypeId) -> &Request {
        &self.task_types[id.index()]
    }

    /// The task type of `request`, if one like it has been seen.
    #[must_use]
    pub fn task_type_of(&self, request: &Request) -> Option<TaskTypeId> {
        self.task_types.get_index_of(request).map(TaskTypeId::at)
    }

    /// Number of task types seen so far.
    #[must_use]
    pub fn n_task_types(&self) -> usize {
        self.task_types.len()
    }

    /// Task types seen so far.
    pub fn task_types(&self) -> impl Iterator<Item = (TaskTypeId, &Request)> {
        self.task_types
            .iter()
            .enumerate()
            .map(|(index, task)| (TaskTypeId::at(index), task))
    }

    /// What `request` will be charged, in physical-GPU equivalents.
    ///
    /// A share is charged by compute; one that asks for memory alone is charged by its part of the
    /// smallest card that would do, which is also what placing it charges at most.
    #[must_use]
    pub fn equivalents(&self, request: &Request) -> GpuUnits {
        match request.gpu {
            GpuRequest::None => GpuUnits::ZERO,
            GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => {
                GpuUnits::ONE_GPU * i64::from(count)
            }
            GpuRequest::Share { compute, memory } if compute.is_zero() => {
                let cards = self.shapes.iter().flat_map(|shape| shape.gpus());
                cards
                    .filter(|gpu| request.models.contains(gpu.model) && gpu.memory >= memory)
                    .map(|gpu| memory_part(memory, gpu.memory))
                    .max()
                    .unwrap_or(GpuUnits::ONE_GPU)
            }
            GpuRequest::Share { compute, .. } => compute,
            GpuRequest::Mig { profile } => self.mig_profile(profile).equivalents(),
            GpuRequest::Vgpu { profile } => self.vgpu_profile(profile).equivalents(),
        }
    }
}

/// `memory` as a part of a card with `card` bytes, in physical-GPU equivalents, rounded up.
#[must_use]
pub fn memory_part(memory: crate::amount::Bytes, card: crate::amount::Bytes) -> GpuUnits {
    if card.0 <= 0 {
        return GpuUnits::ZERO;
    }
    let whole = i128::from(GpuUnits::ONE_GPU.0);
    let units = (i128::from(memory.0) * whole + i128::from(card.0) - 1) / i128::from(card.0);
    GpuUnits(i64::try_from(units.clamp(0, whole)).expect("clamped to one GPU"))
}
