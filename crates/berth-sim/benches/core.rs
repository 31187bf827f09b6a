//! Speed of the engine in process: events, placements and decisions a second.
//!
//! With `BERTH_BENCH_JSON` set, each figure is measured once and written there as JSON: those of
//! policies with `BERTH_BENCH_FIGURES=policy`, the others without. Otherwise criterion measures them.
//! The clusters are synthetic, in the proportions of the public trace.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock and its environment"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::id::{PodId, QueueId, TaskTypeId, UserId};
use berth_core::model::draft::{Draft, NodeSpec};
use berth_core::model::gpu::{GpuMode, GpuSpec, ModelSet};
use berth_core::model::node::Shape;
use berth_core::model::pod::{PodSpec, Preempts, Tenure};
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::decisions::Decisions;
use berth_core::sched::fragmentation::{TargetTask, TargetWorkload};
use berth_core::sched::policy;
use berth_core::sched::profile::Profile;
use berth_core::sched::scheduler::{Cluster, Scheduler};
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};
use berth_sim::simulate::{Options, simulate};
use berth_sim::workload::{Ask, GpuAsk, Job, JobKind, NodeTemplate, Workload};
use criterion::Criterion;

/// Node shapes: cores, GiB, GPUs, and how many of a hundred nodes have it.
const SHAPES: [(i64, i64, usize, usize); 5] = [
    (96, 384, 8, 48),
    (104, 512, 2, 32),
    (16, 120, 2, 12),
    (128, 768, 8, 4),
    (32, 128, 4, 4),
];

/// Task types: mCPU, thousandths of one GPU, GPUs, and how many of a thousand tasks are such. The
/// head of the default list of the public trace.
const TASKS: [(i64, i64, u8, u64); 16] = [
    (3152, 810, 1, 180),
    (11_300, 1000, 1, 150),
    (11_400, 1000, 1, 100),
    (3152, 1000, 1, 80),
    (11_908, 470, 1, 66),
    (12_500, 0, 0, 62),
    (8000, 470, 1, 61),
    (12_000, 1000, 1, 56),
    (32_000, 0, 0, 50),
    (18_708, 1000, 1, 43),
    (11_908, 650, 1, 40),
    (9810, 320, 1, 34),
    (4000, 230, 1, 30),
    (6000, 140, 1, 22),
    (16_000, 1000, 2, 16),
    (64_000, 1000, 8, 10),
];

/// A cluster at steady load: each news is the end of the oldest pod and the arrival of a new one.
#[derive(Debug)]
struct Churn {
    user: UserId,
    queue: QueueId,
    tasks: Vec<(TaskTypeId, u64)>,
    stream: Stream,
    running: std::collections::VecDeque<PodId>,
    /// Pods to keep running; below it nothing ends.
    level: usize,
    waiting: Option<PodId>,
    clock: i64,
    binds: u64,
}

impl Cluster for Churn {
    fn observe(&mut self, index: &mut Draft, _until: Time) -> Option<Time> {
        if let Some(pod) = self.waiting.take() {
            index.remove_pod(pod, Time(self.clock)).expect("it waits");
        }
        if self.running.len() >= self.level {
            let oldest = self.running.pop_front().expect("the level is above zero");
            index.remove_pod(oldest, Time(self.clock)).expect("it runs");
        }
        self.clock += 1;
        let total = self.tasks.iter().map(|(_, weight)| weight).sum();
        let mut drawn = self.stream.below(total);
        let chosen = self.tasks.iter().find(|(_, weight)| {
            let found = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            found
        });
        let spec = PodSpec {
            name: format!("{:010}", self.clock).into(),
            user: self.user,
            queue: self.queue,
            task: chosen.expect("the draw is below the total").0,
            priority: 0,
            preempts: Preempts::Never,
            tenure: Tenure::Evictable,
            created: Time(self.clock),
            gang: None,
            vm: None,
            facts: None,
        };
        self.waiting = Some(index.add_pod(spec).expect("bounded"));
        Some(Time(self.clock))
    }

