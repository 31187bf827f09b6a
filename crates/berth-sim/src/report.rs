//! What a simulated run came to: plain figures, serialisable, without layout.
//!
//! Invariant: a report is a function of workload, policy, options and seed; nothing in it depends
//! on the machine or the moment. Wall time and throughput belong to whoever holds the clock. Not
//! here: rendering.

use std::collections::BTreeMap;

use berth_core::sched::explain::Explanation;
use berth_core::sched::next::Change;
use serde::Serialize;

pub(crate) mod build;
pub(crate) mod fairness;
pub(crate) mod histogram;
pub(crate) mod sampler;
pub(crate) mod shares;

/// How a run went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The workload's name (`openb:default`, `site:site-1000`).
    pub trace: String,
    /// The policy's name.
    pub policy: String,
    /// The name of the rule by which turns are given.
    pub order: String,
    /// Seed of the run.
    pub seed: u64,
    /// The fault plan's name.
    pub faults: String,
    /// Nodes of the cluster.
    pub nodes: u32,
    /// GPUs of the cluster.
    pub gpus: u32,
    /// Virtual time from the first event to the last, in hours.
    pub simulated_hours: f64,
    /// Users who submitted anything.
    pub users_seen: u32,
    /// Pods submitted.
    pub submitted: u64,
    /// Starts of pods; one that was evicted and started again counts twice.
    pub placed: u64,
    /// Pods that ran to their end.
    pub completed: u64,
    /// Pods of an elastic gang that still waited when the rest of it had finished.
    pub withdrawn: u64,
    /// Pods that ran when the run stopped.
    pub running_at_end: u64,
    /// Pods that waited when the run stopped.
    pub pending_at_end: u64,
    /// Entries of the event log: submissions, starts, ends, evictions, faults and repairs.
    pub events: u64,
    /// Scheduling cycles.
    pub cycles: u64,
    /// Hash of the event log: 16 hexadecimal digits. Equal inputs give equal hashes.
    pub log_hash: String,
    /// How often the books were recounted in full; each cycle also recounts the nodes it touched.
    pub invariant_checks: u64,
    /// Violations found. A run stops at the first one, so a report of a whole run says zero.
    pub invariant_violations: u64,
    /// Lost places by cause: `node-lost`, `gpu-failed`, `gang-stranded`, `preempted`, `reclaimed`.
    pub evictions: BTreeMap<String, u64>,
    /// Lost places whose pod had to make room for another.
    pub evictions_for_others: u64,
    /// Pods or gangs that started in that room.
    pub evictions_starts: u64,
    /// GPU-hours of runs that had to begin anew after they lost their places, for whatever cause.
    pub lost_gpu_h: f64,
    /// Lost places whose pod has started again since.
    pub evictions_restarted: u64,
    /// Time-weighted mean of GPUs held by pods, in percent of all GPUs, lost nodes included.
    pub allocation_mean: f64,
    /// Time-weighted mean of GPUs that really work (held times the job's busy part), in percent.
    pub utilisation_mean: f64,
    /// Mean over the samples of GPU that a task of the workload's mix couldn't use, in percent of
    /// all GPUs (Weng et al., ATC 2023, section 3).
    pub fragmentation_mean: f64,
    /// From submission to first start, of pods that started.
    pub wait: WaitStats,
    /// The same by kind of job.
    pub wait_by_kind: BTreeMap<String, WaitStats>,
    /// Deciles (10 %, 20 %, .. 100 %) over users of each user's own 95th-percentile wait, in
    /// seconds. Entry 8 says: nine of ten users have a p95 wait of at most this.
    pub wait_p95_by_user_decile: Vec<f64>,
    /// Jain's index `(sum x)^2 / (n sum x^2)` over users, where `x` is GPU time held (and not
    /// lost) over GPU time demanded, at most 1. Demanded is what the user's jobs would have held by the end had each
    /// started on arrival. 1 is perfectly even, `1/n` means one user got everything.
    pub jain: f64,
    /// `sum |received - entitled| / (2 sum received)` over users in queues. Entitled is max-min fair
    /// down the queue tree: at each level by weight, nobody above their demand, nobody below their
    /// nominal quota. 0 is exactly fair; `e` means that this part of the GPU time went to others
    /// than the site decided.
    pub share_error: f64,
    /// The same figures as of set times after the beginning, as far as the run lasted.
    pub milestones: Vec<Milestone>,
    /// The longest time for which some user waited for GPU and held none, in hours.
    pub starvation_longest_h: f64,
    /// What each user asked for and got, by name.
    pub users: Vec<UserShare>,
    /// Waiting pods at the end by reason token. `NotAssessed` where the bound on explanations was
    /// reached first.
    pub reasons: BTreeMap<String, u64>,
    /// Pod-hours of waiting by reason token: each sample's counts times the time to the next one.
    pub reasons_pod_hours: BTreeMap<String, f64>,
    /// The course of the run, at most 500 samples at equal distances.
    pub series: Vec<Sample>,
    /// Who held what: the first GPUs and spans up to a bound.
    pub gantt: Vec<Lane>,
    /// The groups that waited at the end, most pods first, up to a bound.
    pub waiting: Vec<WaitingGroup>,
}

