//! What a site sets about scheduling: the policy and what it should prepare for.

use std::sync::Arc;

use crate::sched::fragmentation::TargetWorkload;
use crate::sched::policy::{Entry, PriceTable};

/// What a site sets about scheduling.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The policy that scores nodes.
    pub policy: &'static Entry,
    /// The mix of tasks to keep room for.
    pub workload: Arc<TargetWorkload>,
    /// What a policy that learns goes on from; `None` to begin with nothing.
    pub prices: Option<Arc<PriceTable>>,
}
