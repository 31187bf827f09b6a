//! Records by family of kinds: small structs with the fields that rules read.
//!
//! A field that a rule needs and that is not here is added here; everything else is skipped while
//! reading, so a dump stays small.

pub mod calico;
pub mod ceph;
pub mod config_map;
pub mod definition;
pub mod dra;
pub mod event;
pub mod gpu_operator;
pub mod kubeflow;
pub mod kubevirt;
pub mod kueue;
pub mod lease;
pub mod longhorn;
pub mod namespace;
pub mod node;
pub mod pod;
pub mod quota;
pub mod rbac;
pub mod service;
pub mod storage;
pub mod volcano;
pub mod webhook;
pub mod workload;
