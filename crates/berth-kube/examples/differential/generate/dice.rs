//! A stream of random choices.

use berth_core::stream::Stream;

/// Random choices.
#[derive(Debug)]
pub(crate) struct Dice(Stream);

impl Dice {
    pub(crate) fn new(stream: Stream) -> Self {
        Self(stream)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = self.below(from.len() as u64);
        from[usize::try_from(index).expect("lists are short")]
    }
}
