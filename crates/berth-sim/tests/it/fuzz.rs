//! Random worlds under every policy, each step checked from scratch.

use std::collections::BTreeMap;

use berth_core::sched::policy::POLICIES;
use berth_sim::fuzz::{FuzzOutcome, fuzz};

const SEEDS: std::ops::Range<u64> = 0..200;

#[test]
fn two_hundred_random_worlds_keep_every_promise() {
    let outcomes: Vec<FuzzOutcome> = SEEDS
        .map(|seed| fuzz(seed).unwrap_or_else(|failure| panic!("{failure}")))
        .collect();
    // The worlds are worth something only if things happen in them.
    let sum = |of: fn(&FuzzOutcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    assert!(
        sum(|run| run.binds) > 5_000,
        "{} binds",
        sum(|run| run.binds)
    );
    assert!(
        sum(|run| run.evictions) > 500,
        "{} evictions",
        sum(|run| run.evictions)
    );
    assert!(
        sum(|run| run.impossible) > 100,
        "{} impossible",
        sum(|run| run.impossible)
    );
    let mut runs: BTreeMap<&str, u32> = BTreeMap::new();
    for run in &outcomes {
        *runs.entry(run.policy).or_default() += 1;
    }
    assert_eq!(runs.len(), POLICIES.len(), "{runs:?}");
}

#[test]
fn a_seed_repeats_its_world() {
    assert_eq!(fuzz(7), fuzz(7));
    let hash = |seed| fuzz(seed).map(|run| run.log_hash);
    assert_ne!(hash(7), hash(8));
}
