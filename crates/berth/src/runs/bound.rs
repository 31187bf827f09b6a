//! Certificates of the published experiment: what no placement of what arrived can exceed.
//!
//! Invariant: the bound belongs to the mean over the seeds: it is concave in what arrived, so at the
//! mean of what arrived it is no lower than the mean of what was in use. Not here: the search.

use berth_core::sched::policy::Entry;
use berth_sim::bound::{self, Certificate, Effort, Ending};
use berth_sim::published::{self as experiment, Check, Inputs};
use serde::Serialize;

use crate::cli::exit::Failure;
use crate::ext::data::Data;
use crate::runs::crew::{Crew, Part};
use crate::runs::published::{self, column_upto};
use crate::runs::spread::mean;

/// What is certified.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Name of the pod list.
    pub(crate) trace: String,
    /// Percent arrived.
    pub(crate) percents: Vec<u32>,
    /// Seeds of the arrivals.
    pub(crate) seeds: Vec<u64>,
    /// Policies to set beside the bound.
    pub(crate) policies: Vec<&'static Entry>,
}

/// The certificates of a trace.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// Name of the pod list.
    pub(crate) trace: String,
    /// Seeds of the arrivals.
    pub(crate) seeds: Vec<u64>,
    /// One a percentage.
    pub(crate) rows: Vec<Row>,
}

/// A certificate, and how far policies are from it.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Percent arrived.
    pub(crate) percent: u32,
    /// No placement has more of the GPUs in use, in percent of the cluster's, rounded up.
    pub(crate) bound: f64,
    /// The same, as found.
    pub(crate) certificate: Certificate,
    /// Wall seconds of the search; not serialised, so that equal runs print equal documents.
    #[serde(skip)]
    pub(crate) wall_seconds: f64,
    /// The policies asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) policies: Vec<Beside>,
}

/// A policy beside the bound.
#[derive(Debug, Serialize)]
pub(crate) struct Beside {
    /// Its name.
    pub(crate) policy: String,
    /// GPU in use, in percent of the cluster's, as the mean over the seeds.
    pub(crate) allocation: f64,
    /// How much of the bound it leaves.
    pub(crate) gap: f64,
}

impl Outcome {
    /// Whether each bound is as tight as asked for.
    pub(crate) fn is_converged(&self) -> bool {
        let ends = self.rows.iter().map(|row| row.certificate.ending);
        ends.into_iter().all(|ending| ending != Ending::Spent)
    }
}

/// Certifies, and runs the policies.
pub(crate) fn run(plan: &Plan, data: &Data, crew: &Crew) -> Result<Outcome, Failure> {
    let inputs = data.openb(&plan.trace)?;
    let rands = published::go_rands(data, &plan.seeds)?;
    let seeds: Vec<(u64, &[u8])> = rands
        .iter()
        .map(|(&seed, rand)| (seed, &rand[..]))
        .collect();
    let certificates = crew.run_all(&plan.percents, |&percent, part| {
        certify(&inputs, &seeds, percent, part)
    })?;
    let policies = plan.policies.iter();
    let tasks: Vec<(&'static Entry, u64)> = policies
        .flat_map(|&policy| plan.seeds.iter().map(move |&seed| (policy, seed)))
        .collect();
    let until = plan.percents.iter().copied().max().unwrap_or(0);
    let runs = crew.run_all(&tasks, |&(policy, seed), _| {
        let rand = &rands[&seed];
        published::one(&inputs, policy, seed, rand, until, Check::WorkConservation)
    })?;
    let beside = |percent: u32, bound: f64| {
        let of = |policy: &&'static Entry| {
            let own = runs.iter().filter(|run| run.result.policy == policy.name);
            let columns = own.filter_map(|run| column_upto(&run.result.arrived, percent));
            let allocation = mean(columns.map(|(_, column)| column.allocation))?;
            Some(Beside {
                policy: policy.name.to_owned(),
                allocation,
                gap: bound - allocation,
            })
        };
        plan.policies.iter().filter_map(of).collect()
    };
    let rows = plan.percents.iter().zip(certificates);
    let rows = rows.map(|(&percent, timed)| {
        let bound = percent_up(&timed.result);
        Row {
            percent,
            bound,
            certificate: timed.result,
            wall_seconds: timed.wall.as_secs_f64(),
            policies: beside(percent, bound),
        }
    });
    Ok(Outcome {
        trace: plan.trace.clone(),
        seeds: plan.seeds.clone(),
        rows: rows.collect(),
    })
}

/// The certificate of the mean over `seeds` when `percent` has arrived.
pub(crate) fn certify(
    inputs: &Inputs,
    seeds: &[(u64, &[u8])],
    percent: u32,
    part: &mut Part<'_>,
) -> Result<Certificate, Failure> {
    let problem = experiment::demand(inputs, seeds, percent)
        .map_err(|error| published::failure("there is nothing to bound".to_owned(), &error))?;
    let effort = Effort::default();
    Ok(bound::certify(&problem, &effort, |at| part.at(at.done)))
}

/// The bound in percent of the cluster, rounded up to thousandths.
pub(crate) fn percent_up(certificate: &Certificate) -> f64 {
    let capacity = i128::from(certificate.capacity_milli.max(1));
    let scaled = i128::from(certificate.bound_milli) * 100_000;
    let up = scaled.div_euclid(capacity) + i128::from(scaled.rem_euclid(capacity) != 0);
    up as f64 / 1000.0
}
