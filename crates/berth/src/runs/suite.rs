//! The whole published grid, and how far our figures are from the published ones.
//!
//! Source of the figures: `experiments/analysis/expected_results` of
//! `hkust-adsl/kubernetes-scheduler-simulator` (Weng et al., "Beware of Fragmentation", USENIX ATC
//! 2023): 17 traces, 6 policies, 10 seeds. Five policies are deterministic and compared column by
//! column; the published runs of `random` depend on the timing of threads, so only its means over
//! the seeds can be compared.

use std::time::Instant;

use berth_core::sched::policy::{self, Entry};
use berth_sim::published::{self as experiment, Check, Column, ExpectedTable, Inputs, Run};
use berth_sim::trace::openb::PUBLISHED_LISTS;
use serde::Serialize;

use crate::cli::exit::Failure;
use crate::ext::cpu;
use crate::ext::data::Data;
use crate::runs::crew::{Crew, Timed};
use crate::runs::published::{self, column};
use crate::runs::spread::mean;

/// The policy without a deterministic counterpart.
const RANDOM: &str = "random";
/// Last percentage of the published columns.
const UNTIL_PERCENT: u32 = 130;
/// Column 0 averages the few events before half a percent has arrived and tells nothing of a
/// policy, so the comparison starts behind it.
const FIRST_PERCENT: u32 = 1;
/// Where means over the seeds are compared.
const MEANS_AT: [u32; 2] = [100, UNTIL_PERCENT];
/// Runs of the deterministic policies in the published tables.
const RUNS_PUBLISHED: usize = 850;

/// What still counts as equal, in percent of the cluster's GPUs.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Tolerance {
    /// Allocation in any column: rounding to 0.01, and a step of the mean's rounding.
    pub(crate) allocation: f64,
    /// Fragmentation in any column: the same.
    pub(crate) fragmentation: f64,
    /// Means of `random` over ten seeds: about twice their standard error.
    pub(crate) random_mean: f64,
}

/// The tolerance of the comparison.
const TOLERANCE: Tolerance = Tolerance {
    allocation: 0.011,
    fragmentation: 0.011,
    random_mean: 0.3,
};

/// How our runs compare with the published ones.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    /// Runs of deterministic policies that were compared.
    pub(crate) runs: usize,
    /// Those that should have been.
    pub(crate) runs_published: usize,
    /// Largest difference in allocation over all of them, in percent of the cluster's GPUs.
    pub(crate) max_allocation_diff: f64,
    /// The same in fragmentation.
    pub(crate) max_frag_diff: f64,
    /// Difference in `random`'s allocation, as the mean over the seeds of a trace: the largest over
    /// traces, at 100 and 130 % arrived.
    pub(crate) random_mean_diff: f64,
    /// What still counts as equal.
    pub(crate) tolerance: Tolerance,
    /// Wall time of all runs.
    pub(crate) wall_seconds: f64,
    /// CPU time of all runs.
    pub(crate) cpu_seconds: f64,
    /// The same by policy.
    pub(crate) policies: Vec<PolicyRow>,
    /// Every curve of the deterministic policies, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) curves: Vec<Curves>,
}

/// The comparison of one policy.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyRow {
    /// Its name.
    pub(crate) policy: String,
    /// Runs compared.
    pub(crate) runs: usize,
    /// Runs beyond the tolerance; none of `random`, whose single runs say nothing.
    pub(crate) runs_different: usize,
    /// Largest difference in allocation of a run.
    pub(crate) max_allocation_diff: f64,
    /// Largest difference in fragmentation of a run.
    pub(crate) max_frag_diff: f64,
    /// Mean allocation of our runs with everything arrived.
    pub(crate) allocation_at_130: f64,
    /// Mean allocation of the published runs there.
    pub(crate) published_at_130: f64,
    /// Wall seconds of its runs, added up over threads.
    pub(crate) run_seconds: f64,
}

