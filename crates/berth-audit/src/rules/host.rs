//! Rules about hosts: limits and settings of the machines themselves.

use crate::rule::Rule;

mod aio_exhausted;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&aio_exhausted::RULE];
