//! Runs that play a workload by its own times: jobs arrive, wait, run, end, and lose their place.

use std::sync::Arc;

use berth_core::sched::policy::Entry;
use berth_core::time::Span;
use berth_sim::faults::FaultPlan;
use berth_sim::report::Report;
use berth_sim::simulate::{self, Check, Options, Progress, SimulateError, Turns};
use berth_sim::workload::Workload;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::runs::crew::Crew;
use crate::runs::spread::{self, mean};

/// What is run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Policies to compare.
    pub(crate) policies: Vec<&'static Entry>,
    /// Rules of turns to compare, under each policy.
    pub(crate) orders: Vec<Turns>,
    /// Seeds, each with the workload that it plays; a generated workload differs by seed.
    pub(crate) workloads: Vec<(u64, Arc<Workload>)>,
    /// Stops a run after this much virtual time.
    pub(crate) until: Option<Span>,
    /// Until when jobs arrive, where figures under load are of interest.
    pub(crate) load_ends: Option<Span>,
    /// What fails.
    pub(crate) faults: FaultPlan,
}

/// What the runs came to.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// Every run: by policy, then order, then seed, as asked.
    pub(crate) results: Vec<Report>,
    /// Means over the seeds of each policy and order.
    pub(crate) means: Vec<Means>,
    /// Wall seconds of each run; not serialised, so that equal runs print equal documents.
    #[serde(skip)]
    pub(crate) wall_seconds: Vec<f64>,
}

/// Means over the seeds of a policy and an order; units as in [`Report`].
#[derive(Debug, Serialize)]
pub(crate) struct Means {
    pub(crate) policy: String,
    pub(crate) order: String,
    pub(crate) seeds: usize,
    pub(crate) allocation_mean: f64,
    /// The same while jobs arrive, from the samples of the run; where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allocation_under_load: Option<f64>,
    pub(crate) utilisation_mean: f64,
    pub(crate) fragmentation_mean: f64,
    pub(crate) wait_p50_s: f64,
    pub(crate) wait_p90_s: f64,
    pub(crate) wait_p99_s: f64,
    pub(crate) wait_max_s: f64,
    pub(crate) submitted: f64,
    pub(crate) completed: f64,
    pub(crate) pending_at_end: f64,
    pub(crate) evictions: f64,
    pub(crate) evictions_for_others: f64,
    pub(crate) evictions_starts: f64,
    pub(crate) lost_gpu_h: f64,
    pub(crate) jain: f64,
    pub(crate) share_error: f64,
    /// Of a day after the beginning, where the runs lasted as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share_error_1d: Option<f64>,
    /// Of seven days after the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share_error_7d: Option<f64>,
    pub(crate) starvation_longest_h: f64,
    pub(crate) wait_p95_by_user_decile: Vec<f64>,
}

