//! What users asked for, got and were entitled to, up to now.
//!
//! Invariant: what is received is counted to the millisecond, work under way included. Not here:
//! what is fair (see [`fairness`]).

use berth_core::sched::scheduler::Scheduler;
use berth_core::time::{Span, Time};

use crate::report::fairness::{self, Claim};
use crate::report::{Milestone, UserShare};
use crate::world::World;

/// When the course of a run is looked at beside its end.
const MILESTONES: [Span; 2] = [Span::from_days(1), Span::from_days(7)];

/// Shares of all claims up to now.
#[derive(Debug)]
pub(crate) struct Shares {
    claims: Vec<Claim>,
    entitled: Vec<f64>,
    /// Of each user by id: received and demanded.
    by_user: Vec<(f64, f64)>,
}

/// Milestones yet to come, and what was found at those that have been.
#[derive(Debug)]
pub(crate) struct Milestones {
    start: Time,
    found: Vec<Milestone>,
}

impl Milestones {
    /// The milestones of a run from `start`.
    pub(crate) fn of(start: Time) -> Self {
        let found = Vec::new();
        Self { start, found }
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Time {
        let next = MILESTONES.get(self.found.len());
        next.map_or(Time::MAX, |&after| self.start + after)
    }

    /// Notes how even the run has been so far.
    pub(crate) fn note(&mut self, scheduler: &Scheduler<World>) {
        let shares = Shares::of(scheduler);
        let after = self.next().since(self.start);
        self.found.push(Milestone {
            after_h: after.as_secs_f64() / 3600.0,
            jain: shares.jain(),
            share_error: shares.error(),
        });
    }

    /// What was found.
    pub(crate) fn finish(self) -> Vec<Milestone> {
        self.found
    }
}

impl Shares {
    /// The shares up to now.
    pub(crate) fn of(scheduler: &Scheduler<World>) -> Self {
        let (world, index) = (&scheduler.cluster, scheduler.index());
        let tally = world.tally();
        let who = world.claims();
        let mut amounts: Vec<(i128, i128)> = vec![(0, 0); who.len()];
        for (amounts, claim) in amounts.iter_mut().zip(&tally.claims) {
            *amounts = (claim.received, claim.demanded);
        }
        for (job, since) in world.alive() {
            let (received, demanded) = &mut amounts[job.claim];
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
        let mut by_user = vec![(0.0, 0.0); index.n_users()];
        let mut claims = Vec::with_capacity(who.len());
        for ((queue, user), (received, demanded)) in who.into_iter().zip(amounts) {
            let (received, demanded) = (received as f64, demanded as f64);
            let of_user = &mut by_user[user.index()];
            *of_user = (of_user.0 + received, of_user.1 + demanded);
            claims.push(Claim {
                queue,
                demanded,
                received,
            });
        }
        let window = tally.now.since(tally.began.unwrap_or(tally.now));
        let entitled = fairness::entitled(index, &claims, window);
        Self {
            claims,
            entitled,
            by_user,
        }
    }

    /// Jain's index over the users who asked for anything.
    pub(crate) fn jain(&self) -> f64 {
        let asked = self.by_user.iter().filter(|&&(_, demanded)| demanded > 0.0);
        fairness::jain(&asked.copied().collect::<Vec<_>>())
    }

    /// The part of all GPU time that went to others than the tree says.
    pub(crate) fn error(&self) -> f64 {
        fairness::share_error(&self.claims, &self.entitled)
    }

    /// What each user who submitted anything asked for and got, by name.
    pub(crate) fn users(&self, scheduler: &Scheduler<World>) -> Vec<UserShare> {
        let (world, index) = (&scheduler.cluster, scheduler.index());
        let tally = world.tally();
        let gpu_hours = |unit_ms: f64| unit_ms / (10_000.0 * 3_600_000.0);
        let mut entitled = vec![0.0; self.by_user.len()];
        for ((_, user), share) in world.claims().into_iter().zip(&self.entitled) {
            entitled[user.index()] += share;
        }
        let mut lost = vec![0.0; self.by_user.len()];
        for ((_, user), claim) in world.claims().into_iter().zip(&tally.claims) {
            lost[user.index()] += claim.lost as f64;
        }
        let ids = (0..self.by_user.len()).map(berth_core::id::UserId::at);
        let known = ids.zip(&tally.users).filter(|(_, user)| user.submitted > 0);
        let mut users: Vec<UserShare> = known
            .map(|(id, user)| {
                let (received, demanded) = self.by_user[id.index()];
                UserShare {
                    user: index.user(id).to_string(),
                    demanded_gpu_h: gpu_hours(demanded),
                    received_gpu_h: gpu_hours(received),
                    lost_gpu_h: gpu_hours(lost[id.index()]),
                    entitled_gpu_h: gpu_hours(entitled[id.index()]),
                    wait_p95_s: user.waits.quantile_s(950),
                    starvation_longest_h: user.starved_up_to(tally.now).as_secs_f64() / 3600.0,
                }
            })
            .collect();
        users.sort_by(|a, b| a.user.cmp(&b.user));
        users
    }
}
