//! Fragmentation of free GPU with respect to a target workload.
//!
//! Source: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
//! Fragmentation Gradient Descent", USENIX ATC 2023, section 3: the fragmentation of a node is the
//! GPU that a task drawn from the target workload can't use, in expectation.
//! Invariant: the published FGD policy truncates a function of differences of this sum, so the
//! order of the floating-point additions is part of the definition: seven class sums in order of
//! the target tasks, then six of them in a fixed order. Don't reorder.

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

/// The mix of tasks that the cluster should keep room for.
#[derive(Debug, Clone, Default)]
pub struct TargetWorkload {
    tasks: Vec<Prepared>,
    sizes: Vec<i64>,
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

/// Free compute on each GPU of a node, in index order: the part of a node's state that
/// fragmentation depends on beside CPU and models.
#[derive(Debug, Clone, Copy)]
pub struct Residuals {
    free: [i64; limits::GPUS_PER_NODE_MAX],
    len: usize,
}

impl Residuals {
    /// What is open on the GPUs of a node.
    #[must_use]
    pub fn of(state: &NodeState) -> Self {
        let mut free = [0; limits::GPUS_PER_NODE_MAX];
        for (slot, gpu) in free.iter_mut().zip(&state.gpus) {
            *slot = gpu.open_compute().0;
        }
        Self { free, len: state.gpus.len() }
    }

    /// The same with `compute` less on GPU `index`.
    #[must_use]
    pub fn less(mut self, index: usize, compute: GpuUnits) -> Self {
        self.free[index] -= compute.0;
        self
    }

    /// Free units on each GPU.
    #[must_use]
    pub fn as_slice(&self) -> &[i64] {
        &self.free[..self.len]
    }
}

impl TargetWorkload {
    /// The workload of `tasks`, in this order; popularity is each one's part of `total` over the
    /// part of `total` that all of them make up.
    #[must_use]
    pub fn new(tasks: &[TargetTask], total: u64) -> Self {
        let covered = tasks.iter().map(|task| task.count).sum::<u64>() as f64 / total.max(1) as f64;
        let mut sizes: Vec<i64> = Vec::new();
        let tasks = tasks.iter().map(|task| {
            let size = (!task.compute_each.is_zero()).then(|| {
                let known = sizes.iter().position(|&size| size == task.compute_each.0);
                known.unwrap_or_else(|| {
                    sizes.push(task.compute_each.0);
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

    /// Expected GPU, in thousandths, that a task of the workload can't use on a node with `cpu`
    /// free and `residuals` free on its GPUs.
    #[must_use]
    pub fn fragmentation(&self, shape: &Shape, cpu: MilliCpu, residuals: &Residuals) -> f64 {
        let free = residuals.as_slice();
        let models = shape.models();
        let uniform = shape.gpus.windows(2).all(|pair| pair[0].model == pair[1].model);
        let total = milli(free.iter().sum());
        let mut by_size = [(0u32, 0i64); SIZES_AT_ONCE];
        for (slot, &size) in by_size.iter_mut().zip(&self.sizes) {
            *slot = usable(free, size);
        }
        let (mut lack_both, mut lack_gpu, mut lack_cpu) = (0.0, 0.0, 0.0);
        let (mut no_gpu_fits, mut no_gpu_lacks_cpu, mut no_access) = (0.0, 0.0, 0.0);
        for task in &self.tasks {
            let cpu_suffices = task.cpu <= cpu.0;
            let Some(size) = task.size else {
                *(if cpu_suffices { &mut no_gpu_fits } else { &mut no_gpu_lacks_cpu }) +=
                    task.popularity * total;
                continue;
            };
            if !task.models.intersects(models) {
                no_access += task.popularity * total;
                continue;
            }
            let (n, fragment) = match by_size.get(size) {
                Some(&known) if uniform => known,
                _ => usable_of(free, self.sizes[size], task.models, shape),
            };
            match (cpu_suffices, n >= task.gpus) {
                (true, true) => lack_gpu += task.popularity * milli(fragment),
                (true, false) => lack_gpu += task.popularity * total,
                (false, true) => lack_cpu += task.popularity * total,
                (false, false) => lack_both += task.popularity * total,
            }
        }
        lack_both + lack_gpu + lack_cpu + no_gpu_fits + no_gpu_lacks_cpu + no_access
    }

    /// [`Self::fragmentation`] of a node as it stands.
    #[must_use]
    pub fn node_fragmentation(&self, shape: &Shape, state: &NodeState) -> f64 {
        self.fragmentation(shape, state.free_cpu, &Residuals::of(state))
    }
}

/// How many GPUs have at least `size` free, and what is free on the others.
fn usable(free: &[i64], size: i64) -> (u32, i64) {
    free.iter().fold((0, 0), |(n, fragment), &r| {
        if r >= size { (n + 1, fragment) } else { (n, fragment + r) }
    })
}

/// [`usable`] on a node with several models: GPUs of other models are of no use either.
fn usable_of(free: &[i64], size: i64, models: ModelSet, shape: &Shape) -> (u32, i64) {
    free.iter().zip(&shape.gpus).fold((0, 0), |(n, fragment), (&r, gpu)| {
        if r >= size && models.contains(gpu.model) { (n + 1, fragment) } else { (n, fragment + r) }
    })
}

fn milli(units: i64) -> f64 {
    GpuUnits(units).milli_f64()
}
