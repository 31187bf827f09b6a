//! A report out of a finished run.

use berth_core::model::snapshot::Alike;
use berth_core::sched::explain;
use berth_core::sched::scheduler::Scheduler;
use berth_core::time::Time;

use crate::report::histogram::Histogram;
use crate::report::sampler::{Sampler, gpus_of, reasons};
use crate::report::{Report, WaitingGroup, fairness};
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
    pub(crate) seed: u64,
    pub(crate) faults: &'a str,
    pub(crate) cycles: u64,
    pub(crate) invariant_checks: u64,
}

/// The report of `run`.
pub(crate) fn report(run: &Run<'_>, scheduler: &Scheduler<World>, sampler: Sampler) -> Report {
    let (world, index) = (&scheduler.cluster, scheduler.index());
    let tally = world.tally();
    let (began, now) = (tally.began.unwrap_or_default(), tally.now);
    let gpus = gpus_of(index);
    let (series, fragmentation_mean, pod_hours) = sampler.finish();
    let mut overall = Histogram::default();
    tally.waits.values().for_each(|waits| overall.merge(waits));
    let (received, demanded) = gpu_time(world);
    let owned = |token: &str| token.to_owned();
    Report {
        trace: run.trace.to_owned(),
        policy: run.policy.to_owned(),
        seed: run.seed,
        faults: run.faults.to_owned(),
        nodes: u32::try_from(index.nodes().len()).expect("nodes are bounded"),
        gpus: u32::try_from(gpus).expect("nodes and their GPUs are bounded"),
        simulated_hours: now.since(began).as_secs_f64() / 3600.0,
        users_seen: tally
            .users
            .iter()
            .map(|user| u32::from(user.submitted > 0))
            .sum(),
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
        evictions: tally
            .evictions
            .iter()
            .map(|(cause, &n)| (owned(cause.token()), n))
            .collect(),
        evictions_restarted: tally.evictions_restarted,
        allocation_mean: mean_percent(tally.held_over_time, gpus, began, now),
        utilisation_mean: mean_percent(tally.busy_over_time / 1000, gpus, began, now),
        fragmentation_mean,
        wait: overall.stats(),
        wait_by_kind: tally
            .waits
            .iter()
            .map(|(&kind, waits)| (owned(kind_token(kind)), waits.stats()))
            .collect(),
        wait_p90_by_user_decile: wait_deciles(tally),
        jain: fairness::jain(&received, &demanded),
        share_error: fairness::share_error(&received, &demanded),
        reasons: reasons(index, scheduler.waiting())
            .into_iter()
            .map(|(token, pods)| (owned(token), pods))
            .collect(),
        reasons_pod_hours: pod_hours
            .into_iter()
            .map(|(token, h)| (owned(token), h))
            .collect(),
        series,
        gantt: world.gantt().lanes(index, began, now),
        waiting: waiting(scheduler, began),
    }
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

/// Per user who demanded any GPU time by now: what was received and what was demanded, in units
/// times milliseconds.
fn gpu_time(world: &World) -> (Vec<f64>, Vec<f64>) {
    let tally = world.tally();
    let mut users: Vec<(i128, i128)> = tally
        .users
        .iter()
        .map(|user| (user.received, user.demanded))
        .collect();
    for (job, since) in world.alive() {
        let (received, demanded) = &mut users[job.user.index()];
        let units = i128::from(job.units.0);
        if let Some(since) = since {
            *received += units * i128::from(tally.now.since(since).0);
        }
        // The whole run was counted on arrival; a run without end wasn't counted at all.
        let could_have_run = i128::from(tally.now.since(job.arrival).0);
        match job.run.map(|run| i128::from(run.0)) {
            Some(run) => *demanded -= units * (run - could_have_run).max(0),
            None => *demanded += units * could_have_run,
        }
    }
    users.retain(|&(_, demanded)| demanded > 0);
    users
        .into_iter()
        .map(|(received, demanded)| (received as f64, demanded as f64))
        .unzip()
}

fn wait_deciles(tally: &Tally) -> Vec<f64> {
    let mut p90: Vec<f64> = tally
        .users
        .iter()
        .filter(|user| user.waits.n() > 0)
        .map(|user| user.waits.quantile_s(900))
        .collect();
    p90.sort_unstable_by(f64::total_cmp);
    let Some(last) = p90.len().checked_sub(1) else {
        return Vec::new();
    };
    (1..=10)
        .map(|decile| {
            p90[(p90.len() * decile)
                .div_ceil(10)
                .saturating_sub(1)
                .min(last)]
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
            })
        });
    described.collect()
}
