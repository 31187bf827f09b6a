//! The queue tree: organisation, team, user, or whatever layers a site has.
//!
//! Invariant: a queue's accounts are kept by the draft alone, see [`crate::quota`]. Not here: the
//! arithmetic of the tree.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::amount::GpuUnits;
use crate::id::QueueId;
use crate::quota::{Account, Meter, Quota, Usage};
use crate::time::{Span, Time};

/// A queue as a feed introduces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpec {
    /// Name, unique in the tree.
    pub name: Arc<str>,
    /// The queue above, unless this is a root. A tree that grows downwards only has no cycles.
    pub parent: Option<QueueId>,
    /// Its part among the queues beside it when all of them want more than there is; 0 is served
    /// when nobody else wants anything.
    pub weight: u32,
    /// What the site has decided, meter by meter.
    pub quotas: Vec<(Meter, Quota)>,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Name, unique in the tree.
    pub name: Arc<str>,
    /// The queue above, unless this is a root.
    pub parent: Option<QueueId>,
    /// Its part among the queues beside it.
    pub weight: u32,
    /// One account a meter, in the order of the snapshot's meters.
    pub(crate) accounts: SmallVec<[Account; 1]>,
    /// What it has held over time, faded.
    pub usage: Usage,
}

impl QueueSpec {
    /// A queue of weight 1 without rules of its own.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, parent: Option<QueueId>) -> Self {
        Self {
            name: name.into(),
            parent,
            weight: 1,
            quotas: Vec::new(),
        }
    }

    /// The same queue with `quota` on GPUs of any model.
    #[must_use]
    pub fn with_gpus(mut self, quota: Quota) -> Self {
        self.quotas.push((Meter::Gpu, quota));
        self
    }

    /// The same queue with `limit` on GPUs of any model.
    #[must_use]
    pub fn with_limit(self, limit: Option<GpuUnits>) -> Self {
        self.with_gpus(Quota {
            limit: limit.map(GpuUnits::get),
            ..Quota::default()
        })
    }
}

impl Queue {
    /// The account of the meter at `meter`.
    ///
    /// # Panics
    /// If fewer meters are on.
    #[must_use]
    pub fn account(&self, meter: usize) -> &Account {
        &self.accounts[meter]
    }

    pub(crate) fn account_mut(&mut self, meter: usize) -> &mut Account {
        &mut self.accounts[meter]
    }

    /// What the queue and all below it hold now, in physical-GPU equivalents.
    #[must_use]
    pub fn used(&self) -> GpuUnits {
        GpuUnits(i64::try_from(self.account(0).used).unwrap_or(i64::MAX))
    }

    /// What it has held over time up to `now`, faded with `half_life`.
    #[must_use]
    pub fn usage_at(&self, now: Time, half_life: Span) -> Usage {
        self.usage.up_to(now, self.used().0, half_life)
    }

    /// The most that they may hold, if there is a limit.
    #[must_use]
    pub fn limit(&self) -> Option<GpuUnits> {
        self.account(0).quota.limit.map(GpuUnits)
    }
}
