//! Runs of the published experiment: pods arrive one by one, and nothing ever ends.

use std::collections::BTreeMap;

use berth_core::sched::policy::Entry;
use berth_sim::published::{self, Check, Column, Inputs, Run, RunError};
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::ext::data::Data;
use crate::runs::crew::Crew;
use crate::runs::spread::mean;

/// Where arrival is summed up, in percent of the cluster's GPUs: when demand meets the cluster, and
/// the end of the published runs.
const SUMMED_UP_AT: [u32; 2] = [100, 130];

/// What is run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Name of the pod list.
    pub(crate) trace: String,
    /// Policies to compare.
    pub(crate) policies: Vec<&'static Entry>,
    /// Seeds of each.
    pub(crate) seeds: Vec<u64>,
    /// Where arrival ends, in percent of the cluster's GPUs.
    pub(crate) until_percent: u32,
}

/// What the runs came to.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// Every run: by policy, then seed, as asked.
    pub(crate) results: Vec<Run>,
    /// Means over seeds.
    pub(crate) means: Vec<Mean>,
    /// GPUs of the cluster.
    pub(crate) gpus: i64,
    /// Wall seconds of each run; not serialised, so that equal runs print equal documents.
    #[serde(skip)]
    pub(crate) wall_seconds: Vec<f64>,
}

/// Mean over the seeds of a policy at one percentage of arrival.
#[derive(Debug, Serialize)]
pub(crate) struct Mean {
    /// Name of the pod list.
    pub(crate) trace: String,
    /// Name of the policy.
    pub(crate) policy: String,
    /// Percent arrived.
    pub(crate) percent: u32,
    /// Seeds counted.
    pub(crate) seeds: usize,
    /// GPU in use, in percent of the cluster's.
    pub(crate) allocation: f64,
    /// Fragmented GPU, in percent of the cluster's.
    pub(crate) fragmentation: f64,
}

/// Does all runs of the plan.
pub(crate) fn run(plan: &Plan, data: &Data, crew: &Crew) -> Result<Outcome, Failure> {
    let inputs = data.openb(&plan.trace)?;
    let rands = go_rands(data, &plan.seeds)?;
    let policies = plan.policies.iter();
    let tasks: Vec<(&'static Entry, u64)> = policies
        .flat_map(|&policy| plan.seeds.iter().map(move |&seed| (policy, seed)))
        .collect();
    let runs = crew.run_all(&tasks, |&(policy, seed), _| {
        let rand = &rands[&seed];
        one(
            &inputs,
            policy,
            seed,
            rand,
            plan.until_percent,
            Check::Invariants,
        )
    })?;
    let wall_seconds = runs.iter().map(|run| run.wall.as_secs_f64()).collect();
    let results: Vec<Run> = runs.into_iter().map(|run| run.result).collect();
    let mut percents: Vec<u32> = SUMMED_UP_AT
        .into_iter()
        .filter(|&percent| percent <= plan.until_percent)
        .collect();
    if percents.is_empty() {
        percents.push(plan.until_percent);
    }
    let names = plan.policies.iter().map(|policy| policy.name);
    let means = names
        .flat_map(|policy| percents.iter().map(move |&at| (policy, at)))
        .filter_map(|(policy, percent)| mean_of(&results, policy, percent))
        .collect();
    Ok(Outcome {
        results,
        means,
        gpus: inputs.gpus(),
        wall_seconds,
    })
}

/// The first outputs of Go's generator for each seed.
pub(crate) fn go_rands(data: &Data, seeds: &[u64]) -> Result<BTreeMap<u64, Vec<u8>>, Failure> {
    seeds
        .iter()
        .map(|&seed| Ok((seed, data.go_rand(seed)?)))
        .collect()
}

/// One run.
pub(crate) fn one(
    inputs: &Inputs,
    policy: &'static Entry,
    seed: u64,
    go_rand: &[u8],
    until_percent: u32,
    check: Check,
) -> Result<Run, Failure> {
    published::run(inputs, policy, seed, go_rand, until_percent, check).map_err(|error| {
        let what = format!("the run of {} with seed {seed} has no result", policy.name);
        failure(what, &error)
    })
}

/// The failure of a run of the experiment.
pub(crate) fn failure(what: String, error: &RunError) -> Failure {
    let exit = match error {
        RunError::GoRand { .. } | RunError::Catalog(_) | RunError::Refused(_) => Exit::Unreadable,
        RunError::Violated(_) | RunError::Withheld { .. } => Exit::Internal,
    };
    Failure::new(exit, what).because(error)
}

/// The column at `percent`.
pub(crate) fn column(run: &[Column], percent: u32) -> Option<&Column> {
    run.binary_search_by_key(&percent, |column| column.percent)
        .ok()
        .map(|at| &run[at])
}

/// The last column up to `percent`, with its position.
pub(crate) fn column_upto(run: &[Column], percent: u32) -> Option<(usize, &Column)> {
    let after = run.partition_point(|column| column.percent <= percent);
    let at = after.checked_sub(1)?;
    Some((at, &run[at]))
}

fn mean_of(results: &[Run], policy: &str, percent: u32) -> Option<Mean> {
    let runs = results.iter().filter(|run| run.policy == policy);
    let columns: Vec<&Column> = runs
        .filter_map(|run| column(&run.arrived, percent))
        .collect();
    Some(Mean {
        trace: results.first()?.trace.clone(),
        policy: policy.to_owned(),
        percent,
        seeds: columns.len(),
        allocation: mean(columns.iter().map(|column| column.allocation))?,
        fragmentation: mean(columns.iter().map(|column| column.fragmentation))?,
    })
}
