//! Equivalence classes of nodes: one shape in one state, scored once a task type.
//!
//! Invariant: nodes of one class are the same to every filter and score, since these see the shape
//! and the state alone. The table is bounded; when it is full, it starts afresh.

use indexmap::{Equivalent, IndexMap};
use rustc_hash::FxBuildHasher;

use crate::id::TaskTypeId;
use crate::limits;
use crate::model::node::{Node, NodeState, ShapeId};
use crate::sched::policy::Score;

/// What a cell says where the request doesn't fit.
pub(super) const NO_FIT: Score = Score::MIN;

/// What a cell says where nobody has asked yet.
const UNKNOWN: Score = Score::MIN + 1;

/// States of each node for which there is room, so that starting afresh stays rare.
const STATES_A_NODE: usize = 4;

/// A class, while the table lasts.
pub(super) type ClassId = u32;

/// What nodes of one class have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    shape: ShapeId,
    state: NodeState,
}

/// A [`Key`] that has yet to be copied. Hashes as its owned form.
#[derive(Debug, Hash)]
struct KeyRef<'a> {
    shape: ShapeId,
    state: &'a NodeState,
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.shape == key.shape && *self.state == key.state
    }
}

/// Scores by class and task type.
#[derive(Debug, Default)]
pub(super) struct Classes {
    by_state: IndexMap<Key, ClassId, FxBuildHasher>,
    /// Row by class, column by task type.
    cells: Vec<Score>,
    columns: usize,
}

impl Classes {
    /// An empty table for `task_types` of them.
    pub(super) fn with_columns(task_types: usize) -> Self {
        Self {
            columns: task_types.next_power_of_two().max(64),
            ..Self::default()
        }
    }

    /// Whether a class more, or a task type beyond the columns, asks for a fresh start. A cluster of
    /// `nodes` is always given room for several states of each.
    pub(super) fn must_start_afresh(&self, task_types: usize, nodes: usize) -> bool {
        let live = nodes * STATES_A_NODE;
        task_types > self.columns
            || self.by_state.len() >= limits::NODE_STATES_MAX.max(live)
            || self.cells.len() >= limits::SCORE_CELLS_MAX.max(live * self.columns)
    }

    /// Forgets every score; classes stay.
    pub(super) fn forget_scores(&mut self) {
        self.cells.fill(UNKNOWN);
    }

    /// The class of `node`.
    pub(super) fn class_of(&mut self, node: &Node) -> ClassId {
        let (shape, state) = (node.shape_id, &node.state);
        if let Some(&known) = self.by_state.get(&KeyRef { shape, state }) {
            return known;
        }
        let fresh = u32::try_from(self.by_state.len()).expect("states are bounded");
        let state = state.clone();
        self.by_state.insert(Key { shape, state }, fresh);
        self.cells.resize(self.cells.len() + self.columns, UNKNOWN);
        fresh
    }

    /// The score of `task` on nodes of `class`, if somebody has asked before.
    pub(super) fn known(&self, class: ClassId, task: TaskTypeId) -> Option<Score> {
        let score = self.cells[self.cell(class, task)];
        (score != UNKNOWN).then_some(score)
    }

    /// Remembers a score.
    ///
    /// # Panics
    /// If a policy gives one of the two lowest scores, which are reserved.
    pub(super) fn remember(&mut self, class: ClassId, task: TaskTypeId, score: Score) {
        assert!(score != UNKNOWN, "the two lowest scores are reserved");
        let cell = self.cell(class, task);
        self.cells[cell] = score;
    }

    fn cell(&self, class: ClassId, task: TaskTypeId) -> usize {
        class as usize * self.columns + task.index()
    }
}
