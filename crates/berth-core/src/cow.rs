//! A persistent vector: chunks behind `Arc`, copied only when written to while shared.
//!
//! Invariant: a clone never sees a later write to its original. What differs between two vectors
//! of one lineage is found by comparing chunk pointers, so the cost follows the change and not the
//! length; and since the older vector keeps its chunks alive, an address can't be recycled under
//! the comparison. Not here: removal in the middle (owners mark slots as vacant instead).

use std::sync::Arc;

use smallvec::SmallVec;

/// Elements a chunk holds: small enough that copying one chunk of pointers stays under 100 ns,
/// large enough that 10,000 nodes are compared by 313 pointers.
const CHUNK: usize = 32;

type Chunk<T> = SmallVec<[T; CHUNK]>;

/// A persistent vector of `T`, usually of `Arc<Something>`.
#[derive(Debug, Clone)]
pub struct CowVec<T> {
    chunks: Arc<Vec<Arc<Chunk<T>>>>,
    len: usize,
}

impl<T> Default for CowVec<T> {
    fn default() -> Self {
        Self {
            chunks: Arc::new(Vec::new()),
            len: 0,
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
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    /// The element at `index` for writing; copies its chunk if that is shared.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(index / CHUNK)?;
        Arc::make_mut(chunk).get_mut(index % CHUNK)
    }

    /// Appends `element` and returns its index.
    pub fn push(&mut self, element: T) -> usize {
        let index = self.len;
        let chunks = Arc::make_mut(&mut self.chunks);
        if index.is_multiple_of(CHUNK) {
            chunks.push(Arc::new(Chunk::new()));
        }
        let last = chunks
            .last_mut()
            .expect("a chunk was pushed whenever the last one was full");
        Arc::make_mut(last).push(element);
        self.len += 1;
        index
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

impl<T> CowVec<Arc<T>> {
    /// Calls `changed` for each index whose element is not the very same allocation in `older`,
    /// including indices that `older` doesn't have.
    ///
    /// Cost: one pointer comparison a chunk, and one an element in chunks that differ.
    pub fn for_each_change(&self, older: &Self, mut changed: impl FnMut(usize)) {
        if Arc::ptr_eq(&self.chunks, &older.chunks) {
            return;
        }
        for (at, chunk) in self.chunks.iter().enumerate() {
            let before = older.chunks.get(at);
            if before.is_some_and(|before| Arc::ptr_eq(before, chunk)) {
                continue;
            }
            for (offset, element) in chunk.iter().enumerate() {
                let same = before
                    .and_then(|before| before.get(offset))
                    .is_some_and(|before| Arc::ptr_eq(before, element));
                if !same {
                    changed(at * CHUNK + offset);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn clones_are_isolated_and_changes_are_found(
            writes in prop::collection::vec((0usize..100, any::<u32>()), 0..40),
            pushes in 0usize..40,
        ) {
            let mut current = CowVec::new();
            for n in 0..100u32 {
                current.push(Arc::new(n));
            }
            let older = current.clone();
            let mut model: Vec<u32> = (0..100).collect();
            let mut touched = std::collections::BTreeSet::new();
            for (index, value) in writes {
                *current.get_mut(index).expect("in range") = Arc::new(value);
                model[index] = value;
                touched.insert(index);
            }
            for n in 0..pushes {
                touched.insert(current.push(Arc::new(7)));
                model.push(7);
                prop_assert_eq!(current.len(), 101 + n);
            }
            prop_assert_eq!(current.iter().map(|n| **n).collect::<Vec<_>>(), model);
            prop_assert!(older.iter().map(|n| **n).eq(0..100));
            let mut found = Vec::new();
            current.for_each_change(&older, |index| found.push(index));
            prop_assert_eq!(found, touched.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_is_out_there_beyond_the_end() {
        let mut vector = CowVec::new();
        assert!(vector.get(0).is_none() && vector.get_mut(0).is_none());
        vector.push(1);
        assert!(vector.get(1).is_none() && vector.get_mut(31).is_none());
    }
}
