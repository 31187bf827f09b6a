//! The scheduling service: one thread that owns the scheduler and its cluster, and paces them.
//!
//! Virtual time follows the wall clock at a chosen speed. The thread steps the scheduler up to the
//! present, then publishes an immutable [`Published`]; readers take the latest and can't hold it up.
//! Invariant: the virtual clock only shows time that has really been worked through; what is missing
//! is shown as lag. Not here: how anything looks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use berth_core::sched::profile::Profile;
use berth_core::sched::scheduler::{Cluster, Scheduler};
use berth_core::time::{Span, Time};
use tokio::sync::watch;

pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod embedded;
pub(crate) mod events;
pub(crate) mod live;
pub(crate) mod published;
pub(crate) mod tally;

mod run;
#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;

use clock::VirtualClock;
use control::Control;
use published::Published;

/// How often readers get a new view, in real time: fast enough to look alive, slow enough that a
/// view costs nothing beside the scheduling.
pub(crate) const PUBLISH_EVERY: Duration = Duration::from_millis(200);

/// The longest that the thread works without looking whether it should stop.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// How long the thread may work on after its time is up, to reach the last instant exactly.
pub(crate) const LAST_STRETCH: Duration = Duration::from_millis(500);

/// A cluster that counts what happens in it.
pub(crate) trait Feed: Cluster + Send + 'static {
    /// What has happened so far.
    fn totals(&self) -> Totals;
}

/// What has happened in a cluster so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Pods submitted.
    pub(crate) submitted: u64,
    /// Pods that ran to their end.
    pub(crate) completed: u64,
    /// Lost places by cause.
    pub(crate) evictions: BTreeMap<String, u64>,
    /// Fingerprint of the event log.
    pub(crate) log_hash: String,
}

/// What the service is told at its start.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// What the scheduler works by; also the mix that fragmentation is measured against.
    pub(crate) profile: Profile,
    /// Name of the cluster for people.
    pub(crate) name: String,
    /// Seed of an embedded cluster; a real one has none.
    pub(crate) seed: Option<u64>,
    /// The first instant.
    pub(crate) start: Time,
    /// Virtual time that is played as fast as it goes before the clock takes over, so that people
    /// who come in find the place at work.
    pub(crate) head_start: Span,
    /// Simulated seconds in a real one.
    pub(crate) speed: f64,
    /// How long to run, in real time.
    pub(crate) for_: Option<Duration>,
}

/// The running service.
#[derive(Debug)]
pub(crate) struct Service {
    control: Arc<Control>,
    latest: watch::Receiver<Arc<Published>>,
    thread: JoinHandle<()>,
}

impl Service {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the machine gives no thread.
    pub(crate) fn start<C: Feed>(
        scheduler: Scheduler<C>,
        options: Options,
        control: Arc<Control>,
    ) -> std::io::Result<Self> {
        let clock = VirtualClock::new(
            options.start + options.head_start,
            options.speed,
            options.for_,
            Instant::now(),
        );
        let mut runner = run::Runner::new(scheduler, options, clock, Arc::clone(&control));
        let (sender, latest) = watch::channel(Arc::new(runner.view()));
        let thread = thread::Builder::new().name("berth-scheduler".to_owned());
        let thread = thread.spawn(move || runner.run(&sender))?;
        Ok(Self {
            control,
            latest,
            thread,
        })
    }

    /// Where the latest view is found.
    pub(crate) fn latest(&self) -> watch::Receiver<Arc<Published>> {
        self.latest.clone()
    }

    /// Stops the thread and returns its last view; `None` if it has panicked.
    pub(crate) fn finish(self) -> Option<Arc<Published>> {
        self.control.stop();
        self.thread.join().ok()?;
        Some(Arc::clone(&self.latest.borrow()))
    }
}

/// `real` at `speed` simulated seconds a second.
pub(crate) fn scaled(real: Duration, speed: f64) -> Span {
    // Saturates at the ends of the range, far beyond any run.
    Span((real.as_secs_f64() * speed * 1000.0) as i64)
}
