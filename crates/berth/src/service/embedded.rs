//! The embedded cluster: the simulator's world behind the service.

use std::sync::Arc;

use berth_core::sched::policy::Entry;
use berth_core::sched::profile::Profile;
use berth_core::sched::scheduler::Scheduler;
use berth_core::stream::Stream;
use berth_core::time::Time;
use berth_sim::faults::FaultPlan;
use berth_sim::workload::Workload;
use berth_sim::world::{FoundError, World};

use super::{Feed, Totals};

/// A scheduler over a world that plays a workload.
#[derive(Debug)]
pub(crate) struct Embedded {
    /// The scheduler.
    pub(crate) scheduler: Scheduler<World>,
    /// What it works by.
    pub(crate) profile: Profile,
    /// When the first work arrives.
    pub(crate) start: Time,
}

impl Embedded {
    /// Founds the cluster of `workload`. The same arguments play as in a simulation.
    ///
    /// # Errors
    /// If the workload can't be played.
    pub(crate) fn found(
        workload: &Workload,
        policy: &'static Entry,
        seed: u64,
        faults: FaultPlan,
    ) -> Result<Self, FoundError> {
        let (mut world, index) = World::found(workload)?;
        let root = Stream::from_seed(seed);
        let start = world.first_arrival().unwrap_or(Time::ZERO);
        world.plan_faults(faults, &index, &root.child("faults"), start);
        let profile = Profile::new(policy, Arc::new(world.target(&index)));
        let scheduler = Scheduler::new(world, index, &profile, root.child("policy"));
        Ok(Self {
            scheduler,
            profile,
            start,
        })
    }
}

impl Feed for World {
    fn totals(&self) -> Totals {
        let tally = self.tally();
        let evictions = tally.evictions.iter();
        Totals {
            submitted: tally.submitted,
            completed: tally.completed,
            evictions: evictions
                .map(|(cause, &n)| (cause.token().to_owned(), n))
                .collect(),
            log_hash: format!("{:016x}", self.log_hash()),
        }
    }
}
