//! Whose turn it is: priority first, then fair share or age.
//!
//! Under fair share the tree of queues is walked from the top: at each level the branch goes first
//! that has had least for its weight, counting what it has held over time (faded, see
//! [`crate::quota::Usage`]) and what it holds now as if it had held that for the entry penalty, so
//! that a burst pays before its use has added up (Kueue's KEP-4136 has the same idea). Before the
//! shares come those who starve. This is
//! Slurm's Fair Tree: a branch never pays for what other branches do. Within a queue, age decides.
//! Invariant: turns depend on names, ages and amounts, never on the order in which things became
//! known. Not here: whether anything fits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use crate::id::{PodId, QueueId};
use crate::model::snapshot::{Age, Alike, Group, GroupKey, Snapshot};
use crate::time::{Span, Time};

/// The order in which those who wait have their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By age alone.
    Fifo,
    /// By what queues have had for their weight.
    FairShare {
        /// What is held now counts as if it had been held for this long.
        entry_penalty: Span,
        /// Who has waited for this long in a queue that holds nothing comes before the shares: the
        /// remedy for starving. A queue that holds anything has none of it, so that waiting in great
        /// numbers gains nobody a thing.
        starving_after: Span,
    },
}

impl Default for Order {
    fn default() -> Self {
        Self::FairShare {
            entry_penalty: Span::from_hours(1),
            starving_after: Span::from_hours(12),
        }
    }
}

/// A turn: the oldest undecided pod of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    priority: Reverse<i32>,
    /// Age of the pod within its group.
    pub age: Age,
    /// The group.
    pub key: GroupKey,
    /// The pod.
    pub pod: PodId,
}

impl Turn {
    /// The turn of the oldest pod of a group.
    fn first(key: &GroupKey, group: &Group) -> Option<Self> {
        let (age, &pod) = group.first_key_value()?;
        Some(Self::of(key, age, pod))
    }

    /// The turn of the pod at `age` of the group `key`.
    pub(super) fn of(key: &GroupKey, age: &Age, pod: PodId) -> Self {
        Self {
            priority: key.priority,
            age: age.clone(),
            key: *key,
            pod,
        }
    }
}

/// Turns yet to come.
#[derive(Debug)]
pub(super) enum Turns {
    /// Those of a single group: order is no question.
    Lone(Option<Turn>),
    Fifo(BinaryHeap<Reverse<Turn>>),
    Fair(Fair),
}

/// Turns by priority, then by branch.
#[derive(Debug)]
pub(super) struct Fair {
    entry_penalty: Span,
    starving_after: Span,
    now: Time,
    by_priority: BTreeMap<Reverse<i32>, Tree>,
}

/// A branch among its siblings: least share first, then by name.
type Rank = (i64, Arc<str>, QueueId);

/// The part of the queue tree in which something of one priority waits.
#[derive(Debug, Default)]
struct Tree {
    /// The oldest turn of each queue that starves, the oldest first.
    starving: BTreeSet<Turn>,
    starving_of: BTreeMap<QueueId, Turn>,
    /// Turns of a queue's own work.
    own: BTreeMap<QueueId, BTreeSet<Turn>>,
    /// Branches below a queue (below none: the roots).
    branches: BTreeMap<Option<QueueId>, BTreeSet<Rank>>,
    ranks: BTreeMap<QueueId, Rank>,
}

impl Turns {
    /// No turns yet, of `groups` groups at most.
    pub(super) fn new(order: Order, groups: usize, now: Time) -> Self {
        match order {
            _ if groups <= 1 => Self::Lone(None),
            Order::Fifo => Self::Fifo(BinaryHeap::new()),
            Order::FairShare {
                entry_penalty,
                starving_after,
            } => Self::Fair(Fair {
                entry_penalty,
                starving_after,
                now,
                by_priority: BTreeMap::new(),
            }),
        }
    }

    /// Adds the turn of the oldest pod of a group.
    pub(super) fn add_group(&mut self, snapshot: &Snapshot, key: &GroupKey, group: &Group) {
        if let Some(turn) = Turn::first(key, group) {
            self.add(snapshot, turn);
        }
    }

    /// Takes the next turn.
    pub(super) fn next(&mut self) -> Option<Turn> {
        match self {
            Self::Lone(turn) => turn.take(),
            Self::Fifo(heap) => heap.pop().map(|Reverse(turn)| turn),
            Self::Fair(fair) => fair.next(),
        }
    }

    /// Whether nobody is left.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Lone(turn) => turn.is_none(),
            Self::Fifo(heap) => heap.is_empty(),
            Self::Fair(fair) => fair.by_priority.is_empty(),
        }
    }

    /// Lets the shares of the branches of `queue` follow what it has just been given in `snapshot`,
    /// and adds the turn of the `next` pod of the group.
    pub(super) fn after_start(&mut self, snapshot: &Snapshot, queue: QueueId, next: Option<Turn>) {
        if let Self::Fair(fair) = self {
            fair.rerank(snapshot, queue);
        }
        if let Some(turn) = next {
            self.add(snapshot, turn);
        }
    }

    fn add(&mut self, snapshot: &Snapshot, turn: Turn) {
        match self {
            Self::Lone(lone) => *lone = Some(turn),
            Self::Fifo(heap) => heap.push(Reverse(turn)),
            Self::Fair(fair) => fair.add(snapshot, turn),
        }
    }
}

impl Fair {
    fn rank(&self, snapshot: &Snapshot, id: QueueId) -> Rank {
        let queue = snapshot.queue(id);
        (
            share(snapshot, id, self.entry_penalty, self.now),
            Arc::clone(&queue.name),
            id,
        )
    }

