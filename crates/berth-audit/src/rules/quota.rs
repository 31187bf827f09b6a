//! Rules about scheduling and quota: limits that do not bind, queues that do not add up.

use crate::rule::Rule;

mod quota_key_never_binds;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&quota_key_never_binds::RULE];
