//! What a site sets about scheduling: the policy and what it should prepare for.

use std::sync::Arc;

use crate::sched::fragmentation::TargetWorkload;
use crate::sched::policy::{Entry, PriceTable};
use crate::sched::room::EvictionRules;
use crate::sched::turns::Order;

/// What a site sets about scheduling.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The policy that scores nodes.
    pub policy: &'static Entry,
    /// The mix of tasks to keep room for.
    pub workload: Arc<TargetWorkload>,
    /// What a policy that learns goes on from; `None` to begin with nothing.
    pub prices: Option<Arc<PriceTable>>,
    /// Whose turn it is.
    pub order: Order,
    /// When work may lose its place to other work; `None` is never.
    pub evictions: Option<EvictionRules>,
}

/// How far a cycle goes for those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// What is free is given away.
    Place,
    /// Beyond that, room is made where the profile allows evictions.
    MakeRoom,
}

impl Profile {
    /// A profile that begins with no prices and lets those go first who have had least.
    #[must_use]
    pub fn new(policy: &'static Entry, workload: Arc<TargetWorkload>) -> Self {
        Self {
            policy,
            workload,
            prices: None,
            order: Order::default(),
            evictions: Some(EvictionRules::default()),
        }
    }
}