/// The two curves of a run, columns 0 to 130, in percent of the cluster's GPUs.
#[derive(Debug, Serialize)]
pub(crate) struct Curves {
    /// Name of the pod list.
    pub(crate) trace: String,
    /// Name of the policy.
    pub(crate) policy: String,
    /// Seed.
    pub(crate) seed: u64,
    /// GPU in use.
    pub(crate) allocation_percent: Vec<Option<f64>>,
    /// Fragmented GPU.
    pub(crate) fragmentation_percent: Vec<Option<f64>>,
}

/// Whether the curves themselves are part of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Only how far they are off.
    Summary,
    /// All curves too.
    Curves,
}

impl Comparison {
    /// True where every published run was compared.
    pub(crate) fn is_complete(&self) -> bool {
        self.runs == self.runs_published
    }

    /// True where nothing differs by more than the tolerance.
    pub(crate) fn is_within_tolerance(&self) -> bool {
        self.max_allocation_diff <= self.tolerance.allocation
            && self.max_frag_diff <= self.tolerance.fragmentation
            && self.random_mean_diff <= self.tolerance.random_mean
    }
}

/// Runs the grid and compares.
pub(crate) fn run(data: &Data, crew: &Crew, detail: Detail) -> Result<Comparison, Failure> {
    let expected = data.expected()?;
    let inputs: Vec<Inputs> = PUBLISHED_LISTS
        .iter()
        .map(|trace| data.openb(trace))
        .collect::<Result<_, _>>()?;
    let seeds: Vec<u64> = experiment::SEEDS.collect();
    let rands = published::go_rands(data, &seeds)?;
    let mut tasks: Vec<(&Inputs, &'static Entry, u64)> = Vec::new();
    for inputs in &inputs {
        for (name, _) in experiment::POLICIES {
            let policy = policy::named(name).expect("the published policies are in the catalogue");
            tasks.extend(seeds.iter().map(|&seed| (inputs, policy, seed)));
        }
    }
    let (began, cpu_began) = (Instant::now(), cpu::time());
    let runs = crew.run_all(&tasks, |&(inputs, policy, seed), _| {
        let rand = &rands[&seed];
        published::one(inputs, policy, seed, rand, UNTIL_PERCENT, Check::Invariants)
    })?;
    let wall_seconds = began.elapsed().as_secs_f64();
    let cpu_seconds = (cpu::time() - cpu_began).as_secs_f64();
    Ok(Comparison {
        wall_seconds,
        cpu_seconds,
        ..compare(&runs, &expected, detail)
    })
}

fn compare(runs: &[Timed<Run>], expected: &ExpectedTable, detail: Detail) -> Comparison {
    let names = experiment::POLICIES.map(|(name, _)| name);
    let policies: Vec<PolicyRow> = names.iter().map(|name| row(name, runs, expected)).collect();
    let exact: Vec<&PolicyRow> = policies.iter().filter(|row| row.policy != RANDOM).collect();
    let largest = |of: fn(&PolicyRow) -> f64| exact.iter().map(|row| of(row)).fold(0.0, worse);
    let curves = match detail {
        Detail::Summary => Vec::new(),
        Detail::Curves => runs.iter().map(|run| &run.result).map(curves).collect(),
    };
    Comparison {
        runs: exact.iter().map(|row| row.runs).sum(),
        runs_published: RUNS_PUBLISHED,
        max_allocation_diff: largest(|row| row.max_allocation_diff),
        max_frag_diff: largest(|row| row.max_frag_diff),
        random_mean_diff: random_mean_diff(runs, expected),
        tolerance: TOLERANCE,
        wall_seconds: 0.0,
        cpu_seconds: 0.0,
        policies,
        curves,
    }
}

fn row(policy: &str, runs: &[Timed<Run>], expected: &ExpectedTable) -> PolicyRow {
    let own = || runs.iter().filter(|run| run.result.policy == policy);
    let diffs: Vec<(f64, f64)> = own()
        .filter_map(|run| {
            Some(differences(
                &run.result,
                published_run(&run.result, expected)?,
            ))
        })
        .collect();
    let differs =
        |diff: &&(f64, f64)| !(diff.0 <= TOLERANCE.allocation && diff.1 <= TOLERANCE.fragmentation);
    let runs_different = match policy {
        RANDOM => 0,
        _ => diffs.iter().filter(differs).count(),
    };
    let (allocation_at_130, published_at_130) =
        means(own().map(|run| &run.result), UNTIL_PERCENT, expected);
    PolicyRow {
        policy: policy.to_owned(),
        runs: diffs.len(),
        runs_different,
        max_allocation_diff: diffs.iter().map(|diff| diff.0).fold(0.0, worse),
        max_frag_diff: diffs.iter().map(|diff| diff.1).fold(0.0, worse),
        allocation_at_130,
        published_at_130,
        run_seconds: own().map(|run| run.wall.as_secs_f64()).sum(),
    }
}

fn published_run<'a>(run: &Run, expected: &'a ExpectedTable) -> Option<&'a [Column]> {
    let key = (run.trace.clone(), run.policy.clone(), run.seed);
    expected.get(&key).map(Vec::as_slice)
}

