//! Requests, obstacles and spans in words.
//!
//! Invariant: words follow from the values alone; a reason's token and advice are the core's.

use berth_core::amount::{GpuUnits, MilliCpu};
use berth_core::model::catalog::Catalog;
use berth_core::model::gpu::{GpuHealth, GpuMode, ModelSet};
use berth_core::model::node::Readiness;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::explain::{Explanation, Hindrance, Obstacle};
use berth_core::time::Span;

/// What a pod asks for: `2 x H100`, `0.5 GPU`, `MIG 1g.10gb`, `4 CPU`.
pub(crate) fn ask(catalog: &Catalog, request: &Request) -> String {
    let models = models(catalog, request.models);
    let of_models = |what: String| match &models {
        None => what,
        Some(names) => format!("{what} on {names}"),
    };
    match request.gpu {
        GpuRequest::None => format!("{} CPU", cores(request.cpu)),
        GpuRequest::Whole { count } => whole(count, models.as_deref()),
        GpuRequest::Passthrough { count } => whole(count, models.as_deref()) + ", passthrough",
        GpuRequest::Share { compute, memory } if memory.is_zero() => match &models {
            None => format!("{compute} GPU"),
            Some(names) => format!("{compute} x {names}"),
        },
        GpuRequest::Share { compute, memory } if compute.is_zero() => {
            of_models(format!("{memory} of a GPU"))
        }
        GpuRequest::Share { compute, memory } => match &models {
            None => format!("{compute} GPU, {memory}"),
            Some(names) => format!("{compute} x {names}, {memory}"),
        },
        // A profile's name says its card well enough.
        GpuRequest::Mig { profile } => format!("MIG {}", catalog.mig_profile(profile).name),
        GpuRequest::Vgpu { profile } => format!("vGPU {}", catalog.vgpu_profile(profile).name),
    }
}

/// What stands in the way, node by node: `8 nodes: GPU taken; 3 nodes: CPU short`.
pub(crate) fn evidence(snapshot: &Snapshot, explanation: &Explanation) -> String {
    let mut parts: Vec<String> = hindrance(snapshot, explanation.hindrance)
        .into_iter()
        .collect();
    // What a start is nearest to comes first; the core lists what is structural first.
    let nodes = explanation.nodes.iter().rev();
    parts.extend(nodes.map(|&(what, n)| {
        format!(
            "{n} {}: {}",
            if n == 1 { "node" } else { "nodes" },
            obstacle(what)
        )
    }));
    let capacity = explanation.nodes.iter().any(|(what, _)| {
        matches!(
            what,
            Obstacle::Fragmented | Obstacle::GpuBusy | Obstacle::Unhealthy
        )
    });
    if capacity {
        parts.push(format!(
            "largest free piece {} GPU",
            explanation.largest_free
        ));
    }
    parts.join("; ")
}

fn hindrance(snapshot: &Snapshot, hindrance: Hindrance) -> Option<String> {
    match hindrance {
        Hindrance::NoNode => None,
        Hindrance::QueueLimit { queue } => {
            let queue = snapshot.queue(queue);
            let limit = queue.limit().unwrap_or(GpuUnits::MAX);
            Some(format!(
                "queue {} holds {} of {limit} GPUs",
                queue.name,
                queue.used()
            ))
        }
        Hindrance::BorrowingLimit { queue } => {
            let name = &snapshot.queue(queue).name;
            Some(format!("queue {name} has borrowed as much as it may"))
        }
        Hindrance::QuotaInUse { queue } => {
            let name = &snapshot.queue(queue).name;
            Some(format!("all quota of {name} is in use"))
        }
        Hindrance::ExceedsQuota { queue } => {
            let name = &snapshot.queue(queue).name;
            Some(format!("more than queue {name} could ever have"))
        }
        Hindrance::Evicted => Some("has just made room for other work".to_owned()),
        Hindrance::GangIncomplete { have, need } => {
            Some(format!("{have} of {need} members submitted"))
        }
        Hindrance::GangNoRoom { placed, need } => {
            Some(format!("room for {placed} of {need} members"))
        }
    }
}

/// An obstacle in two or three words.
pub(crate) const fn obstacle(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::TooSmall => "too small",
        Obstacle::Model => "other GPU model",
        Obstacle::Mode => "other GPU mode",
        Obstacle::NotReady => "takes no work",
        Obstacle::Unhealthy => "GPU out of order",
        Obstacle::Fragmented => "free GPU in pieces",
        Obstacle::GpuBusy => "GPUs taken",
        Obstacle::Cpu => "CPU short",
        Obstacle::Memory => "memory short",
        Obstacle::PodSlots => "pod slots short",
        Obstacle::Rules => "ruled out",
    }
}

/// A GPU's mode as people write it.
pub(crate) const fn mode(mode: GpuMode) -> &'static str {
    match mode {
        GpuMode::Exclusive => "exclusive",
        GpuMode::TimeSlice => "time-slice",
        GpuMode::Mps => "MPS",
        GpuMode::Mig => "MIG",
        GpuMode::Vgpu => "vGPU",
        GpuMode::Passthrough => "passthrough",
    }
}

/// A GPU's health.
pub(crate) const fn health(health: GpuHealth) -> &'static str {
    match health {
        GpuHealth::Healthy => "healthy",
        GpuHealth::Degraded => "degraded",
        GpuHealth::Failed => "failed",
    }
}

/// A node's readiness.
pub(crate) const fn readiness(readiness: Readiness) -> &'static str {
    match readiness {
        Readiness::Ready => "ready",
        Readiness::Cordoned => "cordoned",
        Readiness::Lost => "lost",
    }
}

/// Virtual time since the start: `day 3 07:05:00`.
pub(crate) fn clock(elapsed: Span) -> String {
    let seconds = elapsed.0.max(0) / 1000;
    let (day, hour) = (seconds / 86_400 + 1, seconds / 3600 % 24);
    format!(
        "day {day} {hour:02}:{:02}:{:02}",
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Seconds in the two largest units that matter, none below a second.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds.round() as i64 {
        0 => "0s".to_owned(),
        seconds => Span::from_secs(seconds).to_string(),
    }
}

fn cores(cpu: MilliCpu) -> String {
    let (whole, part) = (cpu.0 / 1000, cpu.0 % 1000);
    if part == 0 {
        whole.to_string()
    } else {
        format!("{:.1}", cpu.0 as f64 / 1000.0)
    }
}

fn whole(count: u8, models: Option<&str>) -> String {
    match (count, models) {
        (1, None) => "1 GPU".to_owned(),
        (n, None) => format!("{n} GPUs"),
        (n, Some(names)) => format!("{n} x {names}"),
    }
}

/// The models that will do, `None` where any will.
fn models(catalog: &Catalog, set: ModelSet) -> Option<String> {
    if set == ModelSet::ANY {
        return None;
    }
    let names: Vec<&str> = catalog.model_names(set).collect();
    Some(match names.as_slice() {
        [] => "an unknown model".to_owned(),
        [one] => (*one).to_owned(),
        [first, second] => format!("{first}/{second}"),
        [first, rest @ ..] => format!("{first} or {} others", rest.len()),
    })
}