    fn pass(&mut self, _now: Time) {}

    fn act(&mut self, _index: &Snapshot, decisions: &Decisions, _now: Time) {
        for bind in &decisions.binds {
            self.waiting = None;
            self.binds += 1;
            self.running.push_back(bind.pod);
        }
    }
}

fn churn(policy_name: &str, nodes: usize, level: usize) -> Scheduler<Churn> {
    let mut index = Draft::new();
    let model = index
        .catalog_mut()
        .intern_model("G2")
        .expect("the first model");
    let mut at = 0;
    while at < nodes {
        for &(cores, gib, gpus, of_hundred) in &SHAPES {
            for _ in 0..of_hundred.min(nodes - at) {
                let memory = Bytes::from_gib(32);
                let gpu = GpuSpec {
                    model,
                    memory,
                    numa: None,
                    pcie_root: None,
                    nvlink: None,
                };
                let (cpu, memory) = (MilliCpu::from_cores(cores), Bytes::from_gib(gib));
                let spec = NodeSpec {
                    name: format!("node-{at:05}").into(),
                    shape: Shape::new(cpu, memory, 250, vec![gpu; gpus]),
                    gpu_modes: vec![GpuMode::TimeSlice; gpus],
                    gpu_uuids: Arc::new([]),
                };
                index.add_node(spec).expect("bounded");
                at += 1;
            }
        }
    }
    let mut tasks = Vec::new();
    let mut targets = Vec::new();
    for (cpu, milli, gpus, count) in TASKS {
        let gpu = match (gpus, milli) {
            (0, _) => GpuRequest::None,
            (count, 1000) => GpuRequest::Whole { count },
            _ => GpuRequest::Share {
                compute: GpuUnits::from_milli(milli),
                memory: Bytes::ZERO,
            },
        };
        let (cpu, memory, models) = (MilliCpu(cpu), Bytes::from_gib(16), ModelSet::ANY);
        let task = index.catalog_mut().intern_task(Request {
            cpu,
            memory,
            gpu,
            models,
        });
        tasks.push((task, count));
        let compute_each = GpuUnits::from_milli(milli);
        targets.push(TargetTask {
            cpu,
            compute_each,
            gpus,
            models,
            count,
        });
    }
    let churn = Churn {
        user: index.add_user("bench"),
        queue: index
            .add_queue(QueueSpec::new("bench", None))
            .expect("shallow"),
        tasks,
        stream: Stream::from_seed(1).child("arrivals"),
        running: std::collections::VecDeque::new(),
        level,
        waiting: None,
        clock: 0,
        binds: 0,
    };
    let workload = Arc::new(TargetWorkload::new(&targets, 1000));
    let policy = policy::named(policy_name).expect("it is in the catalogue");
    let profile = Profile::new(policy, workload);
    Scheduler::new(churn, index, &profile, Stream::from_seed(1))
}

/// Runs `steps` steps and returns how long each took.
fn steps(scheduler: &mut Scheduler<Churn>, steps: usize) -> Vec<Duration> {
    let run = |_| {
        let began = Instant::now();
        scheduler
            .step(Time::MAX)
            .expect("the books balance")
            .expect("there is always news");
        began.elapsed()
    };
    (0..steps).map(run).collect()
}

fn per_second(count: u64, took: &[Duration]) -> f64 {
    count as f64 / took.iter().sum::<Duration>().as_secs_f64()
}

