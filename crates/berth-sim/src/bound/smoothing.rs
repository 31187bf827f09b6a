//! Which prices to try next: between the master's proposal and the best prices so far.
//!
//! The master's proposals jump while it knows few configurations; in between, bounds improve
//! steadily (Wentges, "Weighted Dantzig-Wolfe Decomposition", 1997; Pessoa et al., "Automation and
//! Combination of Linear-Programming Based Stabilization Techniques in Column Generation", 2018).
//! Invariant: prices lie between zero and the value of the pod. Not here: bounds.

use super::problem::Normal;

/// Part of the best prices in the next ones.
const PART_OF_BEST: f64 = 0.5;

/// How that part shrinks while nothing better is found.
const SHRINK: f64 = 0.7;

/// Gap of the master as a part of the search's.
const MASTER_GAP: f64 = 0.1;

/// The state of the search for prices.
#[derive(Debug)]
pub(super) struct Smoothing {
    prices_max: Vec<i64>,
    best: Vec<i64>,
    best_bound: Option<i128>,
    part: f64,
    gap: f64,
}

impl Smoothing {
    pub(super) fn new(normal: &Normal) -> Self {
        let prices_max = normal.prices_max();
        Self {
            best: vec![0; prices_max.len()],
            prices_max,
            best_bound: None,
            part: 0.0,
            gap: 1.0,
        }
    }

    /// The next prices, given the master's.
    pub(super) fn prices(&self, proposed: &[f64]) -> Vec<i64> {
        let next = |((proposed, &best), &most): ((&f64, &i64), &i64)| {
            let mixed = self.part * best as f64 + (1.0 - self.part) * proposed;
            (mixed.round() as i64).clamp(0, most)
        };
        let known = proposed.iter().zip(&self.best).zip(&self.prices_max);
        known.map(next).collect()
    }

    /// Takes down the bound of prices.
    pub(super) fn judge(&mut self, prices: &[i64], bound: i128) {
        if self.best_bound.is_none_or(|best| bound < best) {
            self.best = prices.to_vec();
            self.best_bound = Some(bound);
            self.part = PART_OF_BEST;
        } else {
            self.part *= SHRINK;
        }
    }

    /// Takes down the gap, as a part of the cluster.
    pub(super) fn narrow(&mut self, gap: f64) {
        self.gap = gap;
    }

    /// How exactly the master should be solved: no finer than a part of the gap.
    pub(super) fn master_gap(&self) -> f64 {
        MASTER_GAP * self.gap
    }
}
