//! The event log, kept as a running hash: what happened, in order, without the memory.
//!
//! Invariant: the hash depends on every entry and on their order, and on nothing else. Not here:
//! protection against forgery; this is a fingerprint for comparing runs.

use berth_core::time::Time;

/// What an entry of the log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A pod was submitted.
    Submitted = 1,
    /// A pod got its place.
    Bound = 2,
    /// A pod ran to its end.
    Ended = 3,
    /// A pod left without having run.
    Withdrawn = 4,
    /// A pod lost its place.
    Evicted = 5,
    /// A node became lost, cordoned or ready again.
    Node = 6,
    /// A GPU failed or was repaired.
    Gpu = 7,
}

/// A running hash over the entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    hash: u64,
    entries: u64,
}

impl Log {
    /// Adds an entry.
    pub(crate) fn add(&mut self, at: Time, entry: Entry, words: [u64; 3]) {
        self.entries += 1;
        self.fold(at.0.cast_unsigned());
        self.fold(entry as u64);
        for word in words {
            self.fold(word);
        }
    }

    /// Entries so far.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// The hash of all entries so far.
    pub(crate) fn hash(&self) -> u64 {
        // The finaliser of SplitMix64, so that close states give far hashes.
        let mut mixed = self.hash ^ self.entries;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn fold(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_content_change_the_hash() {
        let hash = |entries: &[(Entry, u64)]| {
            let mut log = Log::default();
            for &(entry, word) in entries {
                log.add(Time(7), entry, [word, 0, 0]);
            }
            log.hash()
        };
        let (a, b) = ((Entry::Bound, 1), (Entry::Ended, 1));
        assert_eq!(hash(&[a, b]), hash(&[a, b]));
        assert_ne!(hash(&[a, b]), hash(&[b, a]));
        assert_ne!(hash(&[a, b]), hash(&[a, (Entry::Ended, 2)]));
        assert_ne!(hash(&[]), hash(&[a]));
    }
}
