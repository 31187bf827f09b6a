//! What a cycle decides. Values only; somebody else applies them.

use serde::Serialize;

use crate::id::{NodeId, PodId};
use crate::model::draft::Draft;
use crate::model::gpu::GpuGrant;
use crate::model::snapshot::GroupKey;
use crate::sched::explain::Hindrance;
use crate::time::Time;

/// A waiting pod gets a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bind {
    /// The pod, with its generation: a stale bind is refused.
    pub pod: PodId,
    /// Where it goes.
    pub node: NodeId,
    /// What it gets of the node's GPUs.
    pub grant: GpuGrant,
}

/// A bound pod loses its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evict {
    /// The pod, with its generation.
    pub pod: PodId,
    /// Why.
    pub cause: EvictCause,
    /// Whose start it makes possible, or a member of whose gang.
    pub by: Option<PodId>,
}

/// Why a bound pod loses its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvictCause {
    /// Its gang has lost members and can't be made whole now, so what it holds serves nobody.
    GangStranded,
    /// Work of higher priority has its place.
    Preempted,
    /// Its queue held more than its own quota, and whose quota it was has its place.
    Reclaimed,
}

impl EvictCause {
    /// The token in events, metrics and views.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::GangStranded => "gang-stranded",
            Self::Preempted => "preempted",
            Self::Reclaimed => "reclaimed",
        }
    }
}

/// All that one cycle decides, in the order of deciding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Decisions {
    /// Pods that lose their place; applied before the binds.
    pub evictions: Vec<Evict>,
    /// Pods that get a place.
    pub binds: Vec<Bind>,
    /// Each group that still waits, in no order of meaning, with what keeps its oldest pod from
    /// starting; [`crate::sched::turns::in_order`] tells whose turn comes when.
    pub waiting: Vec<(GroupKey, Hindrance)>,
    /// When it may help to try evictions again although nothing has happened.
    pub retry_at: Option<Time>,
}

impl Decisions {
    /// Carries the decisions out in `draft`, evictions first.
    ///
    /// # Panics
    /// If they were not made for what `draft` shows.
    pub fn apply(&self, draft: &mut Draft, now: Time) {
        for evict in &self.evictions {
            draft
                .evict(evict.pod, now)
                .expect("a cycle evicts only what is bound");
        }
        for bind in &self.binds {
            draft
                .bind(bind.pod, bind.node, bind.grant, now)
                .expect("a cycle binds only what waits and fits");
        }
    }
}
