//! First fit: the first node by name that fits.

use super::{Entry, Place, Policy, Score, Selection};

pub(super) const ENTRY: Entry = Entry {
    name: "first-fit",
    summary: "the first node by name that fits; the trivial baseline",
    manual: "Every node that fits scores the same, so the lowest name wins.\n\
             On the node, a share goes to the fullest GPU that still fits.\n\
             Use it as the floor of a comparison and to measure the engine itself.",
    selection: Selection::HighestScore,
    build: |_| Box::new(FirstFit),
};

#[derive(Debug)]
struct FirstFit;

impl Policy for FirstFit {
    fn score(&mut self, _place: &Place<'_>) -> Score {
        0
    }
}
