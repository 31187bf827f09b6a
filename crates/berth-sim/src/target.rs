//! The target workload of a trace: the mix of tasks that a cluster should keep room for.
//!
//! Source: Weng et al., ATC 2023, and its simulator (`pkg/utils/frag.go`): task types by number of
//! pods, most first, the shortest prefix that covers 95 % of all pods, CPU-only types included.
//! Not here: the fragmentation measure itself (the core's).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use berth_core::amount::{GpuUnits, MilliCpu};
use berth_core::model::catalog::Catalog;
use berth_core::model::gpu::ModelSet;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::sched::fragmentation::{TargetTask, TargetWorkload};

/// Part of all pods that the task types of the target must cover, in percent.
const COVERED_PERCENT: u64 = 95;

/// What the measure tells apart: ties in popularity go to the larger by these, in this order.
type Kind = (MilliCpu, GpuUnits, u8, Vec<String>);

/// The target workload of `demand`: each request with its number of pods.
#[must_use]
pub fn target_of<'a>(
    demand: impl IntoIterator<Item = (&'a Request, u64)>,
    catalog: &Catalog,
) -> TargetWorkload {
    let mut kinds: BTreeMap<Kind, (ModelSet, u64)> = BTreeMap::new();
    let mut total = 0;
    for (request, pods) in demand {
        let (compute_each, gpus) = match request.gpu {
            GpuRequest::None => (GpuUnits::ZERO, 0),
            GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => {
                (GpuUnits::ONE_GPU, count)
            }
            GpuRequest::Share { .. } | GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => {
                (catalog.equivalents(request), 1)
            }
        };
        let mut models = Vec::new();
        if request.models != ModelSet::ANY {
            models.extend(catalog.model_names(request.models).map(str::to_owned));
        }
        let kind = (request.cpu, compute_each, gpus, models);
        kinds.entry(kind).or_insert((request.models, 0)).1 += pods;
        total += pods;
    }
    let mut ranked: Vec<(&Kind, &(ModelSet, u64))> = kinds.iter().collect();
    ranked.sort_by_key(|&(kind, &(_, pods))| Reverse((pods, kind)));
    let mut covered = 0;
    let tasks = ranked.into_iter().take_while(|(_, (_, pods))| {
        let needed = covered * 100 < total * COVERED_PERCENT;
        covered += pods;
        needed
    });
    let task =
        |((cpu, compute_each, gpus, _), &(models, count)): (&Kind, &(ModelSet, u64))| TargetTask {
            cpu: *cpu,
            compute_each: *compute_each,
            gpus: *gpus,
            models,
            count,
        };
    let tasks: Vec<TargetTask> = tasks.map(task).collect();
    TargetWorkload::new(&tasks, total)
}
