//! A workload: what a cluster is made of and what is asked of it, in plain values with names.
//!
//! Invariant: jobs are sorted by arrival, then name; queues come after their parents; amounts are
//! within the core's bounds. Readers establish it, worlds rely on it. Not here: ids and state.

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::quota::Quota;
use berth_core::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// What a cluster is made of and what is asked of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name for reports (`openb:default`, `site:site-1000`).
    pub name: String,
    /// Nodes, names unique.
    pub nodes: Vec<NodeTemplate>,
    /// Queues, parents first, names unique. A job's queue that isn't listed is added at the root.
    pub queues: Vec<QueueTemplate>,
    /// vGPU profiles that nodes in vGPU mode offer. MIG profiles follow from the GPU's memory.
    pub vgpu_profiles: Vec<VgpuTemplate>,
    /// Jobs, sorted by arrival, then name; names unique.
    pub jobs: Vec<Job>,
}

/// A node. All its GPUs are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTemplate {
    /// Name, unique.
    pub name: String,
    /// CPU for pods.
    pub cpu: MilliCpu,
    /// Host memory for pods.
    pub memory: Bytes,
    /// Pods that the kubelet accepts.
    pub pod_slots: u32,
    /// GPUs, 0 to 32.
    pub gpus: u8,
    /// Model of the GPUs; empty without any.
    pub gpu_model: String,
    /// Memory of each GPU; zero where unknown.
    pub gpu_memory: Bytes,
    /// How the GPUs are offered.
    pub gpu_mode: GpuMode,
}

/// A queue. What the amounts mean together is told in [`berth_core::quota`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueTemplate {
    /// Name, unique.
    pub name: String,
    /// The queue above.
    pub parent: Option<String>,
    /// Its part among the queues beside it.
    pub weight: u32,
    /// Its own part of the cluster.
    pub nominal: Option<GpuUnits>,
    /// The most it may borrow.
    pub borrow: Option<GpuUnits>,
    /// The most it lends.
    pub lend: Option<GpuUnits>,
    /// The most it may hold.
    pub limit: Option<GpuUnits>,
}

impl QueueTemplate {
    /// A queue of weight 1 without rules of its own.
    #[must_use]
    pub fn new(name: impl Into<String>, parent: Option<String>) -> Self {
        Self {
            name: name.into(),
            parent,
            weight: 1,
            nominal: None,
            borrow: None,
            lend: None,
            limit: None,
        }
    }

    /// The rules on GPUs.
    #[must_use]
    pub fn quota(&self) -> Quota {
        Quota {
            nominal: self.nominal.map(GpuUnits::get),
            borrowing_limit: self.borrow.map(GpuUnits::get),
            lending_limit: self.lend.map(GpuUnits::get),
            limit: self.limit.map(GpuUnits::get),
        }
    }
}

/// A vGPU profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VgpuTemplate {
    /// Name (`A40-8Q`).
    pub name: String,
    /// Model that offers it.
    pub gpu_model: String,
    /// Framebuffer of each.
    pub memory: Bytes,
    /// How many one card carries.
    pub per_gpu_max: u16,
}

/// What kind of work a job is; it decides what a fault does to it and how it is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Runs to its end and starts anew after a fault.
    Batch,
    /// A notebook or shell: somebody sits before it, with gaps.
    Interactive,
    /// Several pods that start together or not at all.
    Gang,
    /// A virtual machine.
    Vm,
}

/// One job: one pod, or several alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Name, unique.
    pub name: String,
    /// Who submits it.
    pub user: String,
    /// The queue that is charged.
    pub queue: String,
    /// What kind of work it is.
    pub kind: JobKind,
    /// Higher goes first.
    pub priority: i32,
    /// Whose place it may take for that.
    pub preempts: Preempts,
    /// When it is submitted.
    pub arrival: Time,
    /// How long it runs once started; `None` runs to the end of the world.
    pub run: Option<Span>,
    /// Number of pods, at least 1.
    pub pods: u32,
    /// How many of them must start at once; 1 unless a gang.
    pub pods_min: u32,
    /// What each pod asks for.
    pub ask: Ask,
    /// Part of its run in which the GPU really works, in thousandths.
    pub busy_permille: u16,
}

/// What each pod of a job asks for, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ask {
    /// CPU.
    pub cpu: MilliCpu,
    /// Host memory.
    pub memory: Bytes,
    /// GPU.
    pub gpu: GpuAsk,
    /// Names of models that will do; empty for any.
    pub models: Vec<String>,
}

/// GPU asked for, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuAsk {
    /// None.
    None,
    /// Whole GPUs.
    Whole(u8),
    /// A share of one GPU.
    Share {
        /// Compute.
        compute: GpuUnits,
        /// GPU memory.
        memory: Bytes,
    },
    /// A MIG profile.
    Mig(String),
    /// A vGPU profile.
    Vgpu(String),
    /// Whole GPUs handed through.
    Passthrough(u8),
}
