//! Rules about virtual machines: what can't move, and what will hang.

use crate::rule::Rule;

mod drain_hangs_on_vm;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&drain_hangs_on_vm::RULE];
