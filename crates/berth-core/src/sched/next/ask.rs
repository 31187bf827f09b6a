//! What a pod could ask for instead so that some node has room for it now.
//!
//! Invariant: what is proposed fits some node as it stands, and is the most that does so of its kind.
//! Not here: whether the queue tree and the other waiting work let it.

use crate::amount::{Bytes, GpuUnits, MilliCpu};
use crate::id::GpuModelId;
use crate::model::gpu::{GpuSpec, GpuState, ModelSet};
use crate::model::request::{GpuRequest, Request};
use crate::model::snapshot::Snapshot;
use crate::sched::fit;
use crate::sched::next::{Waiting, fits_among};

/// Shares are proposed in whole hundredths of a card.
const HUNDREDTH: i64 = GpuUnits::ONE_GPU.0 / 100;

/// Models that aren't accepted yet and of which a card is free for it.
pub(super) fn other_models(snapshot: &Snapshot, waiting: &Waiting) -> Vec<GpuModelId> {
    let request = &waiting.request;
    if !request.wants_gpu() || request.models == ModelSet::ANY {
        return Vec::new();
    }
    let catalog = snapshot.catalog();
    let known = catalog.model_names(ModelSet::ANY).count();
    let others = (0..known).map(GpuModelId::at);
    let would_do = |model: &GpuModelId| {
        let models = request.models.with(*model);
        !request.models.contains(*model)
            && fits_among(snapshot, &waiting.open, &Request { models, ..*request })
    };
    others.filter(would_do).collect()
}

/// The CPU and memory of the node where least would have to be given up.
pub(super) fn less_host(snapshot: &Snapshot, waiting: &Waiting) -> Option<(MilliCpu, Bytes)> {
    let request = &waiting.request;
    let bare = Request {
        cpu: MilliCpu::ZERO,
        memory: Bytes::ZERO,
        ..*request
    };
    let catalog = snapshot.catalog();
    let nodes = waiting.open.iter().map(|&id| snapshot.node(id));
    let open = nodes.filter(|node| fit::fits(catalog, &bare, &node.shape, &node.state));
    let left = open.map(|node| {
        let cpu = request.cpu.min(node.state.free_cpu);
        let memory = request.memory.min(node.state.free_memory);
        let kept = permille(cpu.0, request.cpu.0).min(permille(memory.0, request.memory.0));
        (kept, cpu, memory)
    });
    let (kept, cpu, memory) = left.max()?;
    let is_less = (cpu, memory) != (request.cpu, request.memory);
    (kept > 0 && is_less).then_some((cpu, memory))
}

/// What of a GPU, or of how many, is free for it, the most first.
pub(super) fn less_gpu(snapshot: &Snapshot, waiting: &Waiting) -> Vec<GpuRequest> {
    let request = &waiting.request;
    let fits = |gpu: GpuRequest| fits_among(snapshot, &waiting.open, &Request { gpu, ..*request });
    match request.gpu {
        GpuRequest::None => Vec::new(),
        GpuRequest::Share { compute, memory } => {
            let share = largest_share(snapshot, waiting, compute, memory);
            share.into_iter().filter(|&gpu| fits(gpu)).collect()
        }
        GpuRequest::Whole { count } => {
            let fewer = fewer(snapshot, waiting, count);
            let fewer = fewer.map(|count| GpuRequest::Whole { count });
            let share = || largest_share(snapshot, waiting, GpuUnits::ONE_GPU, Bytes::MAX);
            let instead = fewer.or_else(share);
            instead.into_iter().filter(|&gpu| fits(gpu)).collect()
        }
        GpuRequest::Passthrough { count } => {
            let fewer = fewer(snapshot, waiting, count);
            fewer
                .map(|count| GpuRequest::Passthrough { count })
                .into_iter()
                .collect()
        }
        GpuRequest::Mig { profile: asked } => {
            let size = |id| {
                let profile = snapshot.catalog().mig_profile(id);
                (profile.compute_slices, profile.memory)
            };
            let ids = snapshot.catalog().mig_profile_ids();
            let mut smaller: Vec<_> = ids.filter(|&id| size(id) < size(asked)).collect();
            smaller.sort_by_key(|&id| std::cmp::Reverse(size(id)));
            let gpus = smaller
                .into_iter()
                .map(|profile| GpuRequest::Mig { profile });
            gpus.filter(|&gpu| fits(gpu)).collect()
        }
        GpuRequest::Vgpu { profile: asked } => {
            let size = |id| snapshot.catalog().vgpu_profile(id).memory;
            let ids = snapshot.catalog().vgpu_profile_ids();
            let mut smaller: Vec<_> = ids.filter(|&id| size(id) < size(asked)).collect();
            smaller.sort_by_key(|&id| std::cmp::Reverse(size(id)));
            let gpus = smaller
                .into_iter()
                .map(|profile| GpuRequest::Vgpu { profile });
            gpus.filter(|&gpu| fits(gpu)).collect()
        }
    }
}

