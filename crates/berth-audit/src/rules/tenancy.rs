//! Rules about tenancy and security: who can harm whom.

use crate::rule::Rule;

mod culling_not_in_force;
mod default_account_has_rights;
mod extras_can_be_forged;
mod image_floats;
mod namespace_without_quota;
mod no_sign_of_mfa;
mod notebook_idle;
mod pod_sees_every_gpu;
mod rights;
mod rights_for_everyone;
mod webhook_can_lock_out;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[
    &webhook_can_lock_out::RULE,
    &rights_for_everyone::RULE,
    &default_account_has_rights::RULE,
    &extras_can_be_forged::RULE,
    &pod_sees_every_gpu::RULE,
    &culling_not_in_force::RULE,
    &notebook_idle::RULE,
    &no_sign_of_mfa::RULE,
    &image_floats::RULE,
    &namespace_without_quota::RULE,
];