/// Does all runs of the plan.
pub(crate) fn run(plan: &Plan, crew: &Crew) -> Result<Outcome, Failure> {
    let each = |&policy: &&'static Entry| plan.orders.iter().map(move |&order| (policy, order));
    let kinds: Vec<(&'static Entry, Turns)> = plan.policies.iter().flat_map(each).collect();
    let mut tasks: Vec<(&'static Entry, Turns, u64, &Workload)> = Vec::new();
    for &(policy, order) in &kinds {
        let workloads = plan.workloads.iter();
        tasks.extend(workloads.map(|(seed, workload)| (policy, order, *seed, &**workload)));
    }
    let runs = crew.run_all(&tasks, |&(policy, turns, seed, workload), part| {
        let options = Options {
            seed,
            until: plan.until,
            faults: plan.faults,
            turns,
            check: Check::Touched,
        };
        simulate::simulate(workload, policy, &options, &mut |progress| {
            part.at(fraction(&progress, plan.until));
        })
        .map_err(|error| failed(policy, seed, error))
    })?;
    let wall_seconds = runs.iter().map(|run| run.wall.as_secs_f64()).collect();
    let results: Vec<Report> = runs.into_iter().map(|run| run.result).collect();
    let means = kinds.iter().filter_map(|&(policy, order)| {
        Means::of((policy.name, order.name()), &results, plan.load_ends)
    });
    Ok(Outcome {
        means: means.collect(),
        results,
        wall_seconds,
    })
}

/// How much of a run is done, by its pods or by its time, whichever is further.
fn fraction(progress: &Progress, until: Option<Span>) -> f64 {
    let by_pods = progress.submitted as f64 / progress.planned.max(1) as f64;
    let by_time = until.map_or(0.0, |until| {
        progress.now.0 as f64 / until.as_ms().max(1) as f64
    });
    by_pods.max(by_time)
}

fn failed(policy: &Entry, seed: u64, error: SimulateError) -> Failure {
    let exit = match error {
        SimulateError::Found(_) => Exit::Unreadable,
        SimulateError::Invariant { .. } => Exit::Internal,
    };
    Failure::new(
        exit,
        format!("the run of {} with seed {seed} has no result", policy.name),
    )
    .because(error)
}

impl Means {
    fn of(
        (policy, order): (&str, &str),
        results: &[Report],
        load_ends: Option<Span>,
    ) -> Option<Self> {
        let is_own = |report: &&Report| report.policy == policy && report.order == order;
        let own: Vec<&Report> = results.iter().filter(is_own).collect();
        let mean = |of: fn(&Report) -> f64| spread::mean(own.iter().map(|report| of(report)));
        Some(Self {
            policy: policy.to_owned(),
            order: order.to_owned(),
            seeds: own.len(),
            allocation_mean: mean(|report| report.allocation_mean)?,
            allocation_under_load: load_ends.and_then(|ends| under_load(&own, ends)),
            utilisation_mean: mean(|report| report.utilisation_mean)?,
            fragmentation_mean: mean(|report| report.fragmentation_mean)?,
            wait_p50_s: mean(|report| report.wait.p50_s)?,
            wait_p90_s: mean(|report| report.wait.p90_s)?,
            wait_p99_s: mean(|report| report.wait.p99_s)?,
            wait_max_s: mean(|report| report.wait.max_s)?,
            submitted: mean(|report| report.submitted as f64)?,
            completed: mean(|report| report.completed as f64)?,
            pending_at_end: mean(|report| report.pending_at_end as f64)?,
            evictions: mean(|report| report.evictions.values().sum::<u64>() as f64)?,
            evictions_for_others: mean(|report| report.evictions_for_others as f64)?,
            evictions_starts: mean(|report| report.evictions_starts as f64)?,
            lost_gpu_h: mean(|report| report.lost_gpu_h)?,
            jain: mean(|report| report.jain)?,
            share_error: mean(|report| report.share_error)?,
            share_error_1d: error_after(&own, 24.0),
            share_error_7d: error_after(&own, 7.0 * 24.0),
            starvation_longest_h: mean(|report| report.starvation_longest_h)?,
            wait_p95_by_user_decile: deciles(&own),
        })
    }

    /// Whether `report` is one of those that these are the means of.
    pub(crate) fn are_of(&self, report: &Report) -> bool {
        report.policy == self.policy && report.order == self.order
    }
}

/// Mean share error of `reports` so many hours after the beginning, if all of them lasted as long.
fn error_after(reports: &[&Report], hours: f64) -> Option<f64> {
    let of = |report: &&Report| {
        let mut milestones = report.milestones.iter();
        let milestone = milestones.find(|milestone| milestone.after_h == hours)?;
        Some(milestone.share_error)
    };
    let found: Option<Vec<f64>> = reports.iter().map(of).collect();
    mean(found?)
}

/// Means of each decile over `reports`.
fn deciles(reports: &[&Report]) -> Vec<f64> {
    let of = |at: usize| {
        let reports = reports.iter();
        mean(reports.filter_map(|report| report.wait_p95_by_user_decile.get(at).copied()))
    };
    (0..10).filter_map(of).collect()
}

/// Mean allocation over the samples of `reports` before `ends`.
fn under_load(reports: &[&Report], ends: Span) -> Option<f64> {
    let ends_h = ends.as_ms() as f64 / 3_600_000.0;
    let of = |report: &&Report| {
        let samples = report.series.iter().filter(|sample| sample.t_h <= ends_h);
        mean(samples.map(|sample| sample.allocation))
    };
    mean(reports.iter().filter_map(of))
}
