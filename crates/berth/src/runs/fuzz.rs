//! The simulator's fuzzer over many seeds.

use std::panic;

use berth_sim::fuzz::{FuzzOutcome, fuzz};
use serde::Serialize;

use crate::cli::exit::Failure;
use crate::runs::crew::Crew;

/// What the seeds came to.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Outcome {
    /// Seeds that found nothing.
    pub(crate) passed: u64,
    /// Those that found something, rising.
    pub(crate) failures: Vec<Finding>,
    /// Scheduling cycles of the seeds that passed.
    pub(crate) steps: u64,
    /// Pods submitted in them.
    pub(crate) pods: u64,
    /// Starts.
    pub(crate) binds: u64,
    /// Lost places.
    pub(crate) evictions: u64,
}

/// A defect of Berth.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    /// The seed that repeats it.
    pub(crate) seed: u64,
    /// What is wrong.
    pub(crate) message: String,
}

/// Runs each seed.
pub(crate) fn run(seeds: &[u64], crew: &Crew) -> Result<Outcome, Failure> {
    let runs = crew.run_all(seeds, |&seed, _| Ok(one(seed)))?;
    let mut outcome = Outcome::default();
    for (run, &seed) in runs.into_iter().zip(seeds) {
        match run.result {
            Ok(covered) => outcome.add(&covered),
            Err(message) => outcome.failures.push(Finding { seed, message }),
        }
    }
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, covered: &FuzzOutcome) {
        self.passed += 1;
        self.steps += covered.steps;
        self.pods += covered.pods;
        self.binds += covered.binds;
        self.evictions += covered.evictions;
    }
}

/// One seed. A panic is a finding too: other seeds go on, and the seed is known.
fn one(seed: u64) -> Result<FuzzOutcome, String> {
    match panic::catch_unwind(|| fuzz(seed)) {
        Ok(result) => result.map_err(|failure| {
            format!(
                "policy {}, at {}: {}",
                failure.policy, failure.at, failure.what
            )
        }),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("panicked: {}", text.unwrap_or("without a message")))
        }
    }
}
