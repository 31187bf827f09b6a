//! The catalogue: one file a rule, one entry in its family's list.
//!
//! Adding a rule is told in `docs/howto/add-a-rule.md`.

pub mod control_plane;
pub mod gpu;
pub mod host;
pub mod network;
pub mod quota;
pub mod storage;
pub mod tenancy;
pub mod vm;
pub mod workload;

use crate::rule::Rule;

/// Every rule, by family and code.
#[must_use]
pub fn all() -> Vec<&'static Rule> {
    let families = [
        control_plane::RULES,
        network::RULES,
        storage::RULES,
        gpu::RULES,
        quota::RULES,
        vm::RULES,
        tenancy::RULES,
        workload::RULES,
        host::RULES,
    ];
    families.concat()
}

/// The rule with this code or name, in any case.
#[must_use]
pub fn named(text: &str) -> Option<&'static Rule> {
    all()
        .into_iter()
        .find(|rule| rule.code.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text))
}