    fn add(&mut self, snapshot: &Snapshot, turn: Turn) {
        let queue = queue_of(snapshot, &turn);
        let priority = turn.priority;
        let has_waited = self.now.since(turn.age.0) >= self.starving_after;
        let turn = if has_waited && snapshot.queue(queue).used().is_zero() {
            let tree = self.by_priority.entry(priority).or_default();
            match tree.admit_starving(queue, turn) {
                Some(turn) => turn,
                None => return,
            }
        } else {
            turn
        };
        let chain: Vec<(QueueId, Option<QueueId>)> = snapshot
            .queue_chain(queue)
            .map(|(id, queue)| (id, queue.parent))
            .collect();
        let known = |tree: &Tree, id| tree.ranks.contains_key(&id);
        let tree = self.by_priority.entry(priority).or_default();
        tree.own.entry(queue).or_default().insert(turn);
        for (id, parent) in chain {
            if self
                .by_priority
                .get(&priority)
                .is_some_and(|tree| known(tree, id))
            {
                break;
            }
            let rank = self.rank(snapshot, id);
            let tree = self.by_priority.entry(priority).or_default();
            tree.branches
                .entry(parent)
                .or_default()
                .insert(rank.clone());
            tree.ranks.insert(id, rank);
        }
    }

    fn rerank(&mut self, snapshot: &Snapshot, leaf: QueueId) {
        for (id, queue) in snapshot.queue_chain(leaf) {
            let rank = self.rank(snapshot, id);
            for tree in self.by_priority.values_mut() {
                let Some(old) = tree.ranks.get_mut(&id) else {
                    continue;
                };
                let siblings = tree.branches.entry(queue.parent).or_default();
                siblings.remove(old);
                siblings.insert(rank.clone());
                *old = rank.clone();
            }
        }
    }

    fn next(&mut self) -> Option<Turn> {
        let mut first = self.by_priority.first_entry()?;
        let tree = first.get_mut();
        let turn = tree.starving.pop_first();
        let turn = turn.unwrap_or_else(|| tree.next());
        if tree.ranks.is_empty() && tree.starving.is_empty() {
            first.remove();
        }
        Some(turn)
    }
}

impl Tree {
    /// Takes `turn` in for the queue that starves, and returns the younger one of two.
    fn admit_starving(&mut self, queue: QueueId, turn: Turn) -> Option<Turn> {
        let known = self.starving_of.get(&queue);
        if known.is_some_and(|known| *known <= turn) {
            return Some(turn);
        }
        self.starving.insert(turn.clone());
        let younger = self.starving_of.insert(queue, turn)?;
        self.starving.remove(&younger);
        Some(younger)
    }

    fn next(&mut self) -> Turn {
        let mut path: Vec<Rank> = Vec::new();
        loop {
            let at = path.last().map(|(_, _, id)| *id);
            if let Some(turn) = at.and_then(|id| self.own.get_mut(&id)?.pop_first()) {
                self.prune(path);
                return turn;
            }
            let branches = self.branches.get(&at);
            let branch = branches.and_then(BTreeSet::first);
            path.push(
                branch
                    .expect("a branch is here while something waits in it")
                    .clone(),
            );
        }
    }

    /// Takes branches out in which nothing waits any more, from the end of `path` up.
    fn prune(&mut self, path: Vec<Rank>) {
        let parents: Vec<Option<QueueId>> = std::iter::once(None)
            .chain(path.iter().map(|(_, _, id)| Some(*id)))
            .collect();
        for (rank, parent) in path.into_iter().zip(parents).rev() {
            let id = rank.2;
            if self.own.get(&id).is_some_and(BTreeSet::is_empty) {
                self.own.remove(&id);
            }
            if self.branches.get(&Some(id)).is_some_and(BTreeSet::is_empty) {
                self.branches.remove(&Some(id));
            }
            if self.own.contains_key(&id) || self.branches.contains_key(&Some(id)) {
                return;
            }
            self.ranks.remove(&id);
            if let Some(siblings) = self.branches.get_mut(&parent) {
                siblings.remove(&rank);
            }
        }
    }
}

/// What a queue has had for its weight, in units of 1/10,000 GPU times milliseconds: its faded use,
/// and what it holds now for as long as the entry penalty. A queue of weight zero comes last.
#[must_use]
pub fn share(snapshot: &Snapshot, id: QueueId, entry_penalty: Span, now: Time) -> i64 {
    let queue = snapshot.queue(id);
    if queue.weight == 0 {
        return i64::MAX;
    }
    let entry = queue.used().0.saturating_mul(entry_penalty.0.max(0));
    let had = snapshot.usage(id, now).unit_ms.saturating_add(entry);
    had / i64::from(queue.weight)
}

/// The queue whose turn it is: a gang's members share one.
fn queue_of(snapshot: &Snapshot, turn: &Turn) -> QueueId {
    match turn.key.alike {
        Alike::Task { queue, .. } => queue,
        Alike::Gang { .. } => {
            let pod = snapshot.pod(turn.pod);
            pod.expect("a waiting pod is in the snapshot").spec.queue
        }
    }
}

/// `waiting` in the order of turns: what a view shows as positions.
#[must_use]
pub fn in_order<T: Clone>(
    order: Order,
    snapshot: &Snapshot,
    now: Time,
    waiting: &[(GroupKey, T)],
) -> Vec<(GroupKey, T)> {
    let by_key: BTreeMap<GroupKey, &T> = waiting.iter().map(|(key, what)| (*key, what)).collect();
    let mut turns = Turns::new(order, by_key.len(), now);
    for key in by_key.keys() {
        if let Some(group) = snapshot.pending().get(key) {
            turns.add_group(snapshot, key, group);
        }
    }
    std::iter::from_fn(|| turns.next())
        .map(|turn| (turn.key, by_key[&turn.key].clone()))
        .collect()
}

#[cfg(test)]
mod tests;
