//! The loop around the cycle: observe, decide, check, act.
//!
//! The same loop runs in a simulation, in the embedded cluster and on Kubernetes; only the
//! [`Cluster`] behind it differs. Invariant: nothing is acted upon before the books of every touched
//! node have been recounted with the decisions in them. Not here: clocks and threads; the caller
//! paces the loop.

use crate::cow::Seen;
use crate::invariant::{self, Violation};
use crate::model::draft::Draft;
use crate::model::snapshot::{GroupKey, Snapshot};
use crate::sched::decisions::Decisions;
use crate::sched::engine::Engine;
use crate::sched::explain::Hindrance;
use crate::sched::profile::Profile;
use crate::stream::Stream;
use crate::time::Time;

/// What the loop needs of a cluster: news, and hands.
pub trait Cluster {
    /// Brings the index up to date with the next news, up to and including `until`, and says when
    /// that was; `None` if there is no news up to then.
    ///
    /// News also covers what has become of earlier decisions: a bind that the cluster refused
    /// comes back as an eviction.
    fn observe(&mut self, index: &mut Draft, until: Time) -> Option<Time>;

    /// Carries out `decisions`, which the index already shows.
    fn act(&mut self, index: &Snapshot, decisions: &Decisions, now: Time);
}

/// A scheduler over one cluster.
#[derive(Debug)]
pub struct Scheduler<C> {
    /// The cluster behind it.
    pub cluster: C,
    index: Draft,
    engine: Engine,
    stream: Stream,
    /// The nodes as they were when their books were last recounted.
    checked: Seen,
    waiting: Vec<(GroupKey, Hindrance)>,
}

/// What one step of the loop did.
#[derive(Debug)]
pub struct Step {
    /// When it was.
    pub now: Time,
    /// What was decided and carried out.
    pub decisions: Decisions,
}

impl<C: Cluster> Scheduler<C> {
    /// A scheduler that starts from what `index` shows.
    #[must_use]
    pub fn new(cluster: C, index: Draft, profile: &Profile, stream: Stream) -> Self {
        Self {
            cluster,
            index,
            engine: Engine::new(profile),
            stream,
            checked: Seen::default(),
            waiting: Vec::new(),
        }
    }

    /// The world as last observed and decided.
    #[must_use]
    pub fn index(&self) -> &Snapshot {
        &self.index
    }

    /// Each group that waits, in scheduling order, with what stops it, as of the last step.
    #[must_use]
    pub fn waiting(&self) -> &[(GroupKey, Hindrance)] {
        &self.waiting
    }

    /// Takes in the next news up to `until`, decides, and acts; `None` if there is no news.
    ///
    /// # Errors
    /// If the decisions break an invariant. Nothing has been acted upon; the index shows the rejected
    /// decisions, for the post-mortem, and is good for nothing else: start anew from the cluster.
    pub fn step(&mut self, until: Time) -> Result<Option<Step>, Vec<Violation>> {
        let Some(now) = self.cluster.observe(&mut self.index, until) else {
            return Ok(None);
        };
        let decisions = self.engine.run(&self.index, now, &mut self.stream);
        for evict in &decisions.evictions {
            self.index
                .evict(evict.pod, now)
                .expect("the engine evicts only what is bound");
        }
        for bind in &decisions.binds {
            self.index
                .bind(bind.pod, bind.node, bind.grant, now)
                .expect("the engine binds only what waits and fits");
        }
        let mut violations = Vec::new();
        let nodes = self.index.nodes();
        nodes.for_each_change(&mut self.checked, |index| {
            let node = nodes.get(index).expect("a changed node exists");
            violations.extend(invariant::check_node(node));
        });
        if !violations.is_empty() {
            return Err(violations);
        }
        self.cluster.act(&self.index, &decisions, now);
        self.waiting.clone_from(&decisions.waiting);
        Ok(Some(Step { now, decisions }))
    }
}
