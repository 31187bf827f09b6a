//! Random worlds: small, crowded, and with every kind of request and trouble.

use std::collections::BTreeMap;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use crate::fuzz::MakeTrouble;
use crate::workload::{
    Ask, GpuAsk, Job, JobKind, NodeTemplate, QueueTemplate, VgpuTemplate, Workload,
};
use crate::world::Trouble;

const MODELS: [(&str, i64); 3] = [("A100", 80), ("A40", 48), ("T4", 0)];

/// Times are multiples of this, so that many events share an instant.
const GRAIN: Span = Span::from_secs(30);

/// The world of a seed.
pub(super) fn workload(root: &Stream) -> Workload {
    let mut stream = root.child("world");
    let n_nodes = 1 + stream.below(7);
    let nodes: Vec<NodeTemplate> = (0..n_nodes).map(|at| node(at, &mut stream)).collect();
    let queues = queues(&mut stream);
    let n_jobs = 4 + stream.below(50);
    let mut jobs: Vec<Job> = (0..n_jobs)
        .map(|at| job(at, &nodes, &queues, &mut stream))
        .collect();
    jobs.sort_by(|a, b| (a.arrival, &a.name).cmp(&(b.arrival, &b.name)));
    let vgpu = |name: &str, gib, per_gpu_max| VgpuTemplate {
        name: name.to_owned(),
        gpu_model: "A40".to_owned(),
        memory: Bytes::from_gib(gib),
        per_gpu_max,
    };
    let vgpu_profiles = vec![vgpu("A40-8Q", 8, 6), vgpu("A40-24Q", 24, 2)];
    Workload {
        name: "fuzz".to_owned(),
        nodes,
        queues,
        vgpu_profiles,
        jobs,
    }
}

/// The same world listed in another order.
pub(super) fn shuffled(workload: &Workload, root: &Stream) -> Workload {
    let mut stream = root.child("order");
    let mut other = workload.clone();
    shuffle(&mut other.nodes, &mut stream);
    shuffle(&mut other.queues, &mut stream);
    // Parents stay before their children.
    let parents: BTreeMap<String, Option<String>> = workload
        .queues
        .iter()
        .map(|queue| (queue.name.clone(), queue.parent.clone()))
        .collect();
    let above = |name: &String| parents[name].as_ref();
    other.queues.sort_by_key(|queue| {
        std::iter::successors(queue.parent.as_ref(), |&name| above(name)).count()
    });
    shuffle(&mut other.jobs, &mut stream);
    other.jobs.sort_by_key(|job| job.arrival);
    other
}

/// When what befalls which node. All of it passes: every node comes back, every GPU is repaired.
pub(super) fn troubles(workload: &Workload, root: &Stream) -> Vec<(Time, String, MakeTrouble)> {
    let mut all: Vec<(Time, String, MakeTrouble)> = Vec::new();
    for node in &workload.nodes {
        // From a stream of the node's own: the order of nodes changes nothing.
        let mut stream = root.child("troubles").child(&node.name);
        for _ in 0..stream.below(4) {
            let from = moment(120, &mut stream);
            let to = from + GRAIN + Span(moment(60, &mut stream).0);
            let gpu = u8::try_from(stream.below(u64::from(node.gpus.max(1)))).expect("at most 32");
            let (begin, end): (MakeTrouble, MakeTrouble) = match stream.below(4) {
                0 => (Box::new(Trouble::LoseNode), Box::new(Trouble::ReturnNode)),
                1 => (Box::new(Trouble::DrainNode), Box::new(Trouble::ReturnNode)),
                2 => (Box::new(Trouble::CordonNode), Box::new(Trouble::ReturnNode)),
                _ if node.gpus == 0 => continue,
                _ => (
                    Box::new(move |node| Trouble::FailGpu(node, gpu)),
                    Box::new(move |node| Trouble::RepairGpu(node, gpu)),
                ),
            };
            all.push((from, node.name.clone(), begin));
            all.push((to, node.name.clone(), end));
        }
    }
    // Two troubles of one instant meet in the order of their nodes' names.
    all.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    all
}

fn moment(most: u64, stream: &mut Stream) -> Time {
    let steps = i64::try_from(stream.below(most)).expect("small");
    Time(GRAIN.0 * steps)
}

fn node(at: u64, stream: &mut Stream) -> NodeTemplate {
    let (model, gib) = MODELS[pick(MODELS.len(), stream)];
    let modes: &[GpuMode] = match model {
        "A100" => &[
            GpuMode::Exclusive,
            GpuMode::TimeSlice,
            GpuMode::Mps,
            GpuMode::Mig,
        ],
        "A40" => &[GpuMode::TimeSlice, GpuMode::Vgpu, GpuMode::Passthrough],
        _ => &[GpuMode::TimeSlice, GpuMode::Exclusive],
    };
    let gpus = [0, 1, 2, 2, 4, 8][pick(6, stream)];
    NodeTemplate {
        // Names in no order of listing.
        name: format!("n{}-{at}", stream.below(100)),
        cpu: MilliCpu::from_cores(4 + number(60, stream)),
        memory: Bytes::from_gib(8 + number(500, stream)),
        pod_slots: [2, 8, 110][pick(3, stream)],
        gpus,
        gpu_model: if gpus == 0 {
            String::new()
        } else {
            model.to_owned()
        },
        gpu_memory: Bytes::from_gib(if gpus == 0 { 0 } else { gib }),
        gpu_mode: modes[pick(modes.len(), stream)],
    }
}

