//! The ways to use one card that are worth looking at.
//!
//! Invariant: of two fillings of a card, the one that takes no more CPU and is worth no less is
//! kept; the list rises in both. Not here: nodes.

/// A pod of a kind under the prices of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) kind: usize,
    /// Cards; one for shares.
    pub(super) gpus: usize,
    /// Units of each card.
    pub(super) units: usize,
    /// Columns of CPU.
    pub(super) columns: usize,
    /// Value less price, above zero.
    pub(super) worth: i64,
}

/// One way to fill a card.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    pub(super) columns: usize,
    pub(super) worth: i64,
    /// The last pod put in, and the filling before it: its list and place there.
    last: Option<(usize, usize, usize)>,
}

/// Fillings by units of a card that they may use.
#[derive(Debug)]
pub(super) struct Cards {
    lists: Vec<Vec<Filling>>,
}

const EMPTY: Filling = Filling {
    columns: 0,
    worth: 0,
    last: None,
};

impl Cards {
    /// Fillings with those of `items` that use one card, on a card of `units` units, for nodes
    /// with at most `columns` columns. Adds its work to `steps`.
    pub(super) fn new(items: &[Item], units: usize, columns: usize, steps: &mut u64) -> Self {
        let singles: Vec<&Item> = items.iter().filter(|item| item.gpus == 1).collect();
        let mut lists: Vec<Vec<Filling>> = vec![vec![EMPTY]];
        let mut candidates: Vec<Filling> = Vec::new();
        for used in 1..=units {
            candidates.clear();
            candidates.extend_from_slice(&lists[used - 1]);
            for item in singles.iter().filter(|item| item.units <= used) {
                let from = used - item.units;
                let fillings = lists[from].iter().enumerate();
                let fit = fillings.take_while(|(_, f)| f.columns + item.columns <= columns);
                candidates.extend(fit.map(|(at, filling)| Filling {
                    columns: filling.columns + item.columns,
                    worth: filling.worth + item.worth,
                    last: Some((item.kind, from, at)),
                }));
            }
            *steps += candidates.len() as u64;
            lists.push(best_of(&mut candidates));
        }
        Self { lists }
    }

    /// The fillings of a whole card, rising in CPU and worth.
    pub(super) fn full(&self) -> &[Filling] {
        self.lists.last().expect("an empty card has a list")
    }

    /// Adds the pods of a filling of the whole card to `pods`.
    pub(super) fn unfold(&self, filling: &Filling, pods: &mut Vec<usize>) {
        let mut filling = filling;
        while let Some((kind, from, at)) = filling.last {
            pods.push(kind);
            filling = &self.lists[from][at];
        }
    }
}

/// Those that no other one beats.
fn best_of(candidates: &mut [Filling]) -> Vec<Filling> {
    candidates.sort_by(|a, b| (a.columns, b.worth).cmp(&(b.columns, a.worth)));
    let mut best: Vec<Filling> = Vec::new();
    for candidate in candidates.iter() {
        if best.last().is_none_or(|last| candidate.worth > last.worth) {
            best.push(*candidate);
        }
    }
    best
}
