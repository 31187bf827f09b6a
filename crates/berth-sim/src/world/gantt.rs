//! Who held which GPU when, for the first GPUs of a cluster up to a bound.
//!
//! Invariant: at most [`LANES_MAX`] GPUs and [`SPANS_MAX`] spans are kept, whatever the run's
//! length. Not here: drawing.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_core::amount::GpuUnits;
use berth_core::id::{NodeId, PodId};
use berth_core::model::gpu::GpuGrant;
use berth_core::model::snapshot::Snapshot;
use berth_core::time::Time;

use crate::report::{GanttSpan, Lane};

/// GPUs watched: as many as a page shows.
pub const LANES_MAX: usize = 64;

/// Spans kept: as many as a page draws without effort.
pub const SPANS_MAX: usize = 5_000;

#[derive(Debug, Clone)]
struct Kept {
    node: NodeId,
    gpu: u8,
    start: Time,
    end: Option<Time>,
    label: Arc<str>,
    held: GpuUnits,
}

/// Who held which GPU when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gantt {
    /// Nodes below this index are watched.
    nodes: usize,
    spans: Vec<Kept>,
    open: BTreeMap<PodId, Vec<usize>>,
}

impl Gantt {
    /// Watches the first nodes of `index`.
    pub(crate) fn over(index: &Snapshot) -> Self {
        let (mut nodes, mut gpus) = (0, 0);
        for node in index.nodes().iter() {
            gpus += node.shape.gpus().len();
            if gpus > LANES_MAX {
                break;
            }
            nodes += 1;
        }
        Self {
            nodes,
            ..Self::default()
        }
    }

    /// A pod got its place.
    pub(crate) fn start(
        &mut self,
        pod: PodId,
        label: &Arc<str>,
        node: NodeId,
        grant: &GpuGrant,
        now: Time,
    ) {
        let gpus = grant.gpus();
        if node.index() >= self.nodes
            || gpus.is_empty()
            || self.spans.len() + gpus.len() > SPANS_MAX
        {
            return;
        }
        let first = self.spans.len();
        for gpu in gpus.iter() {
            let gpu = u8::try_from(gpu).expect("nodes are bounded to 32 GPUs");
            let (label, held) = (Arc::clone(label), grant.compute_each());
            self.spans.push(Kept {
                node,
                gpu,
                start: now,
                end: None,
                label,
                held,
            });
        }
        self.open.insert(pod, (first..self.spans.len()).collect());
    }

    /// A pod gave its place back.
    pub(crate) fn end(&mut self, pod: PodId, now: Time) {
        if self.open.is_empty() {
            return;
        }
        for span in self.open.remove(&pod).unwrap_or_default() {
            self.spans[span].end = Some(now);
        }
    }

    /// The lanes, with open spans cut off at `now` and times counted from `began`.
    pub(crate) fn lanes(&self, index: &Snapshot, began: Time, now: Time) -> Vec<Lane> {
        let mut lanes: BTreeMap<(usize, u8), Lane> = BTreeMap::new();
        for (at, node) in index.nodes().iter().enumerate().take(self.nodes) {
            for gpu in 0..node.shape.gpus().len() {
                let gpu = u8::try_from(gpu).expect("nodes are bounded to 32 GPUs");
                let lane = Lane {
                    node: node.name.to_string(),
                    gpu: gpu.into(),
                    spans: Vec::new(),
                };
                lanes.insert((at, gpu), lane);
            }
        }
        let hours = |time: Time| time.since(began).as_secs_f64() / 3600.0;
        for span in &self.spans {
            let lane = lanes.get_mut(&(span.node.index(), span.gpu));
            lane.expect("only watched nodes have spans")
                .spans
                .push(GanttSpan {
                    start_h: hours(span.start),
                    end_h: hours(span.end.unwrap_or(now)),
                    label: span.label.to_string(),
                    share: span.held.gpus_f64(),
                });
        }
        lanes.into_values().collect()
    }
}
