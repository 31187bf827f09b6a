//! Fragmentation of free GPU with respect to a target workload.
//!
//! Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
//! Fragmentation Gradient Descent", USENIX ATC 2023, section 3: the fragmentation of a node is the
//! GPU that a task drawn from the target workload can't use, in expectation.
//! Invariant: the published FGD policy truncates a function of differences of this sum, so the
//! order of the floating-point additions is part of the definition: seven class sums in order of
//! the target tasks, then six of them in a fixed order. Don't reorder.

use serde::{Deserialize, Serialize};

use crate::amount::{GpuUnits, MilliCpu};
use crate::limits;
use crate::model::gpu::ModelSet;
use crate::model::node::{NodeState, Shape};

/// Distinct request sizes whose usable GPUs are counted once a node instead of once a task. The
/// public traces have 14.
const SIZES_AT_ONCE: usize = 32;

/// One task type of the target workload.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetTask {
    /// CPU of one task.
    pub cpu: MilliCpu,
    /// Compute on each GPU; zero for a task without GPU.
    pub compute_each: GpuUnits,
    /// Number of GPUs; more than one means whole GPUs.
    pub gpus: u8,
    /// Models that will do.
    pub models: ModelSet,
    /// How often it was seen, relative to the others.
    pub count: u64,
}

/// What a workload tells tasks apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskKind {
    /// CPU of one task.
    pub cpu: MilliCpu,
    /// Compute on each GPU; zero for a task without GPU.
    pub compute_each: GpuUnits,
    /// Number of GPUs; more than one means whole GPUs.
    pub gpus: u8,
    /// Models that will do.
    pub models: ModelSet,
}

/// The mix of tasks that the cluster should keep room for.
#[derive(Debug, Clone, Default)]
pub struct TargetWorkload {
    tasks: Vec<Prepared>,
    sizes: Vec<i32>,
}

#[derive(Debug, Clone)]
struct Prepared {
    cpu: i64,
    gpus: u32,
    models: ModelSet,
    popularity: f64,
    /// Position of `compute_each` in `sizes`; `None` for a task without GPU.
    size: Option<usize>,
}

/// GPUs counted at one stroke; residuals are padded to a multiple of it.
const LANES: usize = 8;

/// Free compute on each GPU of a node, in index order: the part of a node's state that
/// fragmentation depends on beside CPU and models.
#[derive(Debug, Clone, Copy)]
pub struct Residuals {
    /// Units free on each GPU, zero beyond the last one.
    free: [i32; limits::GPUS_PER_NODE_MAX],
    len: usize,
}

impl Residuals {
    /// What is open on the GPUs of a node.
    #[must_use]
    pub fn of(state: &NodeState) -> Self {
        let mut free = [0; limits::GPUS_PER_NODE_MAX];
        for (slot, gpu) in free.iter_mut().zip(&state.gpus) {
            *slot = units(gpu.open_compute());
        }
        Self {
            free,
            len: state.gpus.len(),
        }
    }

    /// The same with `compute` less on GPU `index`.
    #[must_use]
    pub fn less(mut self, index: usize, compute: GpuUnits) -> Self {
        self.free[index] -= units(compute);
        self
    }

    /// Free units on each GPU.
    #[must_use]
    pub fn as_slice(&self) -> &[i32] {
        &self.free[..self.len]
    }

    /// How many GPUs have at least `size` free, and what is free on the others.
    fn usable(&self, size: i32) -> (u32, i32) {
        let (mut n, mut fragment) = (0, 0);
        for lanes in self.free.chunks_exact(LANES).take(self.len.div_ceil(LANES)) {
            for &free in lanes {
                n += u32::from(free >= size);
                fragment += if free >= size { 0 } else { free };
            }
        }
        (n, fragment)
    }

    /// [`Self::usable`] on a node with several models: GPUs of other models are of no use either.
    fn usable_of(&self, size: i32, models: ModelSet, shape: &Shape) -> (u32, i32) {
        self.as_slice()
            .iter()
            .zip(shape.gpus())
            .fold((0, 0), |(n, fragment), (&free, gpu)| {
                if free >= size && models.contains(gpu.model) {
                    (n + 1, fragment)
                } else {
                    (n, fragment + free)
                }
            })
    }
}

