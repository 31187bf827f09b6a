//! Playing a scenario and comparing.

use std::collections::BTreeMap;

use berth_core::id::NodeId;
use berth_core::model::draft::Draft;
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::explain;
use berth_core::sched::policy::{self, Entry, POLICIES};
use berth_core::sched::profile::Profile;
use berth_core::sched::scheduler::{Scheduler, Step};
use berth_core::stream::Stream;
use berth_core::time::Time;

use crate::scenario::read::is_of_job;
use crate::scenario::story::{self, Moment};
use crate::scenario::{Expectation, Figure, Measure, Misfortune, Relation, Scenario};
use crate::simulate::SimulateError;
use crate::workload::Workload;
use crate::world::{Trouble, World};

/// What came of one expectation under one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Line of the expectation in the file.
    pub line: u64,
    /// The policy.
    pub policy: &'static str,
    /// The expectation, as text.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Whether it is as expected.
    pub holds: bool,
}

/// Plays `scenario` under its policies, with its nodes listed forwards and backwards.
///
/// # Errors
/// If it can't be played, or an invariant breaks.
pub fn run(scenario: &Scenario) -> Result<Vec<Verdict>, SimulateError> {
    let named = scenario.policy.as_deref().and_then(policy::named);
    let policies: Vec<&'static Entry> = named.map_or_else(|| POLICIES.to_vec(), |one| vec![one]);
    let mut backwards = scenario.workload.clone();
    backwards.nodes.reverse();
    let mut verdicts = Vec::new();
    for policy in policies {
        for workload in [&scenario.workload, &backwards] {
            play(scenario, workload, policy, &mut verdicts, &mut |_, _| ())?;
        }
    }
    Ok(verdicts)
}

/// Plays `scenario` once under `policy` and tells what happened, step by step.
///
/// # Errors
/// If it can't be played, or an invariant breaks.
pub fn tell(
    scenario: &Scenario,
    policy: &'static Entry,
) -> Result<(Vec<Moment>, Vec<Verdict>), SimulateError> {
    let (mut moments, mut verdicts, mut waiting) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut seen = |scheduler: &Scheduler<World>, step: &Step| {
        moments.extend(story::of_step(scheduler, step, &mut waiting));
    };
    play(
        scenario,
        &scenario.workload,
        policy,
        &mut verdicts,
        &mut seen,
    )?;
    Ok((moments, verdicts))
}

fn play(
    scenario: &Scenario,
    workload: &Workload,
    policy: &'static Entry,
    verdicts: &mut Vec<Verdict>,
    seen: &mut dyn FnMut(&Scheduler<World>, &Step),
) -> Result<(), SimulateError> {
    let (mut world, index) = World::found(workload)?;
    for befalls in &scenario.troubles {
        let mut names = index.nodes().iter().enumerate();
        let Some((at, _)) = names.find(|(_, node)| *node.name == *befalls.node) else {
            continue;
        };
        let (node, gpu) = (NodeId::at(at), befalls.gpu);
        let trouble = match befalls.what {
            Misfortune::Lose => Trouble::LoseNode(node),
            Misfortune::Drain => Trouble::DrainNode(node),
            Misfortune::Cordon => Trouble::CordonNode(node),
            Misfortune::Return => Trouble::ReturnNode(node),
            Misfortune::Fail => Trouble::FailGpu(node, gpu),
            Misfortune::Repair => Trouble::RepairGpu(node, gpu),
        };
        world.trouble(befalls.at, trouble);
    }
    let profile = Profile {
        order: scenario.order,
        evictions: scenario.evictions,
        ..Profile::new(policy, world.target(&index).into())
    };
    let stream = Stream::from_seed(0).child("policy");
    let mut scheduler = Scheduler::new(world, index, &profile, stream.clone());
    let mut cycles = 0;
    let mut restarts = scenario.restarts.iter().copied().peekable();
    for expectation in &scenario.expectations {
        let until = expectation.at.unwrap_or(Time::MAX);
        loop {
            let restart = restarts.peek().copied().filter(|&at| at <= until);
            let step = scheduler.step(restart.unwrap_or(until));
            let step = step.map_err(|violations| SimulateError::Invariant {
                seed: 0,
                at_ms: scheduler.cluster.tally().now.0,
                violations,
            })?;
            let Some(step) = step else {
                if restarts.next_if(|&at| at <= until).is_none() {
                    break;
                }
                let index = Draft::over(scheduler.index());
                scheduler = Scheduler::new(scheduler.cluster, index, &profile, stream.clone());
                continue;
            };
            seen(&scheduler, &step);
            cycles += 1;
        }
        let found = found(workload, &scheduler, cycles, &expectation.what, until);
        verdicts.push(Verdict {
            line: expectation.line,
            policy: policy.name,
            expected: text_of(expectation),
            holds: holds(&found, expectation),
            found,
        });
    }
    Ok(())
}

