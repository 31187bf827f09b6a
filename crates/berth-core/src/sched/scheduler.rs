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
use crate::sched::next::{Change, WaysOut};
use crate::sched::profile::{Effort, Profile};
use crate::stream::Stream;
use crate::time::{Span, Time};

/// What the loop needs of a cluster: news, and hands.
pub trait Cluster {
    /// Brings the index up to date with the next news, up to and including `until`, and says when
    /// that was; `None` if there is no news up to then.
    ///
    /// News also covers what has become of earlier decisions: a bind that the cluster refused
    /// comes back as an eviction.
    fn observe(&mut self, index: &mut Draft, until: Time) -> Option<Time>;

    /// Notes that there was no news up to `now`, when the loop decides all the same.
    fn pass(&mut self, now: Time);

    /// Carries out `decisions`, which the index already shows.
    fn act(&mut self, index: &Snapshot, decisions: &Decisions, now: Time);

    /// Tells those who wait why they do, where there is anybody to tell.
    fn tell(&mut self, _index: &Snapshot, _waiting: &[(GroupKey, Hindrance)], _now: Time) {}
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
    eviction_period: Span,
    /// When the next cycle that may evict is due.
    evict_at: Time,
    /// When to decide even if nothing happens.
    wake_at: Option<Time>,
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
            eviction_period: profile.evictions.map_or(Span::ZERO, |rules| rules.period),
            evict_at: Time(i64::MIN),
            wake_at: None,
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

    /// What would start the group `key`, which waits because of `hindrance`, at `now`.
    #[must_use]
    pub fn ways_out(&self, key: &GroupKey, hindrance: Hindrance, now: Time) -> Vec<Change> {
        let profile = self.engine.profile();
        WaysOut::of(&self.index, &profile, now, &self.stream).for_group(key, hindrance)
    }

    /// Takes in the next news up to `until`, decides, and acts; `None` if there is no news.
    ///
    /// # Errors
    /// If the decisions break an invariant. Nothing has been acted upon; the index shows the rejected
    /// decisions, for the post-mortem, and is good for nothing else: start anew from the cluster.
    pub fn step(&mut self, until: Time) -> Result<Option<Step>, Vec<Violation>> {
        let Some(now) = self.wait(until) else {
            self.cluster.tell(&self.index, &self.waiting, until);
            return Ok(None);
        };
        let effort = if now >= self.evict_at {
            self.evict_at = now + self.eviction_period;
            Effort::MakeRoom
        } else {
            Effort::Place
        };
        let decisions = self.engine.run(&self.index, effort, now, &mut self.stream);
        self.wake_at = self.wakes_at(effort, &decisions);
        decisions.apply(&mut self.index, now);
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
        self.cluster.tell(&self.index, &self.waiting, now);
        Ok(Some(Step { now, decisions }))
    }

    /// Waits for news up to `until`, or for the time to decide without any.
    fn wait(&mut self, until: Time) -> Option<Time> {
        let wake_at = self.wake_at.filter(|&at| at <= until);
        let news = self
            .cluster
            .observe(&mut self.index, wake_at.unwrap_or(until));
        news.or_else(|| {
            let now = wake_at?;
            self.cluster.pass(now);
            Some(now)
        })
    }

    /// When to decide next even if nothing happens: once more after evictions, for those who lost
    /// their places, and when evictions may help where they haven't yet.
    fn wakes_at(&self, effort: Effort, decisions: &Decisions) -> Option<Time> {
        let anybody_waits = !decisions.waiting.is_empty();
        let soon = match effort {
            Effort::Place => anybody_waits,
            Effort::MakeRoom => !decisions.evictions.is_empty(),
        };
        let next = soon.then_some(self.evict_at);
        let later = decisions.retry_at.filter(|_| anybody_waits);
        let later = later.map(|at| at.max(self.evict_at));
        next.into_iter().chain(later).min()
    }
}
