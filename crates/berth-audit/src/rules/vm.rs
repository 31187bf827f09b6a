//! Rules about virtual machines: what can't move, and what will hang.

use crate::rule::Rule;

mod device_capacity_below_use;
mod device_outside_quota;
mod drain_hangs_on_vm;
mod evacuation_left_over;
mod eviction_strategy_missing;
mod host_model_mismatch;
mod hugepages_outside_quota;
mod mdev_on_sriov_node;
mod migration_exceeds_quota;
mod volume_out_of_reach;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &drain_hangs_on_vm::RULE,
    &host_model_mismatch::RULE,
    &volume_out_of_reach::RULE,
    &device_outside_quota::RULE,
    &hugepages_outside_quota::RULE,
    &migration_exceeds_quota::RULE,
    &eviction_strategy_missing::RULE,
    &evacuation_left_over::RULE,
    &device_capacity_below_use::RULE,
    &mdev_on_sriov_node::RULE,
];
