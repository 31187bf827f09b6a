//! Nodes and their GPUs: who holds how much of each.
//!
//! Invariant: a GPU has exactly one [`Cell`], and trouble hides how full it is, never the reverse.
//! Not here: the glyphs (that is the renderer's).

use std::sync::Arc;

use serde::Serialize;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::gpu::GpuHealth;
use berth_core::model::node::{Node, Readiness};
use berth_core::model::snapshot::Snapshot;

use super::{as_gpus, words};

/// A node as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NodeRow {
    /// Name.
    pub(crate) name: Arc<str>,
    /// Whether it takes work: `ready`, `cordoned`, `lost`.
    pub(crate) readiness: &'static str,
    /// CPU in thousandths of a core.
    pub(crate) cpu_milli: MilliCpu,
    /// Of which free.
    pub(crate) cpu_free_milli: MilliCpu,
    /// Host memory.
    pub(crate) memory_bytes: Bytes,
    /// Of which free.
    pub(crate) memory_free_bytes: Bytes,
    /// Pods on it.
    pub(crate) pods: usize,
    /// Its GPUs in index order.
    pub(crate) gpus: Vec<GpuRow>,
}

/// A GPU as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct GpuRow {
    /// Index on its node.
    pub(crate) index: usize,
    /// Hardware id, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uuid: Option<Arc<str>>,
    /// Model.
    pub(crate) model: Arc<str>,
    /// How it is offered.
    pub(crate) mode: &'static str,
    /// `healthy`, `degraded`, `failed`.
    pub(crate) health: &'static str,
    /// How it looks on a map.
    pub(crate) cell: Cell,
    /// Compute that nobody holds, 0 to 1.
    #[serde(rename = "free_share", serialize_with = "as_gpus")]
    pub(crate) free: GpuUnits,
    /// NUMA node, where known.
    pub(crate) numa: Option<u8>,
    /// Who holds it.
    pub(crate) tenants: Vec<Tenant>,
}

/// Who holds a part of a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tenant {
    /// The pod.
    pub(crate) pod: Arc<str>,
    /// Whose it is.
    pub(crate) user: Arc<str>,
    /// Compute held on this GPU, 0 to 1.
    #[serde(rename = "share", serialize_with = "as_gpus")]
    pub(crate) held: GpuUnits,
}

/// How a GPU looks on a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cell {
    /// Its node is lost.
    Lost,
    /// Out of order.
    Failed,
    /// Runs what it has; nothing new lands on it.
    Degraded,
    /// Free, but its node takes no new work.
    Closed,
    /// Free.
    Free,
    /// Held in part: eighths held, 1 to 7, rounded to the nearest.
    Part(u8),
    /// Held.
    Full,
}

/// Nodes whose GPUs are of the same models and modes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fleet {
    /// Models and modes, as people call them.
    pub(crate) name: String,
    /// Positions in the list of nodes.
    pub(crate) nodes: Vec<usize>,
    /// GPUs.
    pub(crate) gpus: usize,
    /// GPU held.
    pub(crate) held: GpuUnits,
    /// GPUs that are out of order or on lost nodes.
    pub(crate) out: usize,
}

/// The nodes of `snapshot`.
pub(crate) fn nodes(snapshot: &Snapshot) -> Vec<NodeRow> {
    snapshot
        .nodes()
        .iter()
        .map(|node| row(snapshot, node))
        .collect()
}

fn row(snapshot: &Snapshot, node: &Node) -> NodeRow {
    let mut tenants: Vec<Vec<Tenant>> = vec![Vec::new(); node.shape.gpus().len()];
    for placement in &node.placements {
        // A placed pod is in the snapshot: the books say so.
        let Some(pod) = snapshot.pod(placement.pod) else {
            continue;
        };
        for gpu in placement.grant.gpus().iter() {
            tenants[gpu].push(Tenant {
                pod: Arc::clone(&pod.spec.name),
                user: Arc::clone(snapshot.user(pod.spec.user)),
                held: placement.grant.compute_each(),
            });
        }
    }
    let readiness = node.state.readiness;
    let cards = node
        .shape
        .gpus()
        .iter()
        .zip(&node.state.gpus)
        .zip(tenants)
        .enumerate();
    let gpus = cards.map(|(index, ((spec, gpu), tenants))| GpuRow {
        index,
        uuid: node.gpu_uuids.get(index).cloned(),
        model: Arc::clone(&snapshot.catalog().model(spec.model).name),
        mode: words::mode(gpu.mode),
        health: words::health(gpu.health),
        cell: cell(readiness, gpu.health, gpu.free_compute, tenants.len()),
        free: gpu.free_compute,
        numa: spec.numa,
        tenants,
    });
    NodeRow {
        name: Arc::clone(&node.name),
        readiness: words::readiness(readiness),
        cpu_milli: node.shape.cpu,
        cpu_free_milli: node.state.free_cpu,
        memory_bytes: node.shape.memory,
        memory_free_bytes: node.state.free_memory,
        pods: node.placements.len(),
        gpus: gpus.collect(),
    }
}

fn cell(readiness: Readiness, health: GpuHealth, free: GpuUnits, n_tenants: usize) -> Cell {
    let held = GpuUnits::ONE_GPU - free;
    match (readiness, health) {
        (Readiness::Lost, _) => Cell::Lost,
        (_, GpuHealth::Failed) => Cell::Failed,
        (_, GpuHealth::Degraded) => Cell::Degraded,
        (Readiness::Cordoned, GpuHealth::Healthy) if n_tenants == 0 => Cell::Closed,
        (Readiness::Ready, GpuHealth::Healthy) if n_tenants == 0 => Cell::Free,
        (Readiness::Ready | Readiness::Cordoned, GpuHealth::Healthy) if free.is_zero() => {
            Cell::Full
        }
        (Readiness::Ready | Readiness::Cordoned, GpuHealth::Healthy) => {
            let eighths = (held.0 * 8 + GpuUnits::ONE_GPU.0 / 2) / GpuUnits::ONE_GPU.0;
            Cell::Part(u8::try_from(eighths.clamp(1, 7)).expect("clamped to 1..=7"))
        }
    }
}

/// `nodes` by models and modes of their GPUs, the largest fleet first; nodes without GPU are in
/// none.
pub(crate) fn fleets(nodes: &[NodeRow]) -> Vec<Fleet> {
    let mut fleets: Vec<Fleet> = Vec::new();
    for (at, node) in nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| !node.gpus.is_empty())
    {
        let name = fleet_name(&node.gpus);
        let known = fleets.iter().position(|fleet| fleet.name == name);
        let known = known.unwrap_or_else(|| {
            let fleet = Fleet {
                name,
                nodes: Vec::new(),
                gpus: 0,
                held: GpuUnits::ZERO,
                out: 0,
            };
            fleets.push(fleet);
            fleets.len() - 1
        });
        let fleet = &mut fleets[known];
        fleet.nodes.push(at);
        fleet.gpus += node.gpus.len();
        fleet.held += node
            .gpus
            .iter()
            .map(|gpu| GpuUnits::ONE_GPU - gpu.free)
            .sum();
        fleet.out += node
            .gpus
            .iter()
            .filter(|gpu| matches!(gpu.cell, Cell::Lost | Cell::Failed))
            .count();
    }
    fleets.sort_by(|a, b| b.gpus.cmp(&a.gpus).then_with(|| a.name.cmp(&b.name)));
    fleets
}

fn fleet_name(gpus: &[GpuRow]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for gpu in gpus {
        let part = match gpu.mode {
            "exclusive" => gpu.model.to_string(),
            mode => format!("{} {mode}", gpu.model),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.join(" + ")
}