/// Largest differences in allocation and fragmentation; NaN where a column is missing, which is
/// within no tolerance.
fn differences(run: &Run, published: &[Column]) -> (f64, f64) {
    let compared = published
        .iter()
        .filter(|column| column.percent >= FIRST_PERCENT);
    compared.fold((0.0, 0.0), |(allocation, fragmentation), theirs| {
        let ours = column(&run.arrived, theirs.percent);
        let off = |of: fn(&Column) -> f64| ours.map_or(f64::NAN, |c| (of(c) - of(theirs)).abs());
        (
            worse(allocation, off(|c| c.allocation)),
            worse(fragmentation, off(|c| c.fragmentation)),
        )
    })
}

/// The larger of two differences; NaN is the largest.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Mean allocation of a policy at `percent` over traces and seeds: ours and the published one; NaN
/// where there is none.
/// Mean allocation of `runs` at `percent`: ours and the published one; NaN where there is none.
fn means<'a>(
    runs: impl Iterator<Item = &'a Run> + Clone,
    percent: u32,
    expected: &ExpectedTable,
) -> (f64, f64) {
    let allocation = |columns: &[Column]| column(columns, percent).map(|column| column.allocation);
    let ours = mean(runs.clone().filter_map(|run| allocation(&run.arrived)));
    let published = mean(runs.filter_map(|run| allocation(published_run(run, expected)?)));
    (ours.unwrap_or(f64::NAN), published.unwrap_or(f64::NAN))
}

/// The largest difference between means over the seeds, over traces and percentages.
fn random_mean_diff(runs: &[Timed<Run>], expected: &ExpectedTable) -> f64 {
    let of_trace = |trace: &str, percent| {
        let own = runs.iter().map(|run| &run.result);
        let own = own.filter(|run| run.policy == RANDOM && run.trace == trace);
        let (ours, published) = means(own, percent, expected);
        (ours - published).abs()
    };
    let traces = PUBLISHED_LISTS.iter();
    traces
        .flat_map(|trace| MEANS_AT.map(|percent| of_trace(trace, percent)))
        .fold(0.0, worse)
}

fn curves(run: &Run) -> Curves {
    let all = |of: fn(&Column) -> f64| {
        (0..=UNTIL_PERCENT)
            .map(|percent| column(&run.arrived, percent).map(of))
            .collect()
    };
    Curves {
        trace: run.trace.clone(),
        policy: run.policy.clone(),
        seed: run.seed,
        allocation_percent: all(|column| column.allocation),
        fragmentation_percent: all(|column| column.fragmentation),
    }
}
