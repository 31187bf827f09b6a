//! Rules about storage: what will lose data, or keep pods and volumes apart.

use crate::rule::Rule;

mod wrong_kubelet_root;

/// The rules of this family, by code.
pub const RULES: &[&Rule] = &[&wrong_kubelet_root::RULE];
