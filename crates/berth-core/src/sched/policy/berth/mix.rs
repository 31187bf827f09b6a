//! The mix of task types that completions are made of.
//!
//! Invariant: popularities are positive and add up to one. Not here: prices.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::amount::GpuUnits;
use crate::model::gpu::ModelSet;
use crate::model::request::{GpuRequest, Request};
use crate::model::snapshot::Snapshot;
use crate::sched::fragmentation::{TargetWorkload, TaskKind};

/// Part of all pods that the types of a mix cover. Rare types score as well without being in it,
/// and take more from the rest of the mix than they add.
const COVERED: f64 = 0.95;

/// Types of a mix, at most: what a step costs is bounded.
const TYPES_MAX: usize = 512;

/// A type and its part of all pods.
pub(super) type Mix = Vec<(TaskKind, f64)>;

/// The mix that a site says to expect.
pub(super) fn expected(workload: &TargetWorkload) -> Mix {
    workload.tasks().take(TYPES_MAX).collect()
}

/// The mix of what has arrived.
pub(super) fn arrived(snapshot: &Snapshot) -> Mix {
    let catalog = snapshot.catalog();
    let mut counts: BTreeMap<TaskKind, u64> = BTreeMap::new();
    for ((_, request), &count) in catalog.task_types().zip(snapshot.arrivals()) {
        if count > 0 {
            *counts
                .entry(kind_of(request, catalog.equivalents(request)))
                .or_default() += count;
        }
    }
    let total: u64 = counts.values().sum();
    let mut ranked: Vec<(TaskKind, u64)> = counts.into_iter().collect();
    ranked.sort_by_key(|&(kind, count)| Reverse((count, kind)));
    let mut covered = 0;
    ranked.truncate(TYPES_MAX);
    ranked.retain(|&(_, count)| {
        let needed = (covered as f64) < COVERED * total as f64;
        covered += count;
        needed
    });
    let sum: u64 = ranked.iter().map(|&(_, count)| count).sum();
    ranked
        .into_iter()
        .map(|(kind, count)| (kind, count as f64 / sum as f64))
        .collect()
}

fn kind_of(request: &Request, equivalents: GpuUnits) -> TaskKind {
    let (compute_each, gpus) = match request.gpu {
        GpuRequest::Whole { count } => (GpuUnits::ONE_GPU, count),
        GpuRequest::Share { .. } => (equivalents, 1),
        // Cards that serve these serve nothing else; beside them, these are tasks without GPU.
        GpuRequest::None
        | GpuRequest::Mig { .. }
        | GpuRequest::Vgpu { .. }
        | GpuRequest::Passthrough { .. } => (GpuUnits::ZERO, 0),
    };
    let models = if gpus == 0 {
        ModelSet::ANY
    } else {
        request.models
    };
    TaskKind {
        cpu: request.cpu,
        compute_each,
        gpus,
        models,
    }
}
