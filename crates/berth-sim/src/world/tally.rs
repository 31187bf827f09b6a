//! The running totals of a world: integrals over time, counts, and waits.
//!
//! Invariant: every total is an integer, so its value doesn't depend on the order of adding; what
//! is held now equals the sum over running pods. Not here: samples and explanations, which need the
//! scheduler's view.

use std::collections::BTreeMap;

use berth_core::amount::GpuUnits;
use berth_core::id::UserId;
use berth_core::time::{Span, Time};

use crate::report::histogram::Histogram;
use crate::workload::JobKind;
use crate::world::founding::Planned;

/// Why a pod lost its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Its node was lost.
    NodeLost,
    /// Its node was drained.
    NodeDrained,
    /// A GPU of its failed.
    GpuFailed,
    /// Its gang had too few members left.
    GangStranded,
    /// It made room for work of higher priority.
    Preempted,
    /// It made room for work whose quota it held.
    Reclaimed,
}

impl Cause {
    /// The token in reports.
    #[must_use]
    pub const fn token(self) -> &'static str {
        match self {
            Self::NodeLost => "node-lost",
            Self::NodeDrained => "node-drained",
            Self::GpuFailed => "gpu-failed",
            Self::GangStranded => "gang-stranded",
            Self::Preempted => "preempted",
            Self::Reclaimed => "reclaimed",
        }
    }
}

/// What one user asked for and got in one queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Claim {
    /// GPU time that the jobs would hold by the end of their runs had each started on arrival, in
    /// units times milliseconds.
    pub(crate) demanded: i128,
    /// GPU time held that wasn't lost, in units times milliseconds.
    pub(crate) received: i128,
    /// GPU time held by runs that had to begin anew, in the same unit.
    pub(crate) lost: i128,
}

/// What becomes of the time that a run has held its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// It counts for the job.
    ForGood,
    /// The job begins anew.
    InVain,
}

/// How it went for one user.
#[derive(Debug, Clone, Default)]
pub struct UserTally {
    pub(crate) waits: Histogram,
    pub(crate) submitted: u64,
    /// Pods that want GPU and wait.
    waiting: u64,
    /// Pods that hold GPU.
    running: u64,
    /// Since when the user waits for GPU and holds none.
    starving_since: Option<Time>,
    /// The longest that this has been so, as far as it has ended.
    starved: Span,
}

/// What evictions by decision led to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Pods that lost their places to others.
    pub evicted: u64,
    /// Pods or gangs that started in those places.
    pub started: u64,
}

/// The running totals of a world.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// When the first event was.
    pub began: Option<Time>,
    /// Up to when the integrals reach.
    pub now: Time,
    /// GPU held now.
    pub held: GpuUnits,
    /// GPU that works now, in units times thousandths.
    pub(crate) busy: i64,
    pub(crate) held_over_time: i128,
    pub(crate) busy_over_time: i128,
    /// Pods submitted.
    pub submitted: u64,
    /// Starts of pods.
    pub placed: u64,
    /// Pods that ran to their end.
    pub completed: u64,
    /// Waiting members of elastic gangs that left when the rest had finished.
    pub withdrawn: u64,
    /// Lost places by cause.
    pub evictions: BTreeMap<Cause, u64>,
    /// Lost places whose pod has started again.
    pub evictions_restarted: u64,
    /// What evictions by decision led to.
    pub room: Room,
    pub(crate) waits: BTreeMap<JobKind, Histogram>,
    pub(crate) users: Vec<UserTally>,
    pub(crate) claims: Vec<Claim>,
}

impl UserTally {
    /// Counts pods that wait or run from now on, or no longer do.
    fn count(&mut self, waiting: i64, running: i64, now: Time) {
        let counted = |n: u64, by: i64| n.checked_add_signed(by).expect("counts balance");
        self.waiting = counted(self.waiting, waiting);
        self.running = counted(self.running, running);
        match (self.waiting > 0 && self.running == 0, self.starving_since) {
            (true, None) => self.starving_since = Some(now),
            (false, Some(_)) => {
                self.starved = self.starved_up_to(now);
                self.starving_since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// The longest time up to `now` for which the user waited for GPU and held none.
    pub(crate) fn starved_up_to(&self, now: Time) -> Span {
        let current = self.starving_since.map_or(Span::ZERO, |at| now.since(at));
        self.starved.max(current)
    }
}

impl Tally {
    /// Moves the integrals on to `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        if self.began.is_none() {
            self.began = Some(now);
            self.now = now;
        }
        let passed = i128::from(now.since(self.now).0);
        self.held_over_time += i128::from(self.held.0) * passed;
        self.busy_over_time += i128::from(self.busy) * passed;
        self.now = now;
    }

    /// Notes that a pod came to hold `units`.
    pub(crate) fn hold(&mut self, units: GpuUnits, busy_permille: u16) {
        self.held += units;
        self.busy += units.0 * i64::from(busy_permille);
    }

    /// Notes that a pod of the claim at `claim` gave back `units`, which it had held for `held`.
    pub(crate) fn give_back(
        &mut self,
        claim: usize,
        units: GpuUnits,
        busy_permille: u16,
        (held, how): (Span, Held),
    ) {
        self.held -= units;
        self.busy -= units.0 * i64::from(busy_permille);
        let claim = self.claim(claim);
        *(match how {
            Held::ForGood => &mut claim.received,
            Held::InVain => &mut claim.lost,
        }) += i128::from(units.0) * i128::from(held.0);
    }

    /// Notes that so many pods more or fewer of `job` wait and run.
    pub(crate) fn count(&mut self, job: &Planned, waiting: i64, running: i64) {
        if !job.units.is_zero() {
            let now = self.now;
            self.user(job.user).count(waiting, running, now);
        }
    }

    /// Notes a first start after `wait`.
    pub(crate) fn waited(&mut self, user: UserId, kind: JobKind, wait: Span) {
        self.waits.entry(kind).or_default().add(wait);
        self.user(user).waits.add(wait);
    }

    /// The totals of `user`.
    pub(crate) fn user(&mut self, user: UserId) -> &mut UserTally {
        if self.users.len() <= user.index() {
            self.users.resize_with(user.index() + 1, UserTally::default);
        }
        &mut self.users[user.index()]
    }

    /// The claim at `at`.
    pub(crate) fn claim(&mut self, at: usize) -> &mut Claim {
        if self.claims.len() <= at {
            self.claims.resize_with(at + 1, Claim::default);
        }
        &mut self.claims[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starving_is_waiting_with_nothing_in_hand() {
        let mut user = UserTally::default();
        let at = Time::from_secs;
        user.count(2, 0, at(10));
        assert_eq!(user.starved_up_to(at(15)), Span::from_secs(5));
        user.count(-1, 1, at(30));
        assert_eq!(user.starved_up_to(at(500)), Span::from_secs(20));
        // One runs while the other waits: no starving, however long it takes.
        user.count(1, -1, at(600));
        user.count(-1, 1, at(610));
        assert_eq!(user.starved_up_to(at(900)), Span::from_secs(20));
        user.count(0, -1, at(900));
        assert_eq!(user.starved_up_to(at(990)), Span::from_secs(90));
        user.count(-1, 0, at(1000));
        assert_eq!(user.starved_up_to(at(2000)), Span::from_secs(100));
    }
}
