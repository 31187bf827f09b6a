//! Rules about GPUs: why they stand idle, and who gets in whose way.

use crate::rule::Rule;

mod runtime_handler_missing;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&runtime_handler_missing::RULE];
