//! A persistent vector: chunks behind `Arc`, copied only when written to while shared.
//!
//! Invariant: a clone never sees a later write to its original. Each write stamps its element and
//! its chunk with a number that was never used before, so an observer that remembers stamps finds
//! what is different by looking at groups of chunks, whatever lineage the vector is of; stamps are compared
//! for equality and decide nothing else. Not here: removal in the middle (owners mark slots as
//! vacant instead).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

/// Elements a chunk holds: small enough that copying a shared chunk stays under 100 ns.
const CHUNK: usize = 16;

/// Chunks a group holds: 10,000 nodes are looked over by 20 stamps of groups and 32 of chunks in
/// each group that differs.
const GROUP: usize = 32;

/// The next stamp. Unique in the process, which is all that is asked of it: two vectors that
/// parted ways can't give one stamp to two values.
static NEXT_STAMP: AtomicU64 = AtomicU64::new(1);

#[derive(Debug, Clone)]
struct Chunk<T> {
    items: SmallVec<[T; CHUNK]>,
    stamps: [u64; CHUNK],
}

/// The chunks, with the stamp of the latest write to each and to each group of [`GROUP`] of them.
#[derive(Debug, Clone)]
struct Table<T> {
    groups: Vec<u64>,
    chunks: Vec<(u64, Arc<Chunk<T>>)>,
}

/// A persistent vector of `T`.
#[derive(Debug)]
pub struct CowVec<T> {
    table: Arc<Table<T>>,
    len: usize,
}

/// What an observer has seen of a vector.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    groups: Vec<u64>,
    chunks: Vec<u64>,
    items: Vec<u64>,
}

impl<T> Default for CowVec<T> {
    fn default() -> Self {
        Self {
            table: Arc::new(Table {
                groups: Vec::new(),
                chunks: Vec::new(),
            }),
            len: 0,
        }
    }
}

impl<T> Clone for CowVec<T> {
    fn clone(&self) -> Self {
        Self {
            table: Arc::clone(&self.table),
            len: self.len,
        }
    }
}

impl<T: Clone> CowVec<T> {
    /// An empty vector.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element at `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (_, chunk) = self.table.chunks.get(index / CHUNK)?;
        chunk.items.get(index % CHUNK)
    }

    /// The element at `index` for writing; copies its chunk if that is shared.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let chunk = Arc::make_mut(&mut self.table).write(index);
        chunk.items.get_mut(index % CHUNK)
    }

    /// Appends `element` and returns its index.
    pub fn push(&mut self, element: T) -> usize {
        let index = self.len;
        let table = Arc::make_mut(&mut self.table);
        if index.is_multiple_of(CHUNK) {
            let (items, stamps) = (SmallVec::new(), [0; CHUNK]);
            table.chunks.push((0, Arc::new(Chunk { items, stamps })));
        }
        if index.is_multiple_of(CHUNK * GROUP) {
            table.groups.push(0);
        }
        table.write(index).items.push(element);
        self.len += 1;
        index
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let chunks = self.table.chunks.iter();
        chunks.flat_map(|(_, chunk)| chunk.items.iter())
    }

    /// Calls `changed` for each index that `seen` hasn't seen in its present state, in order, and
    /// brings `seen` up to date. A vector that is shorter than the one last seen counts as new.
    ///
    /// Cost: one comparison a group, one a chunk in groups that differ, and one an element in chunks
    /// that differ.
    pub fn for_each_change(&self, seen: &mut Seen, mut changed: impl FnMut(usize)) {
        if self.len < seen.items.len() {
            *seen = Seen::default();
        }
        let Table { groups, chunks } = &*self.table;
        seen.items.resize(self.len, 0);
        seen.chunks.resize(chunks.len(), 0);
        seen.groups.resize(groups.len(), 0);
        for (group, latest) in groups.iter().enumerate() {
            if std::mem::replace(&mut seen.groups[group], *latest) == *latest {
                continue;
            }
            let members = group * GROUP..chunks.len().min((group + 1) * GROUP);
            for at in members {
                let (latest, chunk) = &chunks[at];
                if std::mem::replace(&mut seen.chunks[at], *latest) == *latest {
                    continue;
                }
                let first = at * CHUNK;
                let items = &mut seen.items[first..first + chunk.items.len()];
                for (offset, (seen, &stamp)) in items.iter_mut().zip(&chunk.stamps).enumerate() {
                    if *seen != stamp {
                        *seen = stamp;
                        changed(first + offset);
                    }
                }
            }
        }
    }
}

impl<T: Clone> Table<T> {
    /// The chunk of the element at `index`, which is stamped as written to; copied if it is shared.
    fn write(&mut self, index: usize) -> &mut Chunk<T> {
        let stamp = fresh_stamp();
        self.groups[index / (CHUNK * GROUP)] = stamp;
        let (latest, chunk) = &mut self.chunks[index / CHUNK];
        *latest = stamp;
        let chunk = Arc::make_mut(chunk);
        chunk.stamps[index % CHUNK] = stamp;
        chunk
    }
}

fn fresh_stamp() -> u64 {
    NEXT_STAMP.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes(vector: &CowVec<u32>, seen: &mut Seen) -> Vec<usize> {
        let mut found = Vec::new();
        vector.for_each_change(seen, |index| found.push(index));
        found
    }

    proptest! {
        #[test]
        fn clones_are_isolated_and_changes_are_found(
            writes in prop::collection::vec((0usize..1200, any::<u32>()), 0..40),
            pushes in 0usize..40,
        ) {
            let mut current = CowVec::new();
            for n in 0..1200u32 {
                current.push(n);
            }
            let older = current.clone();
            let mut seen = Seen::default();
            prop_assert_eq!(changes(&older, &mut seen).len(), 1200);
            let mut model: Vec<u32> = (0..1200).collect();
            let mut touched = std::collections::BTreeSet::new();
            for (index, value) in writes {
                *current.get_mut(index).expect("in range") = value;
                model[index] = value;
                touched.insert(index);
            }
            for n in 0..pushes {
                touched.insert(current.push(7));
                model.push(7);
                prop_assert_eq!(current.len(), 1201 + n);
            }
            prop_assert_eq!(current.iter().copied().collect::<Vec<_>>(), model);
            prop_assert!(older.iter().copied().eq(0..1200));
            let touched: Vec<usize> = touched.into_iter().collect();
            prop_assert_eq!(changes(&current, &mut seen), touched);
            prop_assert_eq!(changes(&current, &mut seen), Vec::<usize>::new());
        }
    }

    #[test]
    fn two_ways_from_one_state_are_never_mistaken_for_each_other() {
        let mut left = CowVec::new();
        left.push(0);
        let mut right = left.clone();
        let mut seen = Seen::default();
        changes(&left, &mut seen);
        *left.get_mut(0).expect("it is there") = 1;
        *right.get_mut(0).expect("it is there") = 2;
        assert_eq!(changes(&left, &mut seen), vec![0]);
        assert_eq!(changes(&right, &mut seen), vec![0]);
        assert_eq!(changes(&left, &mut seen), vec![0]);
    }

    #[test]
    fn nothing_is_out_there_beyond_the_end() {
        let mut vector = CowVec::new();
        assert!(vector.get(0).is_none() && vector.get_mut(0).is_none());
        vector.push(1);
        assert!(vector.get(1).is_none() && vector.get_mut(15).is_none());
    }
}
