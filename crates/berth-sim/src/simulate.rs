//! Playing a workload from its first event to its last.
//!
//! Invariant: the same workload, policy and options give the same report, to the last digit. Not
//! here: the clock; who wants to know how fast it went, measures around the call.

use std::ops::ControlFlow;
use std::sync::Arc;

use berth_core::invariant::{self, Violation};
use berth_core::sched::policy::Entry;
use berth_core::sched::profile::Profile;
use berth_core::sched::scheduler::Scheduler;
use berth_core::sched::turns::Order;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use crate::faults::FaultPlan;
use crate::report::Report;
use crate::report::build::{self, Run};
use crate::report::sampler::Sampler;
use crate::report::shares::Milestones;
use crate::workload::Workload;
use crate::world::{FoundError, World};

/// Steps between two calls of the progress function: often enough for a smooth bar, too seldom to
/// cost anything.
const STEPS_PER_PROGRESS: u64 = 2_048;

/// How thoroughly the books are recounted after each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Check {
    /// The nodes that the step touched.
    #[default]
    Touched,
    /// The whole cluster; for tests, since the cost grows with the cluster.
    Full,
}

/// By which rule those who wait have their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Turns {
    /// Who has had least for their weight goes first, and what is one's own is claimed back.
    #[default]
    FairShare,
    /// Who came first goes first, and nobody loses their place: no shares, no history.
    Fifo,
}

impl Turns {
    /// Every rule.
    pub const ALL: [Self; 2] = [Self::FairShare, Self::Fifo];

    /// The name in reports and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FairShare => "fair-share",
            Self::Fifo => "fifo",
        }
    }

    /// `profile` with this rule.
    #[must_use]
    pub fn apply(self, profile: Profile) -> Profile {
        match self {
            Self::FairShare => profile,
            Self::Fifo => Profile {
                order: Order::Fifo,
                evictions: None,
                ..profile
            },
        }
    }
}

/// What may be set about a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Seed of all randomness.
    pub seed: u64,
    /// Stops the run after this much virtual time; `None` plays to the end.
    pub until: Option<Span>,
    /// What fails.
    pub faults: FaultPlan,
    /// Whose turn it is.
    pub turns: Turns,
    /// How thoroughly the books are recounted.
    pub check: Check,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time.
    pub now: Time,
    /// Pods submitted so far.
    pub submitted: u64,
    /// Pods that the workload has in all.
    pub planned: u64,
    /// Pods that wait.
    pub pending: u64,
    /// Pods that run.
    pub running: u64,
    /// Entries of the event log so far.
    pub events: u64,
}

/// Why a run could not be finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// The workload can't be played.
    #[error(transparent)]
    Found(#[from] FoundError),
    /// The books don't balance: a defect of Berth. The seed repeats it.
    #[error(
        "invariant broken with seed {seed} at {at_ms} ms: {}; please report it with the workload",
        first(violations)
    )]
    Invariant {
        /// Seed of the run.
        seed: u64,
        /// When it was, in milliseconds of virtual time.
        at_ms: i64,
        /// What doesn't balance.
        violations: Vec<Violation>,
    },
}

/// Plays `workload` under `policy` and says how it went.
///
/// # Errors
/// If the workload can't be played, or an invariant breaks.
pub fn simulate(
    workload: &Workload,
    policy: &'static Entry,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, SimulateError> {
    let (mut world, index) = World::found(workload)?;
    let root = Stream::from_seed(options.seed);
    let start = world.first_arrival().unwrap_or(Time::ZERO);
    world.plan_faults(options.faults, &index, &root.child("faults"), start);
    let target = Arc::new(world.target(&index));
    let profile = options
        .turns
        .apply(Profile::new(policy, Arc::clone(&target)));
    let end = options.until.map_or(Time::MAX, |until| start + until);
    let horizon = options.until.unwrap_or_else(|| {
        world
            .last_arrival()
            .map_or(Span::ZERO, |last| last.since(start))
    });
    let mut looks = Looks {
        sampler: Sampler::new(start, horizon, target),
        milestones: Milestones::of(start),
        end,
    };
    let mut scheduler = Scheduler::new(world, index, &profile, root.child("policy"));
    let (mut cycles, mut invariant_checks) = (0u64, 0u64);
    loop {
        let step = scheduler.step(looks.next());
        let step = step.map_err(|violations| broken(options.seed, &scheduler, violations))?;
        match step {
            Some(_) => cycles += 1,
            None => match looks.look(&mut scheduler) {
                ControlFlow::Continue(()) => continue,
                ControlFlow::Break(()) => break,
            },
        }
        if options.check == Check::Full {
            invariant_checks += 1;
            let violations = invariant::check(scheduler.index());
            if !violations.is_empty() {
                return Err(broken(options.seed, &scheduler, violations));
            }
        }
        if cycles % STEPS_PER_PROGRESS == 0 {
            progress(progress_of(&scheduler));
        }
    }
    settle(&mut scheduler, end);
    progress(progress_of(&scheduler));
    let run = Run {
        trace: &workload.name,
        policy: policy.name,
        order: options.turns.name(),
        seed: options.seed,
        faults: options.faults.name(),
        cycles,
        invariant_checks,
    };
    let milestones = looks.milestones.finish();
    Ok(build::report(&run, &scheduler, looks.sampler, milestones))
}

/// Looks at a run between its steps.
struct Looks {
    sampler: Sampler,
    milestones: Milestones,
    /// When the run is cut off.
    end: Time,
}

impl Looks {
    /// When to look next, or the end.
    fn next(&self) -> Time {
        self.due().min(self.end)
    }

    fn due(&self) -> Time {
        self.sampler.next().min(self.milestones.next())
    }

    /// Looks, where it is due, or says that the run has ended.
    fn look(&mut self, scheduler: &mut Scheduler<World>) -> ControlFlow<()> {
        let due = self.due();
        if scheduler.cluster.is_over() || due > self.end {
            return ControlFlow::Break(());
        }
        scheduler.cluster.settle(due);
        if self.milestones.next() == due {
            self.milestones.note(scheduler);
        }
        if self.sampler.next() == due {
            if due == self.end {
                return ControlFlow::Break(());
            }
            self.sampler.sample(scheduler);
        }
        ControlFlow::Continue(())
    }
}

/// A run that is cut off goes on to the cut; one that has ended, ended with its last event.
fn settle(scheduler: &mut Scheduler<World>, end: Time) {
    let last = scheduler.cluster.tally().now;
    let now = if scheduler.cluster.is_over() {
        last
    } else {
        end.max(last)
    };
    scheduler.cluster.settle(now);
}

fn broken(seed: u64, scheduler: &Scheduler<World>, violations: Vec<Violation>) -> SimulateError {
    SimulateError::Invariant {
        seed,
        at_ms: scheduler.cluster.tally().now.0,
        violations,
    }
}

/// How far `scheduler` has come.
#[must_use]
pub fn progress_of(scheduler: &Scheduler<World>) -> Progress {
    let (world, index) = (&scheduler.cluster, scheduler.index());
    Progress {
        now: world.tally().now,
        submitted: world.tally().submitted,
        planned: world.pods_planned(),
        pending: index.n_pending() as u64,
        running: index.n_bound() as u64,
        events: world.log_entries(),
    }
}

fn first(violations: &[Violation]) -> String {
    let others = violations.len().saturating_sub(1);
    match violations.first() {
        None => String::new(),
        Some(first) if others == 0 => first.to_string(),
        Some(first) => format!("{first} (and {others} more)"),
    }
}