fn queues(stream: &mut Stream) -> Vec<QueueTemplate> {
    // Half of the worlds have a quota tree, the others limits at most.
    let with_quota = stream.below(2) == 0;
    let mut amount = |most: u64, often: bool| {
        let tenths = i64::try_from(stream.below(most * 10)).expect("small");
        (often && stream.below(2) == 0).then(|| GpuUnits(tenths * 1_000))
    };
    let mut queue = |name: &str, parent: Option<&str>, most| QueueTemplate {
        weight: 1 + u32::try_from(name.len() % 3).expect("small"),
        nominal: amount(most / 2, with_quota),
        borrow: amount(most / 2, with_quota && parent.is_some()),
        lend: amount(most / 2, with_quota),
        limit: amount(most, true),
        ..QueueTemplate::new(name, parent.map(str::to_owned))
    };
    vec![
        queue("root", None, 60),
        queue("a", Some("root"), 20),
        queue("b", Some("root"), 20),
        queue("a/inner", Some("a"), 20),
        queue("c", Some("root"), 60),
    ]
}

fn job(at: u64, nodes: &[NodeTemplate], queues: &[QueueTemplate], stream: &mut Stream) -> Job {
    let gang = stream.below(4) == 0;
    let pods = if stream.below(3) == 0 || gang {
        1 + number(6, stream)
    } else {
        1
    };
    let pods = u32::try_from(pods).expect("small");
    let pods_min = if gang {
        1 + pick(pods as usize, stream) as u32
    } else {
        1
    };
    let kind = match (pods_min > 1, stream.below(3)) {
        (true, _) => JobKind::Gang,
        (false, 0) => JobKind::Interactive,
        (false, 1) if pods == 1 => JobKind::Vm,
        _ => JobKind::Batch,
    };
    Job {
        name: format!("j{}-{at}", stream.below(100)),
        user: format!("u{}", stream.below(5)),
        queue: queues[pick(queues.len(), stream)].name.clone(),
        kind,
        priority: [0, 0, 0, 1, -1][pick(5, stream)],
        preempts: [Preempts::Never, Preempts::LowerPriority][pick(2, stream)],
        arrival: moment(120, stream),
        run: Some(Span(moment(40, stream).0)),
        pods,
        pods_min,
        ask: ask(nodes, stream),
        busy_permille: 500,
    }
}

fn ask(nodes: &[NodeTemplate], stream: &mut Stream) -> Ask {
    let has = |mode| {
        nodes
            .iter()
            .any(|node| node.gpus > 0 && node.gpu_mode == mode)
    };
    let has_model = |name: &str| {
        nodes
            .iter()
            .any(|node| node.gpus > 0 && node.gpu_model == name)
    };
    let share = |compute, gib| GpuAsk::Share {
        compute: GpuUnits(compute),
        memory: Bytes::from_gib(gib),
    };
    let gpu = match stream.below(10) {
        0 => GpuAsk::None,
        1 => GpuAsk::Whole(1),
        2 => GpuAsk::Whole([1, 2, 4, 8][pick(4, stream)]),
        3 => share(5_000, 0),
        4 => share([100, 3_300, 6_600, 10_000][pick(4, stream)], 0),
        5 => share(2_500, 1 + number(40, stream)),
        6 => share(0, 1 + number(60, stream)),
        7 if has_model("A100") => {
            GpuAsk::Mig(["1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"][pick(4, stream)].to_owned())
        }
        8 => GpuAsk::Vgpu(["A40-8Q", "A40-24Q"][pick(2, stream)].to_owned()),
        9 if has(GpuMode::Passthrough) => GpuAsk::Passthrough(1),
        _ => GpuAsk::Whole(1),
    };
    let models: &[&str] = match stream.below(5) {
        0 if !matches!(gpu, GpuAsk::Mig(_) | GpuAsk::Vgpu(_)) => &["A100", "T4"],
        _ => &[],
    };
    Ask {
        cpu: MilliCpu(number(8_000, stream)),
        memory: Bytes::from_gib(number(32, stream)),
        gpu,
        models: models.iter().map(|&model| model.to_owned()).collect(),
    }
}

fn number(below: u64, stream: &mut Stream) -> i64 {
    i64::try_from(stream.below(below)).expect("small")
}

fn pick(n: usize, stream: &mut Stream) -> usize {
    usize::try_from(stream.below(n as u64)).expect("below a length")
}

/// Fisher and Yates.
fn shuffle<T>(things: &mut [T], stream: &mut Stream) {
    for last in (1..things.len()).rev() {
        things.swap(last, pick(last + 1, stream));
    }
}
