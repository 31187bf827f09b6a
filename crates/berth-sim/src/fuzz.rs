//! Random small worlds with faults, every step checked from scratch.
//!
//! Safety: the books balance, gangs are whole or absent, no queue exceeds its limit, nothing waits
//! while there is room for it, a warm engine decides as a cold one, and the order in which things
//! were listed decides nothing. Liveness: when load and faults have ended, whatever is left waiting
//! could not run even on the empty cluster. Invariant: a seed repeats its run exactly. Not here:
//! shrinking; worlds are small enough to read.

use berth_core::id::NodeId;
use berth_core::model::draft::Draft;
use berth_core::sched::cycle;
use berth_core::sched::decisions::Decisions;
use berth_core::sched::engine::Engine;
use berth_core::sched::policy::{Entry, POLICIES};
use berth_core::sched::profile::{Effort, Profile};
use berth_core::sched::scheduler::Cluster;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};
use serde::Serialize;

use crate::workload::Workload;
use crate::world::{FoundError, Trouble, World};

mod check;
mod make;

/// Steps after which a run counts as endless: hundreds of times what the largest world takes.
const STEPS_MAX: u64 = 200_000;

/// What a run that found nothing has covered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FuzzOutcome {
    /// Its seed.
    pub seed: u64,
    /// The policy that it drew.
    pub policy: &'static str,
    /// Scheduling cycles.
    pub steps: u64,
    /// Pods submitted.
    pub pods: u64,
    /// Starts.
    pub binds: u64,
    /// Lost places.
    pub evictions: u64,
    /// Pods that could not run even at the end.
    pub impossible: u64,
    /// Hash of the event log.
    pub log_hash: u64,
}

/// A defect of Berth, with what repeats it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "seed {seed}, policy {policy}, at {at}: {what}; `berth simulate fuzz --seed {seed}` repeats it"
)]
pub struct FuzzFailure {
    /// The seed.
    pub seed: u64,
    /// The policy.
    pub policy: &'static str,
    /// When in virtual time.
    pub at: Span,
    /// What is wrong.
    pub what: String,
}

/// One of two worlds that differ in the order of listing alone.
#[derive(Debug)]
struct Twin {
    world: World,
    index: Draft,
    engine: Engine,
    stream: Stream,
    /// When to decide even if nothing happens.
    wake_at: Time,
}

/// Plays the world of `seed`.
///
/// # Errors
/// The first thing that must not be.
pub fn fuzz(seed: u64) -> Result<FuzzOutcome, FuzzFailure> {
    let root = Stream::from_seed(seed).child("fuzz");
    let at = root.child("policy").below(POLICIES.len() as u64);
    let policy = POLICIES[usize::try_from(at).expect("below the number of policies")];
    let failure = |at: Time, what: String| FuzzFailure {
        seed,
        policy: policy.name,
        at: at.since(Time::ZERO),
        what,
    };
    let workload = make::workload(&root);
    let shuffled = make::shuffled(&workload, &root);
    let unplayable = |error: FoundError| failure(Time::ZERO, error.to_string());
    let mut twin = Twin::found(&workload, policy, &root).map_err(unplayable)?;
    let mut other = Twin::found(&shuffled, policy, &root).map_err(unplayable)?;
    let (mut steps, mut now) = (0, Time::ZERO);
    while let Some((at, decisions)) = twin.step().map_err(|what| failure(now, what))? {
        now = at;
        let twins_step = other
            .step()
            .map_err(|what| failure(now, format!("shuffled: {what}")))?;
        let shuffled = twins_step.map(|(at, decisions)| (at, named(&other, &decisions)));
        let listed = (at, named(&twin, &decisions));
        if shuffled.as_ref() != Some(&listed) {
            let what = "the order in which nodes, queues and jobs are listed changes a decision";
            return Err(failure(now, format!("{what}: {listed:?} or {shuffled:?}")));
        }
        check::after(&twin.index, &decisions).map_err(|what| failure(now, what))?;
        steps += 1;
        if steps == STEPS_MAX {
            return Err(failure(now, "it doesn't come to an end".to_owned()));
        }
    }
    if twin.index.n_bound() > 0 {
        return Err(failure(
            now,
            "pods still run when everything has ended".to_owned(),
        ));
    }
    let tally = twin.world.tally();
    if tally.submitted != tally.completed + tally.withdrawn + twin.index.n_pending() as u64 {
        return Err(failure(now, "pods got lost".to_owned()));
    }
    Ok(FuzzOutcome {
        seed,
        policy: policy.name,
        steps,
        pods: tally.submitted,
        binds: tally.placed,
        evictions: tally.evictions.values().sum(),
        impossible: twin.index.n_pending() as u64,
        log_hash: twin.world.log_hash(),
    })
}