/// Events (an arrival, an end) a second of the simulator under the trivial policy: one-GPU jobs on
/// 100 nodes of 8 GPUs, two thirds of which are busy.
fn events() -> f64 {
    const JOBS: i64 = 500_000;
    let node = |at| NodeTemplate {
        name: format!("node-{at:03}"),
        cpu: MilliCpu::from_cores(96),
        memory: Bytes::from_gib(768),
        pod_slots: 110,
        gpus: 8,
        gpu_model: "G2".to_owned(),
        gpu_memory: Bytes::from_gib(32),
        gpu_mode: GpuMode::Exclusive,
    };
    let job = |at: i64| Job {
        name: format!("job-{at:07}"),
        user: format!("user-{:02}", at % 50),
        queue: "bench".to_owned(),
        kind: JobKind::Batch,
        priority: 0,
        preempts: Preempts::Never,
        arrival: Time(at * 1000),
        run: Some(Span::from_secs(500 + at % 67)),
        pods: 1,
        pods_min: 1,
        ask: Ask {
            cpu: MilliCpu::from_cores(4),
            memory: Bytes::from_gib(16),
            gpu: GpuAsk::Whole(1),
            models: Vec::new(),
        },
        busy_permille: 1000,
    };
    let workload = Workload {
        name: "bench".to_owned(),
        nodes: (0..100).map(node).collect(),
        queues: Vec::new(),
        vgpu_profiles: Vec::new(),
        jobs: (0..JOBS).map(job).collect(),
    };
    let policy = policy::named("first-fit").expect("it is in the catalogue");
    let began = Instant::now();
    let report = simulate(&workload, policy, &Options::default(), &mut |_| {});
    let report = report.expect("the workload can be played");
    assert_eq!(report.completed, JOBS.unsigned_abs(), "every job ran");
    2.0 * JOBS as f64 / began.elapsed().as_secs_f64()
}

/// Placements a second of FGD on 10,000 nodes with departures.
fn placements() -> f64 {
    let mut scheduler = churn("fgd", 10_000, 60_000);
    steps(&mut scheduler, 90_000);
    let before = scheduler.cluster.binds;
    let took = steps(&mut scheduler, 100_000);
    per_second(scheduler.cluster.binds - before, &took)
}

/// Decisions a second on 5,000 nodes under FGD, and the 99th percentile in milliseconds.
fn decisions() -> (f64, f64) {
    let mut scheduler = churn("fgd", 5_000, 30_000);
    steps(&mut scheduler, 45_000);
    let mut took = steps(&mut scheduler, 50_000);
    let rate = per_second(took.len() as u64, &took);
    took.sort_unstable();
    (rate, took[took.len() * 99 / 100].as_secs_f64() * 1000.0)
}

/// Microseconds of a decision of `policy` on 10,000 nodes with departures.
fn decision_us(policy: &str) -> f64 {
    let mut scheduler = churn(policy, 10_000, 60_000);
    steps(&mut scheduler, 65_000);
    let took = steps(&mut scheduler, 20_000);
    1e6 / per_second(took.len() as u64, &took)
}

fn main() {
    if let Some(path) = std::env::var_os("BERTH_BENCH_JSON") {
        if std::env::var_os("BERTH_BENCH_FIGURES").is_some_and(|figures| figures == "policy") {
            let figures = serde_json::json!({
                "fgd_us": decision_us("fgd"),
                "berth_us": decision_us("berth"),
            });
            std::fs::write(path, figures.to_string()).expect("the named file can be written");
            return;
        }
        let (decisions_per_s, decision_p99_ms) = decisions();
        let figures = serde_json::json!({
            "events_per_s": events(),
            "fgd_placements_per_s": placements(),
            "decisions_per_s": decisions_per_s,
            "decision_p99_ms": decision_p99_ms,
        });
        std::fs::write(path, figures.to_string()).expect("the named file can be written");
        return;
    }
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    for (name, policy, nodes, level) in [
        ("loop/first-fit/100-nodes", "first-fit", 100, 400),
        ("loop/fgd/5000-nodes", "fgd", 5_000, 30_000),
        ("loop/fgd/10000-nodes", "fgd", 10_000, 60_000),
    ] {
        let mut scheduler = churn(policy, nodes, level);
        steps(&mut scheduler, level * 3 / 2);
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| scheduler.step(Time::MAX).expect("the books balance"));
        });
    }
    criterion.final_summary();
}
