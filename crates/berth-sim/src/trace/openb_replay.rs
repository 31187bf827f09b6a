//! The `openb` trace with its own clock: each pod arrives when it did and runs as long as it did.
//!
//! Invariant: what the trace doesn't say is made up from what it does say, the same each time, and
//! named in the manual. Not here: the published experiment, which drops the clock.

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::time::{Span, Time};

use crate::trace::openb::{NodeRow, PodRow, read_nodes, read_pods};
use crate::trace::table::ReadError;
use crate::trace::{File, FileRole, Format, Need, Origin, exactly};
use crate::workload::{Ask, GpuAsk, Job, JobKind, NodeTemplate, Workload};

/// Users among whom the pods are dealt out; the trace names none.
const USERS: usize = 100;

/// Part of its run in which a pod's GPU works, in thousandths; the trace doesn't say. Source: mean
/// GPU utilisation of running tasks in Alibaba's PAI clusters is about a half (Weng et al., "MLaaS
/// in the Wild", NSDI 2022).
const BUSY_PERMILLE: u16 = 500;

/// The format's entry in the catalogue.
pub static FORMAT: Format = Format {
    name: "openb",
    summary: "replay of Alibaba's GPU cluster trace of 2023 with its own arrival and run times",
    manual: "\
Replays the public lists `openb_node_list_*.csv` and `openb_pod_list_*.csv` of
`hkust-adsl/kubernetes-scheduler-simulator` (also in `alibaba/clusterdata`,
`cluster-trace-gpu-v2023`), which come from Weng et al., \"Beware of Fragmentation\", ATC 2023.

- A pod arrives at its `creation_time` and runs for `deletion_time - scheduled_time`.
- A pod that was never scheduled gets the median run time of the list: it asked for room, and a
  better scheduler may find it.
- GPUs are offered in time slices; their memory is unknown, so shares are of compute alone.
- The trace names no users and queues. Pods are dealt out to 100 users by their number; the queue is
  the quality-of-service class.
- How busy a GPU is isn't in the trace either: half of the time is assumed.
- Lists without times (`multigpu*`) can't be replayed; the published experiment and
  `openb-like` can use their mix of tasks.
",
    origin: Origin::Files {
        files: &[
            FileRole {
                name: "nodes",
                summary: "the node list",
                need: Need::Required,
            },
            FileRole {
                name: "pods",
                summary: "a pod list",
                need: Need::Required,
            },
        ],
        read,
    },
};

/// The workload of a node list and a pod list.
///
/// # Errors
/// The first thing that is wrong with either.
pub fn read(files: &[File<'_>]) -> Result<Workload, ReadError> {
    let [nodes, pods] = exactly::<2>(files)?;
    let node_rows = read_nodes(nodes.name, nodes.bytes)?;
    let pod_rows = read_pods(pods.name, pods.bytes)?;
    let median = median_run(&pod_rows);
    let mut jobs = Vec::with_capacity(pod_rows.len());
    for (number, row) in pod_rows.iter().enumerate() {
        let Some(created) = row.created else {
            return Err(pods.fault(
                "a creation time for each pod",
                &format!("none for `{}`", row.name),
                "replay a list with times, such as the default one",
            ));
        };
        let run = run_of(row).unwrap_or(median);
        jobs.push(job(row, number, Time::from_secs(created), run));
    }
    jobs.sort_by(|a, b| (a.arrival, &a.name).cmp(&(b.arrival, &b.name)));
    let stem = pods.name.rsplit('/').next().unwrap_or(pods.name);
    let stem = stem
        .trim_start_matches("openb_pod_list_")
        .split('.')
        .next()
        .unwrap_or(stem);
    Ok(Workload {
        name: format!("openb:{stem}"),
        nodes: node_rows.into_iter().map(node).collect(),
        queues: Vec::new(),
        vgpu_profiles: Vec::new(),
        jobs,
    })
}

/// What a pod of the trace asks for.
#[must_use]
pub(crate) fn ask(row: &PodRow) -> Ask {
    Ask {
        cpu: MilliCpu(row.cpu_milli),
        memory: Bytes::from_mib(row.memory_mib),
        gpu: match row.gpus {
            0 => GpuAsk::None,
            1 if row.gpu_milli < 1000 => GpuAsk::Share {
                compute: GpuUnits::from_milli(row.gpu_milli),
                memory: Bytes::ZERO,
            },
            gpus => GpuAsk::Whole(gpus),
        },
        models: row
            .gpu_spec
            .split('|')
            .filter(|spec| !spec.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

fn run_of(row: &PodRow) -> Option<Span> {
    let (scheduled, deleted) = (row.scheduled?, row.deleted?);
    (deleted >= scheduled).then(|| Span::from_secs(deleted.saturating_sub(scheduled)))
}

fn median_run(rows: &[PodRow]) -> Span {
    let mut runs: Vec<Span> = rows.iter().filter_map(run_of).collect();
    runs.sort_unstable();
    runs.get(runs.len() / 2).copied().unwrap_or(Span::ZERO)
}

fn job(row: &PodRow, number: usize, arrival: Time, run: Span) -> Job {
    Job {
        name: row.name.clone(),
        user: format!("user-{:02}", number % USERS),
        queue: if row.qos.is_empty() {
            "none".to_owned()
        } else {
            row.qos.to_lowercase()
        },
        kind: JobKind::Batch,
        priority: 0,
        preempts: Preempts::Never,
        arrival,
        run: Some(run),
        pods: 1,
        pods_min: 1,
        ask: ask(row),
        busy_permille: BUSY_PERMILLE,
    }
}

fn node(row: NodeRow) -> NodeTemplate {
    NodeTemplate {
        name: row.name,
        cpu: MilliCpu(row.cpu_milli),
        memory: Bytes::from_mib(row.memory_mib),
        // As in the published experiment: never binding.
        pod_slots: 1001,
        gpus: row.gpus,
        gpu_model: row.model,
        gpu_memory: Bytes::ZERO,
        gpu_mode: GpuMode::TimeSlice,
    }
}
