//! A workload made up in the likeness of the public trace: its nodes, its mix of tasks, its run
//! times, at any load and length, without its files.
//!
//! Invariant: what a seed makes never changes with the length: a longer trace begins with the
//! shorter one. Not here: the trace's own order of arrival (that is the replay).

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use crate::trace::{Format, Origin};
use crate::workload::{Ask, GpuAsk, Job, JobKind, NodeTemplate, Workload};

mod tables;

/// The format's entry in the catalogue.
pub static FORMAT: Format = Format {
    name: "openb-like",
    summary: "made up in the likeness of Alibaba's GPU cluster trace of 2023; needs no files",
    manual: "\
The 1,213 nodes and the 91 task types of the public default list (Weng et al., \"Beware of
Fragmentation\", ATC 2023), drawn from a seed: task types by their frequency, run times from the
quantiles of their kind (no GPU, a share, one GPU, several), arrivals at a constant rate at random
moments. The rate is chosen so that the GPU time asked for is 95 % of what the cluster has, over 24
hours. Run times are cut at 12 hours, since the longest (services of months) would make up most of the
GPU time and not end with the trace. `--days` makes it longer or shorter.
",
    origin: Origin::Seed(|seed, length| {
        let usual = Parameters::default();
        let length = length.unwrap_or(usual.length);
        workload(&Parameters { length, ..usual }, seed)
    }),
};

/// The longest run, in seconds: 12 hours, an assumption. 2 % of the public list's runs are longer.
const RUN_MAX_S: f64 = 43_200.0;

/// What may be set about the workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// For how long jobs arrive. Default: 24 hours, an assumption.
    pub length: Span,
    /// GPU time asked for, in thousandths of what the cluster has. Default: 950; the list's own
    /// demand is 980 of its cluster (all pods at once).
    pub load_permille: u32,
    /// Nodes, in thousandths of the public 1,213. Default: 1000.
    pub nodes_permille: u32,
    /// Users among whom the jobs are dealt out. Default: 100, an assumption; the trace has none.
    pub users: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            length: Span::from_hours(24),
            load_permille: 950,
            nodes_permille: 1000,
            users: 100,
        }
    }
}

/// The workload of `parameters` and `seed`.
#[must_use]
pub fn workload(parameters: &Parameters, seed: u64) -> Workload {
    let nodes = nodes(parameters.nodes_permille);
    let gpus: f64 = nodes.iter().map(|node| f64::from(node.gpus)).sum();
    let mut stream = Stream::from_seed(seed).child("openb-like");
    let total: u64 = tables::TASKS.iter().map(|task| u64::from(task.0)).sum();
    // Seconds between arrivals: GPU-seconds of a mean pod over GPUs to be kept busy.
    let keep_busy = gpus * f64::from(parameters.load_permille.max(1)) / 1000.0;
    let gap_ms = 1000.0 * mean_gpu_seconds() / keep_busy.max(1e-3);
    let (mut jobs, mut at) = (Vec::new(), 0.0);
    loop {
        at += stream.exponential(gap_ms);
        if at >= parameters.length.0 as f64 {
            break;
        }
        let job = job(
            jobs.len(),
            Time(at as i64),
            total,
            parameters.users,
            &mut stream,
        );
        jobs.push(job);
    }
    Workload {
        name: "openb-like".to_owned(),
        nodes,
        queues: Vec::new(),
        vgpu_profiles: Vec::new(),
        jobs,
    }
}

fn nodes(permille: u32) -> Vec<NodeTemplate> {
    let mut nodes = Vec::new();
    for &(model, gpus, cpu, mib, count) in &tables::NODES {
        // Rounded up, so that a small cluster still has each shape.
        for _ in 0..(count * permille).div_ceil(1000) {
            nodes.push(NodeTemplate {
                name: format!("node-{:04}", nodes.len()),
                cpu: MilliCpu(cpu),
                memory: Bytes::from_mib(mib),
                pod_slots: 1001,
                gpus,
                gpu_model: model.to_owned(),
                gpu_memory: Bytes::ZERO,
                gpu_mode: GpuMode::TimeSlice,
            });
        }
    }
    nodes
}

