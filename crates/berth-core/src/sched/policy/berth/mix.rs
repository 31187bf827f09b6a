//! The mix of task types that completions are made of.
//!
//! Invariant: popularities are positive and add up to one. Not here: prices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

/// Arrivals after which an arrival counts half.
const HALF_LIFE: f64 = 20_000.0;

/// A type and its part of all pods.
pub(super) type Mix = Vec<(TaskKind, f64)>;

/// The mix that a site says to expect.
pub(super) fn expected(workload: &TargetWorkload) -> Mix {
    workload.tasks().take(TYPES_MAX).collect()
}

/// What has arrived, by kind: the older, the less it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Heard {
    /// By kind, ascending.
    kinds: Vec<Count>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Count {
    kind: TaskKind,
    /// What has arrived, less what has faded.
    weight: f64,
    /// What had arrived when last counted.
    seen: u64,
}

impl Heard {
    /// With what has arrived since. Counts that went back are of another cluster and begin anew.
    pub(super) fn with_news(&self, snapshot: &Snapshot) -> Self {
        let catalog = snapshot.catalog();
        let mut counts: BTreeMap<TaskKind, u64> = BTreeMap::new();
        for ((_, request), &count) in catalog.task_types().zip(snapshot.arrivals()) {
            if count > 0 {
                let kind = kind_of(request, catalog.equivalents(request));
                *counts.entry(kind).or_default() += count;
            }
        }
        let before = |kind| {
            let known = self.kinds.binary_search_by_key(&kind, |count| count.kind);
            known.map_or((0.0, 0), |at| (self.kinds[at].weight, self.kinds[at].seen))
        };
        let news = |kind, count: u64| count.checked_sub(before(kind).1).unwrap_or(count);
        let all: u64 = counts.iter().map(|(&kind, &count)| news(kind, count)).sum();
        let kept = libm::exp2(-(all as f64) / HALF_LIFE);
        let counted = counts.into_iter().map(|(kind, seen)| Count {
            kind,
            weight: before(kind).0 * kept + news(kind, seen) as f64,
            seen,
        });
        Self {
            kinds: counted.collect(),
        }
    }

    /// The mix of what counts.
    pub(super) fn mix(&self) -> Mix {
        let total: f64 = self.kinds.iter().map(|count| count.weight).sum();
        let mut ranked: Vec<&Count> = self.kinds.iter().collect();
        ranked.sort_by(|a, b| {
            let by_weight = b.weight.total_cmp(&a.weight);
            by_weight.then_with(|| b.kind.cmp(&a.kind))
        });
        ranked.truncate(TYPES_MAX);
        let mut covered = 0.0;
        ranked.retain(|count| {
            let needed = covered < COVERED * total;
            covered += count.weight;
            needed && count.weight > 0.0
        });
        let sum: f64 = ranked.iter().map(|count| count.weight).sum();
        let mix = ranked
            .into_iter()
            .map(|count| (count.kind, count.weight / sum));
        mix.collect()
    }
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
