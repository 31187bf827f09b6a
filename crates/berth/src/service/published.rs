//! What the service shows: one instant, immutable, to be read by as many as like.
//!
//! Invariant: everything in it belongs to the same step of the scheduler. Not here: words and
//! layout (that is the console's).

use std::sync::Arc;
use std::time::Instant;

use berth_core::model::snapshot::{GroupKey, Snapshot};
use berth_core::sched::explain::Hindrance;
use berth_core::time::{Span, Time};

use super::Totals;
use super::clock::Flow;
use super::events::Event;
use super::tally::{Shares, Tally};

/// One instant of the service.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    /// Rises with each publication.
    pub(crate) number: u64,
    /// Name of the cluster.
    pub(crate) name: Arc<str>,
    /// Name of the policy.
    pub(crate) policy: &'static str,
    /// Seed of the cluster.
    pub(crate) seed: Option<u64>,
    /// The cluster.
    pub(crate) snapshot: Snapshot,
    /// Each group that waits, in scheduling order, with what stops it.
    pub(crate) waiting: Arc<[(GroupKey, Hindrance)]>,
    /// Virtual time.
    pub(crate) pace: Pace,
    /// What the service has counted.
    pub(crate) tally: Tally,
    /// What the cluster has counted.
    pub(crate) totals: Totals,
    /// Users who have submitted anything.
    pub(crate) users_seen: u64,
    /// How fast it goes.
    pub(crate) rates: Rates,
    /// The cluster's shares now.
    pub(crate) shares: Shares,
    /// The latest events, newest first.
    pub(crate) events: Arc<[Event]>,
    /// Whether the books balance.
    pub(crate) books: Books,
    /// When this was published, in real time.
    pub(crate) at: Instant,
}

/// Virtual time, and how it keeps up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The first instant.
    pub(crate) start: Time,
    /// Virtual time that was played before the clock took over.
    pub(crate) head_start: Span,
    /// The instant that this view shows.
    pub(crate) now: Time,
    /// How far that is behind where it should be, in virtual time; zero when it keeps up.
    pub(crate) lag: Span,
    /// Simulated seconds in a real one, as asked for.
    pub(crate) speed: f64,
    /// Whether virtual time passes.
    pub(crate) flow: Flow,
}

/// How fast it goes: virtual rates over the last virtual hour, real ones over the last seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Rates {
    /// Starts in a virtual minute.
    pub(crate) starts_per_min: f64,
    /// Ends in a virtual minute.
    pub(crate) ends_per_min: f64,
    /// Starts and evictions decided in a real second.
    pub(crate) decisions_per_s: f64,
}

/// Whether the books balance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Books {
    /// They do.
    Balanced,
    /// They don't: the scheduler has stopped, and this is what it found.
    Broken(Arc<[String]>),
}

impl Published {
    /// Virtual time since the start.
    pub(crate) fn elapsed(&self) -> Span {
        self.pace.now.since(self.pace.start)
    }

    /// Virtual time that has passed under the clock.
    pub(crate) fn paced(&self) -> Span {
        (self.elapsed() - self.pace.head_start).max(Span::ZERO)
    }

    /// Violations found.
    pub(crate) fn n_violations(&self) -> u64 {
        match &self.books {
            Books::Balanced => 0,
            Books::Broken(found) => found.len() as u64,
        }
    }
}
