//! Rules about storage: what will lose data, or keep pods and volumes apart.

use crate::rule::Rule;

mod attached_to_lost_node;
mod ceph_pool_cannot_place;
mod ceph_unhealthy;
mod claim_of_unknown_class;
mod class_out_of_reach;
mod default_class_unclear;
mod gpu_and_volume_apart;
mod host_path_without_node;
mod local_class_binds_at_once;
mod longhorn;
mod longhorn_cpu_guarantee_unfit;
mod longhorn_disk_nearly_full;
mod longhorn_kernel_known_bad;
mod longhorn_no_room_to_rebuild;
mod longhorn_node_unfit;
mod longhorn_rebuild_loop;
mod longhorn_replicas_together;
mod longhorn_single_replica;
mod longhorn_too_few_nodes;
mod longhorn_volume_unhealthy;
mod reach;
mod user_data_goes_with_claim;
mod volume_without_node;
mod wrong_kubelet_root;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &wrong_kubelet_root::RULE,
    &longhorn_volume_unhealthy::RULE,
    &longhorn_single_replica::RULE,
    &longhorn_replicas_together::RULE,
    &longhorn_no_room_to_rebuild::RULE,
    &longhorn_rebuild_loop::RULE,
    &longhorn_cpu_guarantee_unfit::RULE,
    &volume_without_node::RULE,
    &host_path_without_node::RULE,
    &gpu_and_volume_apart::RULE,
    &default_class_unclear::RULE,
    &claim_of_unknown_class::RULE,
    &local_class_binds_at_once::RULE,
    &user_data_goes_with_claim::RULE,
    &attached_to_lost_node::RULE,
    &ceph_pool_cannot_place::RULE,
    &ceph_unhealthy::RULE,
    &class_out_of_reach::RULE,
    &longhorn_kernel_known_bad::RULE,
    &longhorn_node_unfit::RULE,
    &longhorn_too_few_nodes::RULE,
    &longhorn_disk_nearly_full::RULE,
];
