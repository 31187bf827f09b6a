//! Berth's own policy beside FGD on the lists of the published experiment, with the bound of each.
//!
//! Invariant: every figure of a row is of the same seeds, in the same run; no pod is turned away that
//! fits anywhere, and a run in which one is has no result. Not here: published results; FGD is run.

use berth_core::sched::policy::{self, Entry};
use berth_sim::bound::Ending;
use berth_sim::published::{Check, Inputs, Run};
use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::values::Shard;
use crate::ext::data::Data;
use crate::runs::bound::{certify, percent_up};
use crate::runs::crew::{Crew, Timed};
use crate::runs::published::{self, column_upto};
use crate::runs::spread::{mean, sd};

/// The policies compared.
const POLICIES: [&str; 2] = ["fgd", "berth"];

/// Where they are compared, in percent of the cluster's GPUs.
const PERCENTS: [u32; 2] = [100, 130];

/// What is run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Names of the pod lists.
    pub(crate) traces: Vec<String>,
    /// Seeds of each.
    pub(crate) seeds: Vec<u64>,
    /// The part of the lists that is this process's.
    pub(crate) shard: Shard,
}

/// The rows of all lists; those of several shards are put together by joining the lists of rows.
#[derive(Debug, Serialize)]
pub(crate) struct Quality {
    /// Seeds of each row.
    pub(crate) seeds: Vec<u64>,
    /// By trace, percent and policy.
    pub(crate) rows: Vec<Row>,
}

/// A policy on a list.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Name of the pod list.
    pub(crate) trace: String,
    /// Percent arrived.
    pub(crate) percent: u32,
    /// The policy.
    pub(crate) policy: String,
    /// GPU in use, in percent of the cluster's, mean over the seeds.
    pub(crate) mean: f64,
    /// Standard deviation over the seeds.
    pub(crate) sd: f64,
    /// The seed that went worst.
    pub(crate) min: f64,
    /// What no placement can exceed, for the mean over the seeds.
    pub(crate) bound: f64,
    /// Whether the bound is the tightest of its kind.
    pub(crate) bound_converged: bool,
    /// What is left to the bound.
    pub(crate) gap: f64,
    /// Pods that had found a place, mean over the seeds.
    pub(crate) pods_placed: f64,
}

/// One piece of work.
#[derive(Debug)]
enum Task<'a> {
    Run(&'a Inputs, &'static Entry, u64),
    Bound(&'a Inputs, u32),
}

#[derive(Debug)]
enum Done {
    Run(Run),
    /// List, percent, bound, whether converged.
    Bound(String, u32, f64, bool),
}

/// Runs everything.
pub(crate) fn run(plan: &Plan, data: &Data, crew: &Crew) -> Result<Quality, Failure> {
    let traces: Vec<&String> = plan.shard.of(&plan.traces).collect();
    let inputs = traces.iter().map(|trace| data.openb(trace));
    let inputs = inputs.collect::<Result<Vec<Inputs>, _>>()?;
    let rands = published::go_rands(data, &plan.seeds)?;
    let seeds: Vec<(u64, &[u8])> = rands
        .iter()
        .map(|(&seed, rand)| (seed, &rand[..]))
        .collect();
    let policies = POLICIES.map(|name| policy::named(name).expect("in the catalogue"));
    let mut tasks = Vec::new();
    for inputs in &inputs {
        tasks.extend(PERCENTS.map(|percent| Task::Bound(inputs, percent)));
        for policy in policies {
            tasks.extend(
                plan.seeds
                    .iter()
                    .map(|&seed| Task::Run(inputs, policy, seed)),
            );
        }
    }
    let until = PERCENTS.into_iter().max().unwrap_or(0);
    let done = crew.run_all(&tasks, |task, part| match *task {
        Task::Run(inputs, policy, seed) => {
            let rand = &rands[&seed];
            let check = Check::WorkConservation;
            published::one(inputs, policy, seed, rand, until, check).map(Done::Run)
        }
        Task::Bound(inputs, percent) => {
            let found = certify(inputs, &seeds, percent, part)?;
            let converged = found.ending != Ending::Spent;
            let name = inputs.trace().to_owned();
            Ok(Done::Bound(name, percent, percent_up(&found), converged))
        }
    })?;
    let mut rows = Vec::new();
    for trace in traces {
        for percent in PERCENTS {
            rows.extend(
                POLICIES
                    .map(|policy| row(trace, percent, policy, &done))
                    .into_iter()
                    .flatten(),
            );
        }
    }
    Ok(Quality {
        seeds: plan.seeds.clone(),
        rows,
    })
}

/// The row of a policy; none where no run got so far.
fn row(trace: &str, percent: u32, policy: &str, done: &[Timed<Done>]) -> Option<Row> {
    let runs = done.iter().filter_map(|timed| match &timed.result {
        Done::Run(run) if run.trace == trace && run.policy == policy => Some(run),
        _ => None,
    });
    let (bound, bound_converged) = done.iter().find_map(|timed| match &timed.result {
        Done::Bound(name, at, bound, converged) if name == trace && *at == percent => {
            Some((*bound, *converged))
        }
        _ => None,
    })?;
    let columns: Vec<(f64, u64)> = runs
        .filter_map(|run| {
            let (at, column) = column_upto(&run.arrived, percent)?;
            Some((column.allocation, run.placed[at]))
        })
        .collect();
    let allocations: Vec<f64> = columns.iter().map(|column| column.0).collect();
    let mean_allocation = mean(allocations.iter().copied())?;
    Some(Row {
        trace: trace.to_owned(),
        percent,
        policy: policy.to_owned(),
        mean: mean_allocation,
        sd: sd(&allocations),
        min: allocations.iter().copied().fold(f64::INFINITY, f64::min),
        bound,
        bound_converged,
        gap: bound - mean_allocation,
        pods_placed: mean(columns.iter().map(|column| column.1 as f64))?,
    })
}
