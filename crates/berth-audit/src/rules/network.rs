//! Rules about the network: addresses that leak or collide, ranges that disagree, policy that lags.

use crate::rule::Rule;

pub(crate) mod ipam;

mod address_used_but_not_allocated;
mod affinity_block_mismatch;
mod affinity_of_gone_node;
mod allocation_without_handle;
mod block_in_no_pool;
mod blocks_per_host_exhausted;
mod borrowed_addresses;
mod calico_node_without_cpu_request;
mod cni_does_not_wait_for_policy;
mod corrupt_block;
mod duplicate_address;
mod handle_without_allocation;
mod illegal_ipam_settings;
mod leaked_address;
mod many_nodes_without_typha;
mod overlapping_blocks;
mod overlapping_pools;
mod pod_address_in_no_pool;
mod pod_range_drift;
mod pool_nearly_full;
mod second_family_not_in_status;
mod stale_tunnel_address;
mod strict_affinity_without_blocks;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &leaked_address::RULE,
    &handle_without_allocation::RULE,
    &allocation_without_handle::RULE,
    &address_used_but_not_allocated::RULE,
    &pod_address_in_no_pool::RULE,
    &duplicate_address::RULE,
    &overlapping_blocks::RULE,
    &overlapping_pools::RULE,
    &block_in_no_pool::RULE,
    &affinity_of_gone_node::RULE,
    &affinity_block_mismatch::RULE,
    &borrowed_addresses::RULE,
    &blocks_per_host_exhausted::RULE,
    &strict_affinity_without_blocks::RULE,
    &corrupt_block::RULE,
    &pool_nearly_full::RULE,
    &pod_range_drift::RULE,
    &calico_node_without_cpu_request::RULE,
    &cni_does_not_wait_for_policy::RULE,
    &many_nodes_without_typha::RULE,
    &illegal_ipam_settings::RULE,
    &stale_tunnel_address::RULE,
    &second_family_not_in_status::RULE,
];
