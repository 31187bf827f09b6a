//! The lowest set of a given size that has enough of everything free.
//!
//! NUMA nodes are decided on from the highest number down, left out first, so the first set that is
//! found is the lowest. A branch ends where the best of what remains can't be enough of some resource,
//! and where what remains has been tried with at least as much before: NUMA nodes come in few kinds,
//! so that happens soon. Invariant: at most [`limits::NUMA_STEPS_MAX`] steps.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::limits;
use crate::numa::{Amounts, Cell, CellSet};

/// The bound was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutOfSteps;

/// What is still missing of each resource.
type Missing = SmallVec<[i64; 4]>;

struct Search<'a> {
    cells: &'a [Cell],
    asked: &'a [usize],
    /// `most[n][resource][k]`: the most that `k` of the first `n` NUMA nodes have free together.
    most: Vec<Vec<Vec<i64>>>,
    /// By NUMA nodes and places that remain: what was missing and not found there.
    failed: BTreeMap<(usize, usize), Vec<Missing>>,
    steps: usize,
}

/// The set with the lowest number among those of `size` NUMA nodes that have enough free of all that
/// is `asked`.
pub(super) fn lowest(
    cells: &[Cell],
    asks: &Amounts,
    asked: &[usize],
    size: usize,
) -> Result<Option<CellSet>, OutOfSteps> {
    let missing: Missing = asked.iter().map(|&at| asks[at]).collect();
    let mut search = Search {
        cells,
        asked,
        most: most(cells, asked),
        failed: BTreeMap::new(),
        steps: limits::NUMA_STEPS_MAX,
    };
    search.find(cells.len(), size, &missing)
}

impl Search<'_> {
    /// The lowest set of `places` among the first `n` NUMA nodes that has what is missing.
    fn find(
        &mut self,
        n: usize,
        places: usize,
        missing: &Missing,
    ) -> Result<Option<CellSet>, OutOfSteps> {
        self.steps = self.steps.checked_sub(1).ok_or(OutOfSteps)?;
        if places == 0 {
            let done = missing.iter().all(|&missing| missing <= 0);
            return Ok(done.then_some(CellSet(0)));
        }
        if places > n || self.is_hopeless(n, places, missing) {
            return Ok(None);
        }
        let tried = self.failed.get(&(n, places));
        let covers = |less: &Missing| less.iter().zip(missing).all(|(less, now)| less <= now);
        if tried.is_some_and(|tried| tried.iter().any(covers)) {
            return Ok(None);
        }
        if let Some(without) = self.find(n - 1, places, missing)? {
            return Ok(Some(without));
        }
        let cell = &self.cells[n - 1];
        let still = self.asked.iter().zip(missing);
        // What is beyond the need of one is no help to another.
        let still = still.map(|(&at, &missing)| (missing - cell.free[at].max(0)).max(0));
        if let Some(with) = self.find(n - 1, places - 1, &still.collect())? {
            return Ok(Some(CellSet(with.0 | 1 << (n - 1))));
        }
        let tried = self.failed.entry((n, places)).or_default();
        tried.push(missing.clone());
        Ok(None)
    }

    fn is_hopeless(&self, n: usize, places: usize, missing: &Missing) -> bool {
        let most = &self.most[n];
        let mut each = missing.iter().enumerate();
        each.any(|(resource, &missing)| missing > most[resource][places])
    }
}

fn most(cells: &[Cell], asked: &[usize]) -> Vec<Vec<Vec<i64>>> {
    let first = |n: usize, at: usize| {
        let mut free: Vec<i64> = cells[..n].iter().map(|cell| cell.free[at].max(0)).collect();
        free.sort_unstable_by(|a, b| b.cmp(a));
        let mut sums = vec![0i64];
        for free in free {
            sums.push(sums[sums.len() - 1].saturating_add(free));
        }
        sums
    };
    let of = |n| asked.iter().map(|&at| first(n, at)).collect();
    (0..=cells.len()).map(of).collect()
}
