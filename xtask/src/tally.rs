//! Counts of passed, failed and skipped checks, and the closing line made of them.
//!
//! Invariant: the closing line has one form everywhere, so that a reader of logs can rely on it.

use std::fmt;
use std::ops::AddAssign;

/// How many checks passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Tally {
    /// One check with the given result.
    pub(crate) fn one(result: Checked) -> Self {
        let mut tally = Self::default();
        tally.count(result);
        tally
    }

    pub(crate) fn count(&mut self, result: Checked) {
        match result {
            Checked::Passed => self.passed += 1,
            Checked::Failed => self.failed += 1,
            Checked::Skipped => self.skipped += 1,
        }
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.failed == 0
    }
}

/// The result of one check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Checked {
    Passed,
    Failed,
    Skipped,
}

impl Checked {
    /// `Passed` where the condition holds.
    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Passed } else { Self::Failed }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_is_named_only_where_there_is_any() {
        let mut tally = Tally {
            passed: 3,
            failed: 1,
            skipped: 0,
        };
        assert_eq!(tally.to_string(), "3 passed, 1 failed");
        tally += Tally::one(Checked::Skipped);
        assert_eq!(tally.to_string(), "3 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn one_failure_spoils_the_tally() {
        assert!(Tally::one(Checked::Passed).is_clean());
        assert!(!Tally::one(Checked::Failed).is_clean());
    }
}