fn found(
    workload: &Workload,
    scheduler: &Scheduler<World>,
    cycles: u64,
    what: &Measure,
    until: Time,
) -> String {
    let (index, tally) = (scheduler.index(), scheduler.cluster.tally());
    let (name, figure) = match what {
        Measure::Cluster(figure) => ("", *figure),
        Measure::Job(name, figure) => (&**name, *figure),
    };
    let mine = |full: &str| name.is_empty() || is_of_job(full, name);
    let pods = || index.pods().filter(|(_, pod)| mine(&pod.spec.name));
    let number = match figure {
        Figure::Running => pods().filter(|(_, pod)| pod.node().is_some()).count() as u64,
        Figure::Pending => pods().filter(|(_, pod)| pod.node().is_none()).count() as u64,
        Figure::Completed => {
            let arrived = workload.jobs.iter().filter(|job| job.arrival <= until);
            let submitted: u64 = arrived
                .filter(|job| mine(&job.name))
                .map(|job| u64::from(job.pods))
                .sum();
            submitted - pods().count() as u64
        }
        Figure::Evictions => tally.evictions.values().sum(),
        Figure::Cycles => cycles,
        Figure::CardMaxTenants => {
            let cards = index.nodes().iter().flat_map(|node| &node.state.gpus);
            cards.map(|gpu| u64::from(gpu.tenants)).max().unwrap_or(0)
        }
        Figure::Reason => return reason(index, scheduler, name),
    };
    number.to_string()
}

/// Reason token of the job's oldest waiting pod.
fn reason(index: &Snapshot, scheduler: &Scheduler<World>, name: &str) -> String {
    for (key, hindrance) in scheduler.waiting() {
        let Some(group) = index.pending().get(key) else {
            continue;
        };
        let mut names = group.keys().map(|(_, name)| name);
        if names.any(|full| is_of_job(full, name)) {
            return explain::explain(index, key, *hindrance)
                .reason
                .token()
                .to_owned();
        }
    }
    "none waits".to_owned()
}

fn holds(found: &str, expectation: &Expectation) -> bool {
    let numbers = (found.parse::<i64>(), expectation.value.parse::<i64>());
    match (expectation.relation, numbers) {
        (Relation::Equal, _) => found == expectation.value,
        (Relation::AtMost, (Ok(found), Ok(value))) => found <= value,
        (Relation::AtLeast, (Ok(found), Ok(value))) => found >= value,
        _ => false,
    }
}

fn text_of(expectation: &Expectation) -> String {
    let figure = |figure: Figure| match figure {
        Figure::Running => "running",
        Figure::Pending => "pending",
        Figure::Completed => "completed",
        Figure::Evictions => "evictions",
        Figure::CardMaxTenants => "card-max-tenants",
        Figure::Cycles => "cycles",
        Figure::Reason => "reason",
    };
    let what = match &expectation.what {
        Measure::Cluster(of) => figure(*of).to_owned(),
        Measure::Job(name, of) => format!("{name}.{}", figure(*of)),
    };
    let relation = match expectation.relation {
        Relation::Equal => "=",
        Relation::AtMost => "<=",
        Relation::AtLeast => ">=",
    };
    let at = expectation.at.map_or_else(
        || "at the end".to_owned(),
        |at| format!("at {}", at.since(Time::ZERO)),
    );
    format!("{at} {what}{relation}{}", expectation.value)
}
