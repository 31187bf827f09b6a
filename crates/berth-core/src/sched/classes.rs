//! Equivalence classes of nodes: one shape in one state, scored once a task type.
//!
//! Invariant: nodes of one class are the same to every filter and score, since these see the shape
//! and the state alone. The table is bounded; when it is full, it starts afresh.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::id::TaskTypeId;
use crate::limits;
use crate::model::node::{Node, NodeState, ShapeId};
use crate::sched::policy::Score;

/// What a cell says where the request doesn't fit.
pub(super) const NO_FIT: Score = Score::MIN;

/// What a cell says where nobody has asked yet.
const UNKNOWN: Score = Score::MIN + 1;

/// A class, while the table lasts.
pub(super) type ClassId = u32;

/// Scores by class and task type.
#[derive(Debug, Default)]
pub(super) struct Classes {
    by_state: IndexMap<(ShapeId, NodeState), ClassId, FxBuildHasher>,
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

    /// Whether a class more, or a task type beyond the columns, asks for a fresh start.
    pub(super) fn must_start_afresh(&self, task_types: usize) -> bool {
        task_types > self.columns || self.cells.len() >= limits::SCORE_CELLS_MAX
    }

    /// Forgets every score; classes stay.
    pub(super) fn forget_scores(&mut self) {
        self.cells.fill(UNKNOWN);
    }

    /// The class of `node`.
    pub(super) fn class_of(&mut self, node: &Node) -> ClassId {
        let fresh = u32::try_from(self.by_state.len()).expect("cells are bounded");
        let entry = self.by_state.entry((node.shape_id, node.state.clone()));
        let class = *entry.or_insert(fresh);
        if class == fresh {
            self.cells.resize(self.cells.len() + self.columns, UNKNOWN);
        }
        class
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
