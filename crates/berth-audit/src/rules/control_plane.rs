//! Rules about control plane: its store, its settings, its fail-over.

use crate::rule::Rule;

mod quorum_at_risk;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&quorum_at_risk::RULE];