/// The most cards below `count` that one node has free.
fn fewer(snapshot: &Snapshot, waiting: &Waiting, count: u8) -> Option<u8> {
    let request = &waiting.request;
    let with = |count| {
        let gpu = match request.gpu {
            GpuRequest::Passthrough { .. } => GpuRequest::Passthrough { count },
            _ => GpuRequest::Whole { count },
        };
        Request { gpu, ..*request }
    };
    (1..count)
        .rev()
        .find(|&count| fits_among(snapshot, &waiting.open, &with(count)))
}

/// The largest share up to `compute` and `memory` that some card has free.
fn largest_share(
    snapshot: &Snapshot,
    waiting: &Waiting,
    compute: GpuUnits,
    memory: Bytes,
) -> Option<GpuRequest> {
    let request = &waiting.request;
    let asked = GpuRequest::Share { compute, memory };
    let as_share = Request {
        gpu: asked,
        ..*request
    };
    let nodes = waiting.open.iter().map(|&id| snapshot.node(id));
    let open = nodes.filter(|node| fit::host_fits(request, &node.state));
    let mut best: Option<(GpuUnits, Bytes)> = None;
    for node in open {
        for (spec, gpu) in node.shape.gpus().iter().zip(&node.state.gpus) {
            let part = part_of(&as_share, (compute, memory), spec, gpu);
            best = best.max(part);
        }
    }
    let (compute, memory) = best?;
    let gpu = GpuRequest::Share { compute, memory };
    (gpu != asked && gpu != request.gpu).then_some(gpu)
}

/// What of a share a card has free; `None` if that is nothing.
fn part_of(
    as_share: &Request,
    (compute, memory): (GpuUnits, Bytes),
    spec: &GpuSpec,
    gpu: &GpuState,
) -> Option<(GpuUnits, Bytes)> {
    let serves = gpu.health == crate::model::gpu::GpuHealth::Healthy
        && fit::mode_serves(as_share, gpu.mode)
        && as_share.models.contains(spec.model);
    if !serves {
        return None;
    }
    let free_memory = match spec.memory.is_zero() {
        // Memory isn't counted where it is unknown.
        true => memory.min(Bytes::ZERO),
        false => memory.min(gpu.free_memory),
    };
    if compute.is_zero() {
        // By memory alone: the compute that goes with it has to be free too.
        let by_compute = i128::from(spec.memory.0) * i128::from(gpu.free_compute.0)
            / i128::from(GpuUnits::ONE_GPU.0);
        let by_compute = Bytes(i64::try_from(by_compute).unwrap_or(i64::MAX));
        let memory = free_memory.min(by_compute);
        return (!memory.is_zero()).then_some((GpuUnits::ZERO, memory));
    }
    let free = compute.min(gpu.free_compute);
    let rounded = GpuUnits(free.0 / HUNDREDTH * HUNDREDTH);
    let wants_memory = !memory.is_zero() && !spec.memory.is_zero();
    let is_nothing = rounded.is_zero() || wants_memory && free_memory.is_zero();
    (!is_nothing).then_some((rounded, free_memory))
}

fn permille(part: i64, whole: i64) -> i128 {
    match whole {
        0 => 1000,
        whole => i128::from(part) * 1000 / i128::from(whole),
    }
}
