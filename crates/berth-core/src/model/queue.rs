//! The queue tree: organisation, team, user, or whatever layers a site has.
//!
//! Invariant: a queue's `used` is the sum of the charges of the bound pods in it and below it.
//! Not here: borrowing, lending and fair share over time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::amount::GpuUnits;
use crate::id::QueueId;

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Name, unique in the tree.
    pub name: Arc<str>,
    /// The queue above, unless this is a root.
    pub parent: Option<QueueId>,
    /// The most that the queue and all below it may hold, in physical-GPU equivalents.
    pub limit: Option<GpuUnits>,
    /// What they hold now, kept by the draft.
    pub used: GpuUnits,
}
