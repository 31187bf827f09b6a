//! View models: pure functions from a publication to rows that read well.
//!
//! Invariant: equal publications give equal views; a list that is cut says by how much. Not here:
//! colours, columns and markup.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use berth_core::amount::GpuUnits;

use crate::service::published::Published;

pub(crate) mod event;
pub(crate) mod figures;
pub(crate) mod fleet;
pub(crate) mod queue;
#[cfg(test)]
mod tests;
pub(crate) mod waiting;
pub(crate) mod words;

use event::EventRow;
use figures::Figures;
use fleet::{Fleet, NodeRow};
use queue::QueueRow;
use waiting::WaitingRow;

/// Everything that is shown of one publication.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct View {
    /// The figures at the top.
    pub(crate) figures: Figures,
    /// Nodes in the order of the index.
    pub(crate) nodes: Vec<NodeRow>,
    /// Nodes by model and mode of their GPUs; what a map is drawn by.
    #[serde(skip)]
    pub(crate) fleets: Vec<Fleet>,
    /// Queues, each below its parent.
    pub(crate) queues: Vec<QueueRow>,
    /// Groups that wait, in scheduling order; the first of them with evidence.
    pub(crate) waiting: Bounded<WaitingRow>,
    /// Waiting pods by reason. `NotAssessed` counts those beyond the bound.
    pub(crate) reasons: BTreeMap<&'static str, u64>,
    /// The latest events, newest first.
    pub(crate) events: Vec<EventRow>,
}

/// The first rows of a list, and how many there are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Bounded<T> {
    /// The rows shown.
    pub(crate) items: Vec<T>,
    /// Rows in all.
    pub(crate) total: usize,
    /// Rows left out.
    pub(crate) truncated: usize,
}

impl<T> Bounded<T> {
    /// The first `bound` of `rows`.
    pub(crate) fn first(rows: impl ExactSizeIterator<Item = T>, bound: usize) -> Self {
        let total = rows.len();
        let items: Vec<T> = rows.take(bound).collect();
        Self {
            truncated: total - items.len(),
            items,
            total,
        }
    }
}

impl View {
    /// The view of `published`.
    pub(crate) fn of(published: &Published) -> Self {
        let snapshot = &published.snapshot;
        let nodes = fleet::nodes(snapshot);
        let (waiting, reasons) = waiting::rows(published);
        Self {
            figures: Figures::of(published),
            fleets: fleet::fleets(&nodes),
            nodes,
            queues: queue::rows(snapshot),
            waiting,
            reasons,
            events: published
                .events
                .iter()
                .map(|event| EventRow::of(event, published.pace.start))
                .collect(),
        }
    }
}

/// GPUs as a number, for figures that people and programs read.
pub(crate) fn as_gpus<S: Serializer>(units: &GpuUnits, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(units.gpus_f64())
}
