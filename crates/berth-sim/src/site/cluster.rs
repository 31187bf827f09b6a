//! The machines of a site.
//!
//! Card memory, and vGPUs a card, are the vendor's figures (data sheets of A100, H100, L40S, A40;
//! NVIDIA vGPU user guide, A40 profiles). Hosts are of the usual sizes; their numbers are
//! assumptions.

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::model::gpu::GpuMode;

use crate::workload::{NodeTemplate, VgpuTemplate};

/// Nodes that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeGroup {
    /// What they are for; also the first part of their names.
    pub name: &'static str,
    /// How many.
    pub count: u32,
    /// Cores for pods.
    pub cores: i64,
    /// Host memory for pods, in GiB.
    pub memory_gib: i64,
    /// GPUs of each.
    pub gpus: u8,
    /// Their model; empty without.
    pub model: &'static str,
    /// Memory of each GPU, in GiB.
    pub gpu_memory_gib: i64,
    /// How they are offered.
    pub mode: GpuMode,
}

const fn group(
    (name, count): (&'static str, u32),
    (cores, memory_gib): (i64, i64),
    (gpus, model, gpu_memory_gib): (u8, &'static str, i64),
    mode: GpuMode,
) -> NodeGroup {
    NodeGroup {
        name,
        count,
        cores,
        memory_gib,
        gpus,
        model,
        gpu_memory_gib,
        mode,
    }
}

/// 67 nodes, 256 GPUs.
pub const SITE_NODES: &[NodeGroup] = &[
    group(("train", 8), (128, 1500), (8, H100, 80), GpuMode::Exclusive),
    group(("batch", 24), (96, 750), (4, A100, 80), GpuMode::TimeSlice),
    group(("note", 10), (64, 500), (4, L40S, 48), GpuMode::TimeSlice),
    group(("mig", 3), (128, 1000), (8, A100, 80), GpuMode::Mig),
    group(("vgpu", 6), (128, 1000), (4, A40, 48), GpuMode::Vgpu),
    group(("pass", 4), (64, 500), (2, A40, 48), GpuMode::Passthrough),
    group(("cpu", 12), (128, 500), (0, "", 0), GpuMode::Exclusive),
];

/// 8 nodes, 40 GPUs.
pub const SMALL_NODES: &[NodeGroup] = &[
    group(("train", 1), (128, 1500), (8, H100, 80), GpuMode::Exclusive),
    group(("batch", 3), (96, 750), (4, A100, 80), GpuMode::TimeSlice),
    group(("note", 1), (64, 500), (4, L40S, 48), GpuMode::TimeSlice),
    group(("mig", 1), (128, 1000), (8, A100, 80), GpuMode::Mig),
    group(("vgpu", 1), (128, 1000), (4, A40, 48), GpuMode::Vgpu),
    group(("pass", 1), (64, 500), (4, A40, 48), GpuMode::Passthrough),
];

pub(super) const H100: &str = "H100-80GB";
pub(super) const A100: &str = "A100-80GB";
pub(super) const L40S: &str = "L40S-48GB";
pub(super) const A40: &str = "A40-48GB";

/// vGPU profiles in use, with how many of them a card carries.
pub(super) const VGPU: [(&str, i64, u16); 3] =
    [("A40-8Q", 8, 6), ("A40-12Q", 12, 4), ("A40-16Q", 16, 3)];

pub(super) fn nodes(groups: &[NodeGroup]) -> Vec<NodeTemplate> {
    let of_group = |group: &NodeGroup| {
        let group = *group;
        (1..=group.count).map(move |number| NodeTemplate {
            name: format!("{}-{number:02}", group.name),
            cpu: MilliCpu::from_cores(group.cores),
            memory: Bytes::from_gib(group.memory_gib),
            pod_slots: 110,
            gpus: group.gpus,
            gpu_model: group.model.to_owned(),
            gpu_memory: Bytes::from_gib(group.gpu_memory_gib),
            gpu_mode: group.mode,
        })
    };
    groups.iter().flat_map(of_group).collect()
}

pub(super) fn vgpu_profiles() -> Vec<VgpuTemplate> {
    let profile = |&(name, gib, per_gpu_max): &(&str, i64, u16)| VgpuTemplate {
        name: name.to_owned(),
        gpu_model: A40.to_owned(),
        memory: Bytes::from_gib(gib),
        per_gpu_max,
    };
    VGPU.iter().map(profile).collect()
}
