//! Rules about workloads: what blocks drains and upgrades.

use crate::rule::Rule;

mod budget_blocks_drain;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&budget_blocks_drain::RULE];
