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

/// What one user asked for and got.
#[derive(Debug, Clone, Default)]
pub struct UserTally {
    /// GPU time that the user's jobs would hold by the end of their runs had each started on
    /// arrival, in units times milliseconds.
    pub(crate) demanded: i128,
    /// GPU time held, in units times milliseconds.
    pub(crate) received: i128,
    pub(crate) waits: Histogram,
    pub(crate) submitted: u64,
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
    pub(crate) waits: BTreeMap<JobKind, Histogram>,
    pub(crate) users: Vec<UserTally>,
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

    /// Notes that a pod of `user` gave back `units`, which it had held for `held`.
    pub(crate) fn give_back(
        &mut self,
        user: UserId,
        units: GpuUnits,
        busy_permille: u16,
        held: Span,
    ) {
        self.held -= units;
        self.busy -= units.0 * i64::from(busy_permille);
        self.user(user).received += i128::from(units.0) * i128::from(held.0);
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
}
