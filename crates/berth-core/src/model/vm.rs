//! A virtual machine: an identity that outlives the pods that carry it.
//!
//! Invariant: a machine is one workload however many pods carry it for a moment (source and target
//! of a live migration). Not here: operations on machines.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Whether a machine can be moved while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Migratability {
    /// Can be moved while it runs.
    LiveMigratable,
    /// Would have to be stopped: a device is handed through or a volume can't follow.
    Pinned,
}

/// A virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vm {
    /// Namespaced name, for messages.
    pub name: Arc<str>,
    /// Whether it can be moved while it runs.
    pub migratability: Migratability,
}