impl Twin {
    fn found(
        workload: &Workload,
        policy: &'static Entry,
        root: &Stream,
    ) -> Result<Self, FoundError> {
        let (mut world, index) = World::found(workload)?;
        for (at, node, trouble) in make::troubles(workload, root) {
            let names = index.nodes().iter().enumerate();
            let id = names
                .filter(|(_, known)| *known.name == *node)
                .map(|(id, _)| NodeId::at(id));
            let id = id.last().expect("troubles befall nodes of the workload");
            world.trouble(at, trouble(id));
        }
        let workload = world.target(&index).into();
        let profile = Profile::new(policy, workload);
        let engine = Engine::new(&profile);
        Ok(Self {
            world,
            index,
            engine,
            stream: root.child("draws"),
            wake_at: Time::MAX,
        })
    }

    /// One turn of the loop, as the core's scheduler makes it, with a cold engine beside it. Every
    /// cycle may evict: the loop's own pace is a matter of cost.
    fn step(&mut self) -> Result<Option<(Time, Decisions)>, String> {
        let now = match self.world.observe(&mut self.index, self.wake_at) {
            Some(now) => now,
            None if self.wake_at == Time::MAX => return Ok(None),
            None => {
                self.world.pass(self.wake_at);
                self.wake_at
            }
        };
        let mut cold_stream = self.stream.clone();
        // A policy that learns goes on from what it has learned; the rest is memory only.
        let (profile, effort) = (self.engine.profile(), Effort::MakeRoom);
        let cold = cycle::run(&self.index, &profile, effort, now, &mut cold_stream);
        let decisions = self.engine.run(&self.index, effort, now, &mut self.stream);
        if cold != decisions {
            return Err("an engine with a memory decides otherwise than one without".to_owned());
        }
        self.wake_at = match decisions.evictions.is_empty() {
            true => decisions.retry_at.unwrap_or(Time::MAX),
            false => now + Span::from_secs(1),
        };
        decisions.apply(&mut self.index, now);
        self.world.act(&self.index, &decisions, now);
        Ok(Some((now, decisions)))
    }
}

/// Decisions by name: what of them means the same in both twins.
fn named(twin: &Twin, decisions: &Decisions) -> Vec<String> {
    let pod = |id| twin.index.pod(id).map_or("gone", |pod| &*pod.spec.name);
    let evictions = decisions
        .evictions
        .iter()
        .map(|evict| format!("evict {}", pod(evict.pod)));
    let binds = decisions.binds.iter().map(|bind| {
        let node = &twin.index.node(bind.node).name;
        let (gpus, units) = (bind.grant.gpus(), bind.grant.compute_each());
        format!("bind {} {node} {gpus:?} {units}", pod(bind.pod))
    });
    let mut named: Vec<String> = evictions.chain(binds).collect();
    // Members of one gang may be taken in any order that comes to the same.
    named.sort_unstable();
    named
}

/// A trouble that waits for the id of its node.
type MakeTrouble = Box<dyn Fn(NodeId) -> Trouble>;