impl TargetWorkload {
    /// The workload of `tasks`, in this order; popularity is each one's part of `total` over the
    /// part of `total` that all of them make up.
    #[must_use]
    pub fn new(tasks: &[TargetTask], total: u64) -> Self {
        let covered = tasks.iter().map(|task| task.count).sum::<u64>() as f64 / total.max(1) as f64;
        let mut sizes: Vec<i32> = Vec::new();
        let tasks = tasks.iter().map(|task| {
            let size = (!task.compute_each.is_zero()).then(|| {
                let wanted = units(task.compute_each);
                let known = sizes.iter().position(|&size| size == wanted);
                known.unwrap_or_else(|| {
                    sizes.push(wanted);
                    sizes.len() - 1
                })
            });
            Prepared {
                cpu: task.cpu.0,
                gpus: u32::from(task.gpus),
                models: task.models,
                popularity: (task.count as f64 / total.max(1) as f64) / covered,
                size,
            }
        });
        let tasks = tasks.collect();
        Self { tasks, sizes }
    }

    /// Whether no task is in the workload; then nothing counts as fragmented.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The tasks of the workload in its order, each with its part of the whole, which add up to one.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskKind, f64)> + '_ {
        self.tasks.iter().map(|task| {
            let compute_each = task
                .size
                .map_or(GpuUnits::ZERO, |at| GpuUnits(i64::from(self.sizes[at])));
            let kind = TaskKind {
                cpu: MilliCpu(task.cpu),
                compute_each,
                gpus: u8::try_from(task.gpus).expect("made from a u8"),
                models: task.models,
            };
            (kind, task.popularity)
        })
    }

    /// Expected GPU, in thousandths, that a task of the workload can't use on a node with `cpu`
    /// free and `residuals` free on its GPUs.
    #[must_use]
    pub fn fragmentation(&self, shape: &Shape, cpu: MilliCpu, residuals: &Residuals) -> f64 {
        let models = shape.models();
        let uniform = models.len() <= 1;
        let total = milli(residuals.as_slice().iter().sum());
        let mut by_size = [(0u32, 0i32); SIZES_AT_ONCE];
        for (slot, &size) in by_size.iter_mut().zip(&self.sizes) {
            *slot = residuals.usable(size);
        }
        let mut sums = [0.0; Class::COUNT];
        for task in &self.tasks {
            let cpu_suffices = task.cpu <= cpu.0;
            let (class, unusable) = match task.size {
                None if cpu_suffices => (Class::NoGpuFits, total),
                None => (Class::NoGpuLacksCpu, total),
                Some(_) if !task.models.intersects(models) => (Class::NoAccess, total),
                Some(size) => {
                    let (n, fragment) = match by_size.get(size) {
                        Some(&known) if uniform => known,
                        _ => residuals.usable_of(self.sizes[size], task.models, shape),
                    };
                    match (cpu_suffices, n >= task.gpus) {
                        (true, true) => (Class::LacksGpu, milli(fragment)),
                        (true, false) => (Class::LacksGpu, total),
                        (false, true) => (Class::LacksCpu, total),
                        (false, false) => (Class::LacksBoth, total),
                    }
                }
            };
            sums[class as usize] += task.popularity * unusable;
        }
        sums.into_iter().sum()
    }

    /// [`Self::fragmentation`] of a node as it stands.
    #[must_use]
    pub fn node_fragmentation(&self, shape: &Shape, state: &NodeState) -> f64 {
        self.fragmentation(shape, state.free_cpu, &Residuals::of(state))
    }
}

/// Why a part of the free GPU can't be used, in the published order of summation. What is left of
/// a GPU that a task can't use although others of the node serve it counts as lacking GPU.
#[derive(Clone, Copy)]
enum Class {
    LacksBoth,
    LacksGpu,
    LacksCpu,
    NoGpuFits,
    NoGpuLacksCpu,
    NoAccess,
}

impl Class {
    const COUNT: usize = 6;
}

fn units(compute: GpuUnits) -> i32 {
    i32::try_from(compute.0).expect("at most one GPU on each card")
}

fn milli(units: i32) -> f64 {
    f64::from(units) / 10.0
}
