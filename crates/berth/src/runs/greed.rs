//! What greed gains: a site with and without people who submit everything a hundred times.

use berth_core::sched::policy::Entry;
use berth_core::time::Span;
use berth_sim::report::Report;
use berth_sim::simulate::{self, Options, Turns};
use berth_sim::site::Site;
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::runs::crew::Crew;

/// Greedy people in a thousand.
pub(crate) const GREEDY_PERMILLE: u32 = 10;

/// What is run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) site: Site,
    pub(crate) length: Span,
    pub(crate) policy: &'static Entry,
    pub(crate) seed: u64,
}

/// What the runs came to.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) site: String,
    pub(crate) days: f64,
    pub(crate) seed: u64,
    /// Greedy people.
    pub(crate) greedy: usize,
    /// One row a rule of turns.
    pub(crate) rows: Vec<Row>,
}

/// The same people under one rule, without greed and with it.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) order: &'static str,
    pub(crate) greedy: Pair,
    pub(crate) others: Pair,
}

/// Some of the people, without greed and with it.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) without: Share,
    pub(crate) with: Share,
}

/// What some of the people got.
#[derive(Debug, Serialize)]
pub(crate) struct Share {
    /// GPU-hours held.
    pub(crate) gpu_h: f64,
    /// The median over them of each one's p95 wait, in seconds.
    pub(crate) wait_p95_s: f64,
}

/// Plays the site four times.
pub(crate) fn run(plan: &Plan, crew: &Crew) -> Result<Outcome, Failure> {
    let site = plan.site.clone().lasting(Some(plan.length));
    let greedy_site = Site {
        greedy_permille: GREEDY_PERMILLE,
        ..site.clone()
    };
    let greedy = greedy_site.greedy(plan.seed);
    let each = |turns| [(turns, &site), (turns, &greedy_site)];
    let tasks: Vec<(Turns, &Site)> = Turns::ALL.into_iter().flat_map(each).collect();
    let runs = crew.run_all(&tasks, |&(turns, site), part| {
        let options = Options {
            seed: plan.seed,
            until: Some(plan.length),
            turns,
            ..Options::default()
        };
        let workload = site.workload(plan.seed);
        let length = plan.length.as_ms() as f64;
        let mut at = |progress: simulate::Progress| part.at(progress.now.0 as f64 / length);
        simulate::simulate(&workload, plan.policy, &options, &mut at)
            .map_err(|error| Failure::new(Exit::Internal, "a run has no result").because(error))
    })?;
    let reports: Vec<Report> = runs.into_iter().map(|run| run.result).collect();
    let rows = Turns::ALL.iter().zip(reports.chunks(2));
    let rows = rows.map(|(turns, reports)| Row {
        order: turns.name(),
        greedy: pair(reports, |user| greedy.contains(user)),
        others: pair(reports, |user| !greedy.contains(user)),
    });
    Ok(Outcome {
        site: plan.site.name.to_owned(),
        days: length_days(plan.length),
        seed: plan.seed,
        rows: rows.collect(),
        greedy: greedy.len(),
    })
}

fn length_days(length: Span) -> f64 {
    length.as_ms() as f64 / 86_400_000.0
}

fn pair(reports: &[Report], is_one: impl Fn(&str) -> bool) -> Pair {
    Pair {
        without: share(&reports[0], &is_one),
        with: share(&reports[1], &is_one),
    }
}

fn share(report: &Report, is_one: &impl Fn(&str) -> bool) -> Share {
    let users = || report.users.iter().filter(|user| is_one(&user.user));
    let mut waits: Vec<f64> = users().map(|user| user.wait_p95_s).collect();
    waits.sort_unstable_by(f64::total_cmp);
    Share {
        gpu_h: users().map(|user| user.received_gpu_h).sum(),
        wait_p95_s: waits.get(waits.len() / 2).copied().unwrap_or(0.0),
    }
}
