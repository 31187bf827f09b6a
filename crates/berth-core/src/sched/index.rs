//! The memory of an engine: what fits where and how well, for every task type in use.
//!
//! Cost follows change, not size: a node whose stamp is the same as last time is the same; nodes in
//! the same state and of the same shape form an equivalence class that is scored once a task type;
//! and each task type has a tournament tree over the nodes, so that the best one is read off the
//! root and a changed node costs one path. Invariant: [`ScoreIndex::best`] answers as a scan over
//! all nodes would. Not here: which pod goes first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::cow::{CowVec, Seen};
use crate::id::{NodeId, TaskTypeId};
use crate::limits;
use crate::model::node::Node;
use crate::model::snapshot::Snapshot;
use crate::sched::classes::{ClassId, Classes, NO_FIT};
use crate::sched::fit;
use crate::sched::policy::{Place, Policy, Score};

/// What fits where and how well.
#[derive(Debug, Default)]
pub struct ScoreIndex {
    seen: Seen,
    /// Leaf of each node: its rank by name.
    rank: Vec<u32>,
    /// Node of each leaf.
    node_at: Vec<NodeId>,
    classes: Classes,
    class_of: Vec<ClassId>,
    /// Nodes in the order of changing, `log_start` entries of which have been dropped.
    log: Vec<NodeId>,
    log_start: usize,
    /// Position of each node's latest entry in the log.
    latest: Vec<usize>,
    tables: Vec<Option<Table>>,
    n_tables: usize,
}

/// A tournament over the nodes for one task type.
#[derive(Debug)]
struct Table {
    /// Heap order: the root at 1, leaf `i` at `leaves + i`.
    tree: Vec<Score>,
    /// Position in the log up to which changes are in the tree.
    seen: usize,
}

impl ScoreIndex {
    /// Forgets every score, for a policy that has changed its mind; nodes stay known.
    pub fn forget_scores(&mut self) {
        self.tables.clear();
        self.n_tables = 0;
        self.classes.forget_scores();
    }

    /// Takes note of what has changed since the last call.
    pub fn sync(&mut self, snapshot: &Snapshot) {
        let (nodes, task_types) = (snapshot.nodes(), snapshot.catalog().n_task_types());
        if nodes.len() != self.node_at.len() {
            self.start_afresh(nodes);
        }
        if self.classes.must_start_afresh(task_types, nodes.len()) {
            self.classes = Classes::with_columns(task_types);
            self.class_of = nodes
                .iter()
                .map(|node| self.classes.class_of(node))
                .collect();
        }
        let Self {
            seen,
            log,
            latest,
            class_of,
            classes,
            log_start,
            ..
        } = self;
        nodes.for_each_change(seen, |index| {
            let node = nodes.get(index).expect("a changed node exists");
            class_of[index] = classes.class_of(node);
            latest[index] = *log_start + log.len();
            log.push(NodeId::at(index));
        });
        if self.log.len() > limits::CHANGE_LOG_MAX {
            self.log_start += self.log.len();
            self.log.clear();
        }
    }

    /// The best node for `task`: the highest score, the lowest name among equals; `None` if it fits
    /// nowhere. [`Self::sync`] must have seen the snapshot's nodes.
    pub fn best(
        &mut self,
        snapshot: &Snapshot,
        task: TaskTypeId,
        policy: &mut dyn Policy,
    ) -> Option<NodeId> {
        let leaves = self.leaves();
        let tree = &self.table(snapshot, task, policy).tree;
        let best = tree[1];
        if best == NO_FIT {
            return None;
        }
        let mut at = 1;
        while at < leaves {
            at *= 2;
            if tree[at] != best {
                at += 1;
            }
        }
        Some(self.node_at[at - leaves])
    }

    /// Every node that `task` fits, by name.
    pub fn fitting(
        &mut self,
        snapshot: &Snapshot,
        task: TaskTypeId,
        policy: &mut dyn Policy,
    ) -> Vec<NodeId> {
        let leaves = self.leaves();
        let table = self.table(snapshot, task, policy);
        let fitting = table.tree[leaves..]
            .iter()
            .enumerate()
            .filter(|&(_, &s)| s != NO_FIT);
        let ranks: Vec<usize> = fitting.map(|(rank, _)| rank).collect();
        ranks.into_iter().map(|rank| self.node_at[rank]).collect()
    }

    /// Whether `task` fits anywhere. [`Self::sync`] must have seen the snapshot's nodes.
    pub fn fits_anywhere(
        &mut self,
        snapshot: &Snapshot,
        task: TaskTypeId,
        policy: &mut dyn Policy,
    ) -> bool {
        self.table(snapshot, task, policy).tree[1] != NO_FIT
    }

