//! What of a node and of a cluster the tables look at.
//!
//! Invariant: a view depends on shapes, states and the grid alone. Amounts that are asked for are
//! rounded up and free ones down, so that what the tables count fits. Not here: weights.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::tables::{CARD, CARDS_MAX, Room, Tables};
use crate::amount::{GpuUnits, MilliCpu};
use crate::model::gpu::{GpuHealth, GpuMode, GpuSpec, GpuState, ModelSet};
use crate::model::node::{Node, NodeState, Readiness, Shape};
use crate::model::snapshot::Snapshot;

/// CPU of one column, unless the largest node asks for wider ones. Half of it costs twice as much
/// and changes nothing; double of it loses 0.3 points where CPU is scarce.
const COLUMN_MIN: MilliCpu = MilliCpu(400);

/// Columns of the largest node, at most.
const COLUMNS_MAX: i64 = 320;

/// Compute that a unit of the tables stands for.
const UNIT: i64 = GpuUnits::ONE_GPU.0 / CARD as i64;

/// What nodes have in common whose completions are made of the same tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Family {
    /// Models of the node's GPUs; any, where tasks don't tell models apart.
    pub(super) models: ModelSet,
    /// What its cards can be used for.
    pub(super) cards: Cards,
}

/// What cards of a node can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) enum Cards {
    /// The node has none that serve containers.
    None,
    /// Whole cards only.
    Whole,
    /// Shares of cards, and whole ones.
    Shared,
}

/// The nodes of a family: how large the tables for it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extent {
    pub(super) family: Family,
    /// Columns of CPU and one more.
    pub(super) columns: usize,
    /// Cards of a node.
    pub(super) cards: usize,
}

/// How amounts are rounded, and what there is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Grid {
    /// CPU of one column.
    column: MilliCpu,
    /// Whether tasks name models.
    by_model: bool,
    /// By family.
    pub(super) extents: Vec<Extent>,
}

impl Grid {
    /// The grid for the cluster of `snapshot`.
    pub(super) fn of(snapshot: &Snapshot, by_model: bool) -> Self {
        let nodes = || snapshot.nodes().iter();
        let largest = nodes().map(|node| node.shape.cpu.0).max().unwrap_or(0);
        let column = MilliCpu((largest / COLUMNS_MAX + 1).max(COLUMN_MIN.0));
        let mut grid = Self {
            column,
            by_model,
            extents: Vec::new(),
        };
        for node in nodes() {
            let family = grid.family(&node.shape, &node.state);
            let columns = grid.columns_of(&node.shape);
            let cards = node.shape.gpus().len().min(CARDS_MAX);
            match grid
                .extents
                .binary_search_by_key(&family, |extent| extent.family)
            {
                Ok(at) => {
                    let extent = &mut grid.extents[at];
                    extent.columns = extent.columns.max(columns);
                    extent.cards = extent.cards.max(cards);
                }
                Err(at) => grid.extents.insert(
                    at,
                    Extent {
                        family,
                        columns,
                        cards,
                    },
                ),
            }
        }
        grid
    }

    /// The extent of `family`; the largest one possible if no node was of it.
    pub(super) fn extent(&self, family: Family) -> Extent {
        let known = self
            .extents
            .binary_search_by_key(&family, |extent| extent.family);
        known.map_or_else(
            |_| {
                let columns = usize::try_from(COLUMNS_MAX).expect("a small number") + 1;
                Extent {
                    family,
                    columns,
                    cards: CARDS_MAX,
                }
            },
            |at| self.extents[at],
        )
    }

    fn columns_of(&self, shape: &Shape) -> usize {
        let columns = (shape.cpu.0 / self.column.0).clamp(0, COLUMNS_MAX);
        usize::try_from(columns).expect("clamped to zero") + 1
    }

    /// The family of a node.
    pub(super) fn family(&self, shape: &Shape, state: &NodeState) -> Family {
        let cards = state
            .gpus
            .iter()
            .fold(Cards::None, |cards, gpu| match gpu.mode {
                GpuMode::TimeSlice | GpuMode::Mps => Cards::Shared,
                GpuMode::Exclusive => cards.max(Cards::Whole),
                GpuMode::Mig | GpuMode::Vgpu | GpuMode::Passthrough => cards,
            });
        let models = match cards {
            Cards::None => ModelSet::NONE,
            _ if self.by_model => shape.models(),
            _ => ModelSet::ANY,
        };
        Family { models, cards }
    }

    /// Columns that `cpu` asks for.
    pub(super) fn columns_asked(&self, cpu: MilliCpu) -> usize {
        let columns = cpu.0.saturating_add(self.column.0 - 1) / self.column.0;
        usize::try_from(columns).unwrap_or(0)
    }

    /// Columns that `cpu` makes up on a node that `tables` look at.
    pub(super) fn columns_free(&self, cpu: MilliCpu, tables: &Tables) -> usize {
        let columns = usize::try_from(cpu.0 / self.column.0).unwrap_or(0);
        columns.min(tables.columns_max())
    }

    /// The room of a node.
    pub(super) fn room(&self, shape: &Shape, state: &NodeState, tables: &Tables) -> Room {
        let mut cards = 0;
        let mut parts: SmallVec<[u8; 16]> = SmallVec::new();
        for (spec, gpu) in shape.gpus().iter().zip(&state.gpus) {
            match CardRoom::of(spec, gpu) {
                CardRoom::Closed => {}
                CardRoom::Free => cards += 1,
                CardRoom::Part(units) => match tables.usable(units) {
                    0 => {}
                    usable => parts.push(usable),
                },
            }
        }
        parts.sort_unstable();
        let cards = cards.min(tables.cards_max());
        let beyond = (parts.len() + cards).saturating_sub(tables.cards_max());
        parts.drain(..beyond);
        Room {
            columns: u16::try_from(self.columns_free(state.free_cpu, tables)).expect("at most 320"),
            cards: u8::try_from(cards).expect("at most 16"),
            parts,
        }
    }
}

/// What is left of a card for containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardRoom {
    /// Nothing: another mode, or not healthy.
    Closed,
    /// All of it.
    Free,
    /// So many units.
    Part(usize),
}

impl CardRoom {
    /// What is left of a card.
    pub(super) fn of(spec: &GpuSpec, gpu: &GpuState) -> Self {
        let serves = matches!(
            gpu.mode,
            GpuMode::Exclusive | GpuMode::TimeSlice | GpuMode::Mps
        );
        if !serves || gpu.health != GpuHealth::Healthy {
            Self::Closed
        } else if gpu.is_free() {
            Self::Free
        } else {
            Self::Part(units_left(spec, gpu.free_compute.0, gpu.free_memory.0))
        }
    }
}

/// Units that `compute` and `memory` left on a card come to: the scarcer of the two decides.
pub(super) fn units_left(spec: &GpuSpec, compute: i64, memory: i64) -> usize {
    let mut units = compute / UNIT;
    if spec.memory.0 > 0 {
        let of_memory = i128::from(memory) * CARD as i128 / i128::from(spec.memory.0);
        units = units.min(i64::try_from(of_memory).unwrap_or(0));
    }
    usize::try_from(units).unwrap_or(0)
}

/// Units that a share of `compute` asks for.
pub(super) fn units_asked(compute: GpuUnits) -> usize {
    usize::try_from(compute.0.saturating_add(UNIT - 1) / UNIT).unwrap_or(0)
}

/// Whether new work may go to the node.
pub(super) fn is_ready(node: &Node) -> bool {
    node.state.readiness == Readiness::Ready
}
