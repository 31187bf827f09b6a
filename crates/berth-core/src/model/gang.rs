//! A gang: pods that start together or not at all.
//!
//! Invariant: after the decisions of a cycle are applied, a gang has no bound member or at least
//! `members_min` of them. Not here: elasticity beyond the minimum count.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gang {
    /// Namespaced name, for messages.
    pub name: Arc<str>,
    /// How many members must start at once, at least 1.
    pub members_min: u32,
    /// Priority of all members, whatever they say themselves: they have their turn together.
    pub priority: i32,
    /// Members that wait, kept by the draft.
    pub pending: u32,
    /// Members that hold a place, kept by the draft.
    pub bound: u32,
}

impl Gang {
    /// Whether some, but too few, members hold a place: a node took the others with it.
    #[must_use]
    pub fn is_stranded(&self) -> bool {
        self.bound > 0 && self.bound < self.members_min
    }

    /// How many waiting members have to be placed at one stroke for any of them to start.
    #[must_use]
    pub fn needed_at_once(&self) -> u32 {
        self.members_min.saturating_sub(self.bound).max(1)
    }
}
