//! Rules about hosts: limits and settings of the machines themselves.

use crate::rule::Rule;

mod aio_exhausted;
mod clock_skew;
mod disk_nearly_full;
mod gpu_kernels_differ;
mod inotify_limits_low;
mod kubelet_reserves_nothing;
mod kubelet_version_skew;
mod machine_id_shared;
mod memory_ran_out;
mod node_in_trouble;
mod node_not_ready;
mod snap;
mod snap_refreshes_itself;
mod snap_revisions_differ;
mod swap_in_use;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &aio_exhausted::RULE,
    &node_in_trouble::RULE,
    &node_not_ready::RULE,
    &disk_nearly_full::RULE,
    &inotify_limits_low::RULE,
    &swap_in_use::RULE,
    &snap_refreshes_itself::RULE,
    &snap_revisions_differ::RULE,
    &clock_skew::RULE,
    &kubelet_version_skew::RULE,
    &machine_id_shared::RULE,
    &kubelet_reserves_nothing::RULE,
    &memory_ran_out::RULE,
    &gpu_kernels_differ::RULE,
];
