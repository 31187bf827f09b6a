//! Rules about the network: addresses that leak or collide, ranges that disagree, policy that lags.

use crate::rule::Rule;

pub(crate) mod ipam;

mod leaked_address;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&leaked_address::RULE];
