//! Whole runs: the same from the same seed, and balanced at the end.

use berth_core::sched::policy;
use berth_core::time::Span;
use berth_sim::faults::FaultPlan;
use berth_sim::report::Report;
use berth_sim::simulate::{Check, Options, simulate};
use berth_sim::site::Site;
use berth_sim::trace::openb_like::{self, Parameters};

fn small(seed: u64, policy_name: &str, faults: FaultPlan) -> Report {
    let workload = Site::small().workload(seed);
    let policy = policy::named(policy_name).expect("a policy of the catalogue");
    let options = Options {
        seed,
        faults,
        check: Check::Full,
        ..Options::default()
    };
    simulate(&workload, policy, &options, &mut |_| {}).expect("a sound site")
}

#[test]
fn the_same_seed_gives_the_same_report_and_another_seed_another_log() {
    let first = small(1, "fgd", FaultPlan::Heavy);
    assert_eq!(first, small(1, "fgd", FaultPlan::Heavy));
    assert_ne!(first.log_hash, small(2, "fgd", FaultPlan::Heavy).log_hash);
    assert_ne!(
        first.log_hash,
        small(1, "best-fit", FaultPlan::Heavy).log_hash
    );
    assert_ne!(first.log_hash, small(1, "fgd", FaultPlan::None).log_hash);
}

#[test]
fn every_policy_serves_the_small_site() {
    for entry in policy::POLICIES {
        let report = small(3, entry.name, FaultPlan::None);
        let accounted = report.completed + report.running_at_end + report.pending_at_end;
        assert_eq!(report.submitted, accounted, "{}", entry.name);
        assert_eq!(report.users_seen, 60, "{}", entry.name);
        assert!(report.invariant_checks > 1_000, "{}", entry.name);
        let reclaimed = report.evictions.get("reclaimed").copied().unwrap_or(0);
        let evicted: u64 = report.evictions.values().sum();
        assert_eq!(evicted, reclaimed, "{}: nothing failed", entry.name);
        assert_eq!(evicted, report.evictions_for_others, "{}", entry.name);
        assert!(report.evictions_starts <= evicted, "{}", entry.name);
        assert_eq!(evicted > 0, report.evictions_starts > 0, "{}", entry.name);
        assert!(report.allocation_mean > 5.0 && report.allocation_mean <= 100.0);
        assert!(report.utilisation_mean < report.allocation_mean);
        assert!(report.jain > 0.5 && report.jain <= 1.0);
        assert!(report.series.len() > 100 && report.series.len() <= 500);
        let waiting: u64 = report.reasons.values().sum();
        assert_eq!(
            waiting, report.pending_at_end,
            "every waiting pod has one reason"
        );
    }
}

#[test]
fn what_faults_take_away_starts_again() {
    let report = small(5, "fgd", FaultPlan::Heavy);
    let evictions: u64 = report.evictions.values().sum();
    assert!(evictions > 0, "{:?}", report.evictions);
    assert_eq!(
        report.placed,
        report.completed + report.running_at_end + evictions
    );
    assert!(report.evictions_restarted > 0);
}

#[test]
fn adding_a_user_changes_nothing_for_the_others() {
    let of_users = |users| {
        let site = Site {
            users,
            ..Site::small()
        };
        let jobs = site.workload(9).jobs;
        jobs.into_iter()
            .filter(|job| job.user.as_str() <= "user-0060")
            .collect::<Vec<_>>()
    };
    assert_eq!(of_users(60), of_users(61));
}

#[test]
fn a_thousand_users_all_submit_within_sixty_hours() {
    let workload = Site::thousand().workload(1);
    let users: std::collections::BTreeSet<&str> =
        workload.jobs.iter().map(|job| &*job.user).collect();
    assert_eq!(users.len(), 1_000);
    let last = workload.jobs.last().expect("jobs").arrival;
    assert!(last.0 <= Span::from_hours(60).0);
    let pods: u32 = workload.jobs.iter().map(|job| job.pods).sum();
    assert!((25_000..60_000).contains(&pods), "{pods} pods");
    let gpus: u32 = workload.nodes.iter().map(|node| u32::from(node.gpus)).sum();
    assert_eq!(gpus, 256);
}

#[test]
fn a_run_that_is_cut_off_says_what_still_runs() {
    let parameters = Parameters {
        length: Span::from_hours(2),
        nodes_permille: 30,
        load_permille: 1_500,
        ..Parameters::default()
    };
    let workload = openb_like::workload(&parameters, 4);
    let until = Some(Span::from_hours(1));
    let options = Options {
        until,
        ..Options::default()
    };
    let fgd = policy::named("fgd").expect("a policy of the catalogue");
    let report = simulate(&workload, fgd, &options, &mut |_| {}).unwrap();
    assert!(report.running_at_end > 0);
    assert!(
        (report.simulated_hours - 1.0).abs() < 1e-6,
        "{}",
        report.simulated_hours
    );
    assert!(report.submitted < workload.jobs.len() as u64);
}

/// Faults and repairs go on for ever; a world must not.
#[test]
fn a_world_with_faults_ends_with_its_load() {
    for (seed, faults) in [
        (1, FaultPlan::Light),
        (2, FaultPlan::Heavy),
        (3, FaultPlan::Heavy),
    ] {
        let report = small(seed, "first-fit", faults);
        assert!(
            report.simulated_hours < 200.0,
            "{} hours",
            report.simulated_hours
        );
        // What still runs or waits are machines without an end.
        assert!(
            report.running_at_end + report.pending_at_end < 10,
            "{report:?}"
        );
    }
}
