//! A report out of a finished run.

use std::collections::BTreeMap;

use berth_core::model::snapshot::{Alike, GroupKey};
use berth_core::sched::explain::{self, Hindrance};
use berth_core::sched::scheduler::Scheduler;
use berth_core::time::Time;

use crate::report::histogram::Histogram;
use crate::report::sampler::{Sampler, gpus_of, reasons};
use crate::report::shares::Shares;
use crate::report::{Milestone, Next, Report, WaitingGroup};
use crate::workload::JobKind;
use crate::world::World;
use crate::world::tally::Tally;

/// Waiting groups reported in full.
const WAITING_MAX: usize = 20;

/// What a report says about the run beside what the world knows.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) trace: &'a str,
    pub(crate) policy: &'a str,
    pub(crate) order: &'a str,
    pub(crate) seed: u64,
    pub(crate) faults: &'a str,
    pub(crate) cycles: u64,
    pub(crate) invariant_checks: u64,
}

/// The report of `run`.
pub(crate) fn report(
    run: &Run<'_>,
    scheduler: &Scheduler<World>,
    sampler: Sampler,
    milestones: Vec<Milestone>,
) -> Report {
    let (world, index) = (&scheduler.cluster, scheduler.index());
    let tally = world.tally();
    let (began, now) = (tally.began.unwrap_or_default(), tally.now);
    let gpus = gpus_of(index);
    let (series, fragmentation_mean, pod_hours) = sampler.finish();
    let mut overall = Histogram::default();
    tally.waits.values().for_each(|waits| overall.merge(waits));
    let shares = Shares::of(scheduler);
    let users = shares.users(scheduler);
    let starved = users.iter().map(|user| user.starvation_longest_h);
    let starvation_longest_h = starved.fold(0.0, f64::max);
    Report {
        trace: run.trace.to_owned(),
        policy: run.policy.to_owned(),
        order: run.order.to_owned(),
        seed: run.seed,
        faults: run.faults.to_owned(),
        nodes: u32::try_from(index.nodes().len()).expect("nodes are bounded"),
        gpus: u32::try_from(gpus).expect("nodes and their GPUs are bounded"),
        simulated_hours: now.since(began).as_secs_f64() / 3600.0,
        users_seen: u32::try_from(users.len()).expect("users have ids of 32 bits"),
        submitted: tally.submitted,
        placed: tally.placed,
        completed: tally.completed,
        withdrawn: tally.withdrawn,
        running_at_end: index.n_bound() as u64,
        pending_at_end: index.n_pending() as u64,
        events: world.log_entries(),
        cycles: run.cycles,
        log_hash: format!("{:016x}", world.log_hash()),
        invariant_checks: run.invariant_checks,
        invariant_violations: 0,
        evictions: by_token(tally.evictions.iter().map(|(cause, &n)| (cause.token(), n))),
        evictions_for_others: tally.room.evicted,
        evictions_starts: tally.room.started,
        lost_gpu_h: users.iter().map(|user| user.lost_gpu_h).sum(),
        evictions_restarted: tally.evictions_restarted,
        allocation_mean: mean_percent(tally.held_over_time, gpus, began, now),
        utilisation_mean: mean_percent(tally.busy_over_time / 1000, gpus, began, now),
        fragmentation_mean,
        wait: overall.stats(),
        wait_by_kind: by_token(
            tally
                .waits
                .iter()
                .map(|(&kind, waits)| (kind_token(kind), waits.stats())),
        ),
        wait_p95_by_user_decile: wait_deciles(tally),
        jain: shares.jain(),
        share_error: shares.error(),
        milestones,
        starvation_longest_h,
        users,
        reasons: by_token(reasons(index, scheduler.waiting())),
        reasons_pod_hours: by_token(pod_hours),
        series,
        gantt: world.gantt().lanes(index, began, now),
        waiting: waiting(scheduler, began),
    }
}

fn by_token<T>(figures: impl IntoIterator<Item = (&'static str, T)>) -> BTreeMap<String, T> {
    let figures = figures.into_iter();
    figures
        .map(|(token, figure)| (token.to_owned(), figure))
        .collect()
}

/// The token of a kind of job.
#[must_use]
pub(crate) fn kind_token(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Batch => "batch",
        JobKind::Interactive => "interactive",
        JobKind::Gang => "gang",
        JobKind::Vm => "vm",
    }
}

fn mean_percent(units_ms: i128, gpus: usize, began: Time, now: Time) -> f64 {
    let possible = gpus as f64 * 10_000.0 * now.since(began).0 as f64;
    if possible > 0.0 {
        100.0 * units_ms as f64 / possible
    } else {
        0.0
    }
}

fn wait_deciles(tally: &Tally) -> Vec<f64> {
    let mut p95: Vec<f64> = tally
        .users
        .iter()
        .filter(|user| user.waits.n() > 0)
        .map(|user| user.waits.quantile_s(950))
        .collect();
    p95.sort_unstable_by(f64::total_cmp);
    let Some(last) = p95.len().checked_sub(1) else {
        return Vec::new();
    };
    (1..=10)
        .map(|decile| {
            p95[(p95.len() * decile)
                .div_ceil(10)
                .saturating_sub(1)
                .min(last)]
        })
        .collect()
}

fn next(scheduler: &Scheduler<World>, key: &GroupKey, hindrance: Hindrance) -> Vec<Next> {
    let now = scheduler.cluster.tally().now;
    let ways = scheduler.ways_out(key, hindrance, now).into_iter();
    ways.map(|change| Next {
        words: change.words(scheduler.index()),
        change,
    })
    .collect()
}

fn waiting(scheduler: &Scheduler<World>, began: Time) -> Vec<WaitingGroup> {
    let index = scheduler.index();
    let sized = scheduler.waiting().iter().filter_map(|(key, hindrance)| {
        index
            .pending()
            .get(key)
            .map(|group| (group.len(), key, *hindrance, group))
    });
    let mut groups: Vec<_> = sized.collect();
    // A stable sort: among equals the scheduling order stays.
    groups.sort_by_key(|&(pods, ..)| std::cmp::Reverse(pods));
    groups.truncate(WAITING_MAX);
    let described = groups
        .into_iter()
        .filter_map(|(pods, key, hindrance, group)| {
            let pod = index.pod(*group.values().next()?)?;
            let explanation = explain::explain(index, key, hindrance);
            Some(WaitingGroup {
                queue: index.queue(pod.spec.queue).name.to_string(),
                gang: match key.alike {
                    Alike::Gang { gang } => Some(index.gang(gang).name.to_string()),
                    Alike::Task { .. } => None,
                },
                oldest: pod.spec.name.to_string(),
                since_h: pod.spec.created.since(began).as_secs_f64() / 3600.0,
                pods: pods as u64,
                reason: explanation.reason.token().to_owned(),
                explanation,
                next: next(scheduler, key, hindrance),
            })
        });
    described.collect()
}
