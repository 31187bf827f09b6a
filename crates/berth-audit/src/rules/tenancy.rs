//! Rules about tenancy and security: who can harm whom.

use crate::rule::Rule;

mod webhook_can_lock_out;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&webhook_can_lock_out::RULE];
