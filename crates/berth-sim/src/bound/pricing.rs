//! The best configuration of each machine under the prices of a round.
//!
//! One pass for all machines with the same kinds and price of memory: the ways to fill one card ([`cards`]), then
//! for `k` cards and at most `c` columns of CPU
//!
//! ```text
//! E_0(c) = 0
//! E_k(c) = max of E_{k-1}(c - columns) + worth over fillings of a card,
//!                 E_{k-n}(c - columns) + worth over pods of n whole cards
//! ```
//!
//! which is exact in CPU, cards and models; memory is paid for out of the worth.
//! Invariant: a value is never below the best configuration's. Not here: prices.

use std::collections::BTreeMap;

use super::cards::{Cards, Item};
use super::problem::Normal;

/// A configuration of a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Column {
    pub(super) machine: usize,
    /// Kinds and how many of each, rising.
    pub(super) pods: Vec<(usize, u32)>,
}

/// What a round found.
#[derive(Debug)]
pub(super) struct Found {
    /// By machine: at least the value of its best configuration.
    pub(super) values: Vec<i64>,
    pub(super) columns: Vec<Column>,
}

/// Prices configurations.
#[derive(Debug)]
pub(super) struct Pricing<'a> {
    normal: &'a Normal,
    /// By machine: the kinds that fit it.
    kinds: Vec<Vec<usize>>,
    steps: u64,
}

/// The values of `k` cards and `c` columns.
#[derive(Debug)]
struct Table {
    items: Vec<Item>,
    cards: Cards,
    /// By cards, then columns.
    best: Vec<Vec<i64>>,
}

impl<'a> Pricing<'a> {
    pub(super) fn new(normal: &'a Normal) -> Self {
        let fitting = |machine| {
            let kinds = normal.kinds.iter().enumerate();
            let fit = kinds.filter(|(_, kind)| Normal::fits(kind, machine));
            fit.map(|(at, _)| at).collect()
        };
        Self {
            normal,
            kinds: normal.machines.iter().map(fitting).collect(),
            steps: 0,
        }
    }

    /// Elementary steps done.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The best configuration of each machine under `prices`: of each kind, then of memory on each
    /// machine.
    pub(super) fn price(&mut self, prices: &[i64]) -> Found {
        let of_memory = &prices[self.normal.kinds.len()..];
        let mut families: BTreeMap<(&[usize], i64), Vec<usize>> = BTreeMap::new();
        for (at, kinds) in self.kinds.iter().enumerate() {
            let family = families.entry((kinds, of_memory[at])).or_default();
            family.push(at);
        }
        let mut found = Found {
            values: vec![0; self.normal.machines.len()],
            columns: Vec::new(),
        };
        for ((kinds, memory_price), machines) in families {
            let of = |at: &usize| &self.normal.machines[*at];
            let gpus = machines.iter().map(|at| of(at).gpus).max().unwrap_or(0);
            let columns = machines.iter().map(|at| of(at).columns).max().unwrap_or(0);
            let item = |&kind: &usize| {
                let of = &self.normal.kinds[kind];
                let worth = of.value - prices[kind] - memory_price * of.memory;
                (worth > 0).then(|| Item {
                    kind,
                    gpus: usize::from(of.gpus),
                    units: usize::from(of.units),
                    columns: of.columns as usize,
                    worth,
                })
            };
            let items = kinds.iter().filter_map(item).collect();
            let extent = (usize::from(gpus), columns as usize);
            let table = Table::new(
                items,
                usize::from(self.normal.card),
                extent,
                &mut self.steps,
            );
            for &at in &machines {
                let (gpus, columns) = (usize::from(of(&at).gpus), of(&at).columns as usize);
                found.values[at] = table.best[gpus][columns];
                found.columns.push(Column {
                    machine: at,
                    pods: counted(table.pods(gpus, columns)),
                });
            }
        }
        found
    }
}

impl Table {
    fn new(
        items: Vec<Item>,
        card: usize,
        (gpus, columns): (usize, usize),
        steps: &mut u64,
    ) -> Self {
        let cards = Cards::new(&items, card, columns, steps);
        let mut best = vec![vec![0; columns + 1]];
        for free in 1..=gpus {
            let mut at = best[free - 1].clone();
            for filling in cards.full() {
                raise(&mut at, &best[free - 1], filling.columns, filling.worth);
            }
            let fillings = cards.full().len();
            let multis = items.iter().filter(|item| (2..=free).contains(&item.gpus));
            let mut n = fillings;
            for item in multis {
                raise(&mut at, &best[free - item.gpus], item.columns, item.worth);
                n += 1;
            }
            *steps += (n * (columns + 1)) as u64;
            best.push(at);
        }
        Self { items, cards, best }
    }

    /// The pods of a best configuration.
    fn pods(&self, gpus: usize, columns: usize) -> Vec<usize> {
        let mut pods = Vec::new();
        let (mut free, mut columns) = (gpus, columns);
        while free > 0 && self.best[free][columns] > 0 {
            let value = self.best[free][columns];
            let multi = self.items.iter().find(|item| {
                (2..=free).contains(&item.gpus)
                    && item.columns <= columns
                    && self.best[free - item.gpus][columns - item.columns] + item.worth == value
            });
            if let Some(item) = multi {
                pods.push(item.kind);
                free -= item.gpus;
                columns -= item.columns;
                continue;
            }
            let filling = self.cards.full().iter().rev().find(|filling| {
                filling.columns <= columns
                    && self.best[free - 1][columns - filling.columns] + filling.worth == value
            });
            let filling = filling.expect("a value is made of what is in the tables");
            self.cards.unfold(filling, &mut pods);
            free -= 1;
            columns -= filling.columns;
        }
        pods
    }
}

/// `to[c] = max(to[c], from[c - by] + worth)`.
fn raise(to: &mut [i64], from: &[i64], by: usize, worth: i64) {
    for (to, from) in to[by..].iter_mut().zip(from) {
        let with = from + worth;
        *to = if with > *to { with } else { *to };
    }
}

fn counted(mut pods: Vec<usize>) -> Vec<(usize, u32)> {
    pods.sort_unstable();
    let mut counts: Vec<(usize, u32)> = Vec::new();
    for kind in pods {
        match counts.last_mut() {
            Some((last, n)) if *last == kind => *n += 1,
            _ => counts.push((kind, 1)),
        }
    }
    counts
}
