//! Rules about control plane: its store, its settings, its fail-over.

use crate::rule::Rule;

mod api_allows_everyone;
mod certificate_expired;
mod dqlite_log_broken;
mod etcd_out_of_space;
mod etcd_settings_unfit;
mod even_etcd_members;
mod events_soon_forgotten;
mod keepalived;
mod leader_lease_too_long;
mod program;
mod quorum_at_risk;
mod service_range_too_small;
mod stale_raft_address;
mod store_waits_for_disk;
mod vip_moves_too_late;
mod vrrp_check_without_effect;
mod vrrp_moves_too_late;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &quorum_at_risk::RULE,
    &dqlite_log_broken::RULE,
    &stale_raft_address::RULE,
    &api_allows_everyone::RULE,
    &service_range_too_small::RULE,
    &leader_lease_too_long::RULE,
    &vip_moves_too_late::RULE,
    &vrrp_check_without_effect::RULE,
    &vrrp_moves_too_late::RULE,
    &even_etcd_members::RULE,
    &etcd_out_of_space::RULE,
    &etcd_settings_unfit::RULE,
    &store_waits_for_disk::RULE,
    &certificate_expired::RULE,
    &events_soon_forgotten::RULE,
];