/// How even the run was up to some time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Milestone {
    /// Hours since the run began.
    pub after_h: f64,
    /// As [`Report::jain`].
    pub jain: f64,
    /// As [`Report::share_error`].
    pub share_error: f64,
}

/// What a user asked for and got.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UserShare {
    /// The name.
    pub user: String,
    /// GPU-hours that the user's jobs would have held by the end had each started on arrival.
    pub demanded_gpu_h: f64,
    /// GPU-hours held, without those of runs that had to begin anew.
    pub received_gpu_h: f64,
    /// GPU-hours of runs that had to begin anew.
    pub lost_gpu_h: f64,
    /// GPU-hours that the queue tree would have given, see [`Report::share_error`].
    pub entitled_gpu_h: f64,
    /// Nineteen of twenty of the user's pods that started had waited for at most this.
    pub wait_p95_s: f64,
    /// The longest time for which the user waited for GPU and held none.
    pub starvation_longest_h: f64,
}

/// Waits in seconds. Quantiles are upper bounds, at most 1/128 too high; mean and maximum are exact.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WaitStats {
    /// Pods counted.
    pub n: u64,
    /// Mean.
    pub mean_s: f64,
    /// Median.
    pub p50_s: f64,
    /// 90th percentile.
    pub p90_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// Longest.
    pub max_s: f64,
}

/// The state of the cluster at one instant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Hours since the run began.
    pub t_h: f64,
    /// GPUs held, in percent of all.
    pub allocation: f64,
    /// GPUs that really work, in percent of all.
    pub utilisation: f64,
    /// Fragmented GPU, in percent of all.
    pub fragmentation: f64,
    /// Waiting pods.
    pub pending: u64,
    /// Running pods.
    pub running: u64,
}

/// One GPU over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lane {
    /// Name of the node.
    pub node: String,
    /// Index of the GPU on it.
    pub gpu: u32,
    /// Who held it, in order of starting.
    pub spans: Vec<GanttSpan>,
}

/// A pod's hold on a GPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GanttSpan {
    /// Start, in hours since the run began.
    pub start_h: f64,
    /// End; the end of the run where it was still held.
    pub end_h: f64,
    /// Name of the pod.
    pub label: String,
    /// Part of the GPU held, 0 to 1.
    pub share: f64,
}

/// Pods that waited for the same thing at the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingGroup {
    /// The queue that they are charged to.
    pub queue: String,
    /// The gang that they belong to, if any.
    pub gang: Option<String>,
    /// Name of the oldest of them.
    pub oldest: String,
    /// Since when that one waits, in hours since the run began.
    pub since_h: f64,
    /// Number of pods.
    pub pods: u64,
    /// Reason token, the same as `explanation.reason`.
    pub reason: String,
    /// The evidence.
    pub explanation: Explanation,
    /// What would start the oldest of them, the cheapest change first.
    pub next: Vec<Next>,
}

/// A change that would start something that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// The same in words, after "it starts if".
    pub words: String,
}