fn job(number: usize, arrival: Time, total: u64, users: u32, stream: &mut Stream) -> Job {
    let mut drawn = stream.below(total);
    let task = tables::TASKS.iter().find(|task| {
        let here = drawn < u64::from(task.0);
        drawn = drawn.saturating_sub(u64::from(task.0));
        here
    });
    let &(_, cpu, gpus, milli, mib) = task.expect("the draw is below the sum of all counts");
    let seconds = quantile(run_times(gpus, milli), stream.unit());
    Job {
        name: format!("job-{number:07}"),
        user: format!("user-{:03}", stream.below(u64::from(users.max(1)))),
        queue: "all".to_owned(),
        kind: JobKind::Batch,
        priority: 0,
        preempts: Preempts::Never,
        arrival,
        run: Some(Span((seconds * 1000.0) as i64)),
        pods: 1,
        pods_min: 1,
        ask: Ask {
            cpu: MilliCpu(cpu),
            memory: Bytes::from_mib(mib),
            gpu: match gpus {
                0 => GpuAsk::None,
                1 if milli < 1000 => GpuAsk::Share {
                    compute: GpuUnits::from_milli(milli),
                    memory: Bytes::ZERO,
                },
                gpus => GpuAsk::Whole(gpus),
            },
            models: Vec::new(),
        },
        busy_permille: 500,
    }
}

fn run_times(gpus: u8, milli: i64) -> &'static [i64; 24] {
    match gpus {
        0 => &tables::RUN_CPU_ONLY,
        1 if milli < 1000 => &tables::RUN_SHARE,
        1 => &tables::RUN_ONE_GPU,
        _ => &tables::RUN_SEVERAL,
    }
}

/// The run time at `part` of the distribution, in seconds: between two points of the table its
/// logarithm grows evenly, up to [`RUN_MAX_S`]; beyond the last one it stays there.
fn quantile(seconds: &[i64; 24], part: f64) -> f64 {
    let percent = part * 100.0;
    let above = tables::PERCENT
        .iter()
        .position(|&point| f64::from(point) > percent);
    let Some(above) = above else {
        return RUN_MAX_S.min(seconds[23] as f64);
    };
    let (low, high) = (
        f64::from(tables::PERCENT[above - 1]),
        f64::from(tables::PERCENT[above]),
    );
    let (from, to) = (
        libm::log(seconds[above - 1] as f64),
        libm::log(seconds[above] as f64),
    );
    libm::exp(from + (to - from) * (percent - low) / (high - low)).min(RUN_MAX_S)
}

/// GPU-seconds of a mean pod.
fn mean_gpu_seconds() -> f64 {
    const STEPS: u32 = 2_000;
    let (mut sum, mut pods) = (0.0, 0.0);
    for &(count, _, gpus, milli, _) in &tables::TASKS {
        let table = run_times(gpus, milli);
        let at = |step: u32| quantile(table, (f64::from(step) + 0.5) / f64::from(STEPS));
        let mean = (0..STEPS).map(at).sum::<f64>() / f64::from(STEPS);
        sum += f64::from(count) * mean * f64::from(gpus) * milli as f64 / 1000.0;
        pods += f64::from(count);
    }
    sum / pods
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_those_of_the_public_lists() {
        let nodes: u32 = tables::NODES.iter().map(|shape| shape.4).sum();
        let gpus: u32 = tables::NODES
            .iter()
            .map(|shape| u32::from(shape.1) * shape.4)
            .sum();
        assert_eq!((nodes, gpus), (1_213, 6_212));
        let pods: u32 = tables::TASKS.iter().map(|task| task.0).sum();
        assert_eq!((pods, tables::TASKS.len()), (8_152, 91));
    }

    #[test]
    fn a_longer_trace_begins_with_the_shorter_one() {
        let of_hours = |hours| {
            let length = Span::from_hours(hours);
            workload(
                &Parameters {
                    length,
                    nodes_permille: 50,
                    ..Parameters::default()
                },
                7,
            )
            .jobs
        };
        let (short, long) = (of_hours(1), of_hours(3));
        assert!(!short.is_empty() && short.len() < long.len());
        assert_eq!(short[..], long[..short.len()]);
    }
}
