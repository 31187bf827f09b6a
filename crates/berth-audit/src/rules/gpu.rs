//! Rules about GPUs: why they stand idle, and who gets in whose way.

use crate::rule::Rule;

mod bad_card_keeps_slices;
mod card_under_two_names;
mod cards_delivered_twice;
mod drivers_differ;
mod exporter_hides_sharers;
mod exporter_lacks_fields;
mod free_gpus_in_fragments;
mod free_gpus_without_cpu;
mod gpu_name_no_node_has;
mod health_checks_off;
mod kubelet_restart_kills_pod;
mod mig_geometry_nobody_asks;
mod notebooks_hold_whole_gpus;
mod operator_older_than_cluster;
mod pods_refused_by_devices;
mod raw_mig_name_beside_hami;
mod room;
mod runtime_handler_missing;
mod slices_asked_in_plural;
mod slices_without_memory_guard;
pub(in crate::rules) mod stack;
mod two_owners_of_one_resource;
mod validation_older_than_driver;
mod xid_judged_wrongly;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &runtime_handler_missing::RULE,
    &two_owners_of_one_resource::RULE,
    &slices_without_memory_guard::RULE,
    &slices_asked_in_plural::RULE,
    &cards_delivered_twice::RULE,
    &raw_mig_name_beside_hami::RULE,
    &card_under_two_names::RULE,
    &mig_geometry_nobody_asks::RULE,
    &gpu_name_no_node_has::RULE,
    &exporter_lacks_fields::RULE,
    &health_checks_off::RULE,
    &xid_judged_wrongly::RULE,
    &bad_card_keeps_slices::RULE,
    &operator_older_than_cluster::RULE,
    &free_gpus_in_fragments::RULE,
    &free_gpus_without_cpu::RULE,
    &notebooks_hold_whole_gpus::RULE,
    &exporter_hides_sharers::RULE,
    &drivers_differ::RULE,
    &validation_older_than_driver::RULE,
    &kubelet_restart_kills_pod::RULE,
    &pods_refused_by_devices::RULE,
];
