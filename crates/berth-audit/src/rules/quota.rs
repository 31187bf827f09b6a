//! Rules about scheduling and quota: limits that do not bind, queues that do not add up.

use crate::rule::Rule;

mod alignment_without_cpu_manager;
mod cohort_above_capacity;
mod gang_mark_without_scheduler;
mod group_above_queue_limit;
mod kueue;
mod part_of_gang_holds_gpus;
mod pinning_expected_policy_off;
mod queue_can_never_run;
mod queue_does_not_cover_gpu;
mod queue_points_nowhere;
mod quota_escaped_by_name;
mod quota_key_never_binds;
mod waits_behind_lower_priority;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &quota_key_never_binds::RULE,
    &quota_escaped_by_name::RULE,
    &gang_mark_without_scheduler::RULE,
    &part_of_gang_holds_gpus::RULE,
    &waits_behind_lower_priority::RULE,
    &pinning_expected_policy_off::RULE,
    &alignment_without_cpu_manager::RULE,
    &queue_can_never_run::RULE,
    &cohort_above_capacity::RULE,
    &queue_does_not_cover_gpu::RULE,
    &queue_points_nowhere::RULE,
    &group_above_queue_limit::RULE,
];