    /// The best node for `task` among those that are `open`, as [`Self::best`] would answer if there
    /// were no others. Cost grows with the nodes that are better and closed.
    pub fn best_where(
        &mut self,
        snapshot: &Snapshot,
        task: TaskTypeId,
        policy: &mut dyn Policy,
        open: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let leaves = self.leaves();
        self.table(snapshot, task, policy);
        let table = self.tables[task.index()].as_ref();
        let tree = &table.expect("it was just brought up to date").tree;
        // Subtrees by what their best leaf has, then by their first leaf.
        let first_leaf = |at: usize| at << (leaves.ilog2() - at.ilog2());
        let mut heap = BinaryHeap::from([(tree[1], Reverse(first_leaf(1)), 1)]);
        while let Some((score, Reverse(leaf), at)) = heap.pop() {
            if score == NO_FIT {
                return None;
            }
            if at >= leaves {
                let node = self.node_at[leaf - leaves];
                if open(node) {
                    return Some(node);
                }
                continue;
            }
            heap.extend([2 * at, 2 * at + 1].map(|at| (tree[at], Reverse(first_leaf(at)), at)));
        }
        None
    }

    fn leaves(&self) -> usize {
        self.node_at.len().next_power_of_two()
    }

    /// The table of `task`, brought up to date.
    fn table(&mut self, snapshot: &Snapshot, task: TaskTypeId, policy: &mut dyn Policy) -> &Table {
        let leaves = self.leaves();
        let end = self.log_start + self.log.len();
        if self.tables.len() <= task.index() {
            self.tables.resize_with(task.index() + 1, || None);
        }
        match self.tables[task.index()].take() {
            Some(mut table) if table.seen >= self.log_start => {
                for at in table.seen..end {
                    let id = self.log[at - self.log_start];
                    if self.latest[id.index()] == at {
                        let score = self.score(snapshot, id, task, policy);
                        table.set(leaves + self.rank[id.index()] as usize, score);
                    }
                }
                table.seen = end;
                self.tables[task.index()] = Some(table);
            }
            stale => {
                if stale.is_none() {
                    self.make_room();
                    self.n_tables += 1;
                }
                let mut tree = vec![NO_FIT; 2 * leaves];
                for rank in 0..self.node_at.len() {
                    let id = self.node_at[rank];
                    tree[leaves + rank] = self.score(snapshot, id, task, policy);
                }
                for at in (1..leaves).rev() {
                    tree[at] = tree[2 * at].max(tree[2 * at + 1]);
                }
                self.tables[task.index()] = Some(Table { tree, seen: end });
            }
        }
        self.tables[task.index()]
            .as_ref()
            .expect("it was just put there")
    }

    fn score(
        &mut self,
        snapshot: &Snapshot,
        id: NodeId,
        task: TaskTypeId,
        policy: &mut dyn Policy,
    ) -> Score {
        let class = self.class_of[id.index()];
        if let Some(score) = self.classes.known(class, task) {
            return score;
        }
        let node = snapshot.node(id);
        let (catalog, request) = (snapshot.catalog(), snapshot.catalog().task(task));
        let score = if fit::fits(catalog, request, &node.shape, &node.state) {
            let place = Place {
                catalog,
                request,
                shape: &node.shape,
                state: &node.state,
            };
            let score = policy.score(&place);
            assert!(score != NO_FIT, "the two lowest scores are reserved");
            score
        } else {
            NO_FIT
        };
        self.classes.remember(class, task, score);
        score
    }

    /// Forgets everything when the set of nodes has changed: ranks are by name.
    fn start_afresh(&mut self, nodes: &CowVec<Arc<Node>>) {
        *self = Self::default();
        nodes.for_each_change(&mut self.seen, |_| {});
        let mut by_name: Vec<(&str, NodeId)> = nodes
            .iter()
            .enumerate()
            .map(|(at, node)| (&*node.name, NodeId::at(at)))
            .collect();
        by_name.sort_unstable();
        self.node_at = by_name.into_iter().map(|(_, id)| id).collect();
        self.rank = vec![0; nodes.len()];
        for (rank, id) in self.node_at.iter().enumerate() {
            self.rank[id.index()] = u32::try_from(rank).expect("nodes are bounded");
        }
        self.latest = vec![usize::MAX; nodes.len()];
    }

    /// Drops all tables when there are too many of them; those in use come back by themselves.
    fn make_room(&mut self) {
        if self.n_tables >= limits::SCORE_TABLES_MAX {
            self.tables.fill_with(|| None);
            self.n_tables = 0;
        }
    }
}

impl Table {
    fn set(&mut self, leaf: usize, score: Score) {
        let mut at = leaf;
        if self.tree[at] == score {
            return;
        }
        self.tree[at] = score;
        while at > 1 {
            at /= 2;
            let best = self.tree[2 * at].max(self.tree[2 * at + 1]);
            if self.tree[at] == best {
                return;
            }
            self.tree[at] = best;
        }
    }
}
