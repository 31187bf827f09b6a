//! What a site sets about scheduling: the policy and what it should prepare for.

use std::sync::Arc;

use crate::sched::fragmentation::TargetWorkload;
use crate::sched::policy::{Entry, PriceTable};
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
        }
    }
}
