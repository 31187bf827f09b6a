//! Rules about workloads: what blocks drains and upgrades, and what holds GPUs for nothing.

use crate::rule::Rule;

mod budget_blocks_drain;
pub(in crate::rules) mod gpus;
mod memory_unlimited;
mod namespace_stuck;
mod restart_loop;
mod start_fails;
mod stuck_terminating;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &budget_blocks_drain::RULE,
    &start_fails::RULE,
    &stuck_terminating::RULE,
    &namespace_stuck::RULE,
    &restart_loop::RULE,
    &memory_unlimited::RULE,
];
