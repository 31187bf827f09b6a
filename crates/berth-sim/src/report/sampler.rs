//! Looks at a run at equal distances of virtual time.
//!
//! Invariant: never more than [`SAMPLES_MAX`] samples; when they are full, every other one goes and
//! the distance doubles, so a run of unknown length is covered evenly. Not here: integrals, which
//! the world keeps without sampling.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_core::amount::GpuUnits;
use berth_core::cow::Seen;
use berth_core::model::snapshot::{Alike, Snapshot};
use berth_core::sched::explain::{self, Hindrance, Reason};
use berth_core::sched::fragmentation::TargetWorkload;
use berth_core::sched::scheduler::Scheduler;
use berth_core::time::{Span, Time};

use crate::report::Sample;
use crate::world::World;

/// Samples kept: as many points as a chart shows.
pub(crate) const SAMPLES_MAX: usize = 500;

/// Nodes looked at for the reasons of one sample; an explanation looks at every node once.
const NODES_PER_SAMPLE_MAX: usize = 50_000;

/// The token for pods whose reason was not worked out.
pub(crate) const NOT_ASSESSED: &str = "NotAssessed";

/// Looks at a run at equal distances.
#[derive(Debug)]
pub(crate) struct Sampler {
    start: Time,
    next: Time,
    period: Span,
    samples: Vec<Sample>,
    reasons_pod_hours: BTreeMap<&'static str, f64>,
    fragmentation: Fragmentation,
    fragmentation_sum: f64,
    n: u64,
}

/// Fragmentation of a cluster, worked out anew only where nodes have changed.
#[derive(Debug)]
struct Fragmentation {
    target: Arc<TargetWorkload>,
    seen: Seen,
    of_node: Vec<f64>,
}

impl Sampler {
    /// A sampler for a run from `start` that is expected to last for `horizon`.
    pub(crate) fn new(start: Time, horizon: Span, target: Arc<TargetWorkload>) -> Self {
        // Some room for what runs on after the last arrival.
        let period = Span((horizon.0 / (SAMPLES_MAX as i64 * 4 / 5)).max(1_000));
        Self {
            start,
            next: start + period,
            period,
            samples: Vec::new(),
            reasons_pod_hours: BTreeMap::new(),
            fragmentation: Fragmentation {
                target,
                seen: Seen::default(),
                of_node: Vec::new(),
            },
            fragmentation_sum: 0.0,
            n: 0,
        }
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes the sample that is due.
    pub(crate) fn sample(&mut self, scheduler: &Scheduler<World>) {
        let (index, tally) = (scheduler.index(), scheduler.cluster.tally());
        let gpus = gpus_of(index).max(1) as f64;
        let percent = |units: GpuUnits| 100.0 * units.gpus_f64() / gpus;
        let fragmentation = 100.0 * self.fragmentation.gpus(index) / gpus;
        self.fragmentation_sum += fragmentation;
        self.n += 1;
        self.samples.push(Sample {
            t_h: self.next.since(self.start).as_secs_f64() / 3600.0,
            allocation: percent(tally.held),
            utilisation: percent(GpuUnits(tally.busy / 1000)),
            fragmentation,
            pending: index.n_pending() as u64,
            running: index.n_bound() as u64,
        });
        let hours = self.period.as_secs_f64() / 3600.0;
        for (reason, pods) in reasons(index, scheduler.waiting()) {
            *self.reasons_pod_hours.entry(reason).or_default() += pods as f64 * hours;
        }
        if self.samples.len() == SAMPLES_MAX {
            // The first kept sample is the second one: it stands at one new period.
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.period = self.period + self.period;
        }
        self.next += self.period;
    }

    /// The samples, their mean fragmentation, and pod-hours of waiting by reason.
    pub(crate) fn finish(self) -> (Vec<Sample>, f64, BTreeMap<&'static str, f64>) {
        let mean = if self.n == 0 {
            0.0
        } else {
            self.fragmentation_sum / self.n as f64
        };
        (self.samples, mean, self.reasons_pod_hours)
    }
}

impl Fragmentation {
    fn gpus(&mut self, index: &Snapshot) -> f64 {
        let nodes = index.nodes();
        self.of_node.resize(nodes.len(), 0.0);
        let (of_node, target) = (&mut self.of_node, &self.target);
        nodes.for_each_change(&mut self.seen, |at| {
            let node = nodes.get(at).expect("a changed node exists");
            of_node[at] = target.node_fragmentation(&node.shape, &node.state);
        });
        self.of_node.iter().sum::<f64>() / 1000.0
    }
}

/// GPUs of the cluster, lost nodes included.
pub(crate) fn gpus_of(index: &Snapshot) -> usize {
    index
        .nodes()
        .iter()
        .map(|node| node.shape.gpus().len())
        .sum()
}

/// Waiting pods by reason token.
pub(crate) fn reasons(
    index: &Snapshot,
    waiting: &[(berth_core::model::snapshot::GroupKey, Hindrance)],
) -> BTreeMap<&'static str, u64> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    // Groups that ask for the same find the same obstacles.
    let mut known: BTreeMap<_, Reason> = BTreeMap::new();
    let mut explanations_left = (NODES_PER_SAMPLE_MAX / index.nodes().len().max(1)).max(1);
    for (key, hindrance) in waiting {
        let Some(group) = index.pending().get(key) else {
            continue;
        };
        let task = match key.alike {
            Alike::Task { task, .. } => Some(task),
            Alike::Gang { .. } => {
                let oldest = group.values().next().and_then(|&pod| index.pod(pod));
                oldest.map(|pod| pod.spec.task)
            }
        };
        let token = match (hindrance.reason(), known.get(&task)) {
            (Some(reason), _) => reason.token(),
            (None, Some(reason)) => reason.token(),
            (None, None) if explanations_left == 0 => NOT_ASSESSED,
            (None, None) => {
                explanations_left -= 1;
                let reason = explain::explain(index, key, *hindrance).reason;
                known.insert(task, reason);
                reason.token()
            }
        };
        *counts.entry(token).or_default() += group.len() as u64;
    }
    counts
}
