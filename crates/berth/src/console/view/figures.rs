//! The figures at the top of every view.

use std::sync::Arc;

use serde::Serialize;

use berth_core::amount::GpuUnits;
use berth_core::model::gpu::GpuHealth;
use berth_core::model::node::Readiness;

use super::{as_gpus, words};
use crate::service::clock::Flow;
use crate::service::published::Published;

/// The cluster in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figures {
    /// Name of the cluster.
    pub(crate) name: Arc<str>,
    /// Policy that places work.
    pub(crate) policy: &'static str,
    /// Seed of an embedded cluster; a real one has none.
    pub(crate) seed: Option<u64>,
    /// Virtual milliseconds since the start.
    pub(crate) elapsed_ms: i64,
    /// The same for people.
    #[serde(skip)]
    pub(crate) clock: String,
    /// Simulated seconds in a real one, as asked for.
    pub(crate) speed: f64,
    /// Whether virtual time stands still.
    pub(crate) paused: bool,
    /// Virtual seconds behind.
    pub(crate) lag_s: f64,
    /// Nodes.
    pub(crate) nodes: usize,
    /// Of which cordoned or lost.
    pub(crate) nodes_not_ready: usize,
    /// GPUs.
    pub(crate) gpus: usize,
    /// Of which degraded or failed, or on lost nodes.
    pub(crate) gpus_out: usize,
    /// GPU held by pods.
    #[serde(serialize_with = "as_gpus")]
    pub(crate) gpus_held: GpuUnits,
    /// GPU held, in percent of all.
    pub(crate) allocation_percent: f64,
    /// GPU free but of no use to a task of the target workload, in percent of all.
    pub(crate) fragmentation_percent: f64,
    /// Pods that hold a place.
    pub(crate) pods_running: usize,
    /// Pods that wait.
    pub(crate) pods_waiting: usize,
    /// Groups that wait.
    pub(crate) groups_waiting: usize,
    /// Pods submitted so far.
    pub(crate) submitted: u64,
    /// Starts so far.
    pub(crate) placed: u64,
    /// Pods that have ended so far.
    pub(crate) completed: u64,
    /// Lost places so far.
    pub(crate) evicted: u64,
    /// Median wait of first starts so far, in virtual seconds.
    pub(crate) wait_p50_s: f64,
    /// Nine of ten first starts waited at most this.
    pub(crate) wait_p90_s: f64,
    /// Starts in a virtual minute, lately.
    pub(crate) starts_per_min: f64,
    /// Ends in a virtual minute, lately.
    pub(crate) ends_per_min: f64,
    /// Decisions in a real second, lately.
    pub(crate) decisions_per_s: f64,
    /// Broken books; anything but zero is a defect of Berth.
    pub(crate) invariant_violations: u64,
}

/// Real seconds that the clock may be behind before anybody is told.
const LATE_AFTER_S: f64 = 1.0;

impl Figures {
    /// Whether the cluster is an embedded one, so that its time can be paused.
    pub(crate) fn is_embedded(&self) -> bool {
        self.seed.is_some()
    }

    /// Whether virtual time is behind by more than anyone would notice.
    pub(crate) fn is_late(&self) -> bool {
        self.lag_s > LATE_AFTER_S * self.speed
    }

    /// The figures of `published`.
    pub(crate) fn of(published: &Published) -> Self {
        let (snapshot, tally, totals) = (&published.snapshot, &published.tally, &published.totals);
        let (mut gpus, mut gpus_out, mut nodes_not_ready) = (0, 0, 0);
        let mut gpus_held = GpuUnits::ZERO;
        for node in snapshot.nodes().iter() {
            let readiness = node.state.readiness;
            nodes_not_ready += usize::from(readiness != Readiness::Ready);
            for gpu in &node.state.gpus {
                gpus += 1;
                let is_out = readiness == Readiness::Lost || gpu.health != GpuHealth::Healthy;
                gpus_out += usize::from(is_out);
                gpus_held += GpuUnits::ONE_GPU - gpu.free_compute;
            }
        }
        Self {
            name: Arc::clone(&published.name),
            policy: published.policy,
            seed: published.seed,
            elapsed_ms: published.elapsed().0,
            clock: words::clock(published.elapsed()),
            speed: published.pace.speed,
            paused: published.pace.flow == Flow::Paused,
            lag_s: published.pace.lag.as_secs_f64(),
            nodes: snapshot.nodes().len(),
            nodes_not_ready,
            gpus,
            gpus_out,
            gpus_held,
            allocation_percent: published.shares.allocated * 100.0,
            fragmentation_percent: published.shares.fragmented * 100.0,
            pods_running: snapshot.n_bound(),
            pods_waiting: snapshot.n_pending(),
            groups_waiting: published.waiting.len(),
            submitted: totals.submitted,
            placed: tally.placed,
            completed: totals.completed,
            evicted: totals.evictions.values().sum(),
            wait_p50_s: tally.waits.permille_s(500),
            wait_p90_s: tally.waits.permille_s(900),
            starts_per_min: published.rates.starts_per_min,
            ends_per_min: published.rates.ends_per_min,
            decisions_per_s: published.rates.decisions_per_s,
            invariant_violations: published.n_violations(),
        }
    }
}
