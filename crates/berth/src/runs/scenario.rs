//! Scenarios, each played once and told.

use berth_core::sched::policy::{self, Entry};
use berth_sim::scenario::{self, Moment, Scenario, Verdict};
use serde::Serialize;

use crate::cli::exit::Failure;

/// What was played.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// One story a scenario.
    pub(crate) stories: Vec<Story>,
}

/// How one scenario went.
#[derive(Debug, Serialize)]
pub(crate) struct Story {
    /// Its heading.
    pub(crate) title: String,
    /// The policy that it was played under.
    pub(crate) policy: &'static str,
    /// What happened, in order.
    pub(crate) moments: Vec<Moment>,
    /// What was expected, and what was found.
    pub(crate) expectations: Vec<Expected>,
}

/// What came of an expectation.
#[derive(Debug, Serialize)]
pub(crate) struct Expected {
    /// Its line in the file.
    pub(crate) line: u64,
    /// The expectation.
    pub(crate) expected: String,
    /// What was found.
    pub(crate) found: String,
    /// Whether that is as expected.
    pub(crate) holds: bool,
}

/// Plays `scenario` under the policy that it names, or under `usual`.
pub(crate) fn play(scenario: &Scenario, usual: &'static Entry) -> Result<Story, Failure> {
    let own = scenario.policy.as_deref().and_then(policy::named);
    let policy = own.unwrap_or(usual);
    let told = scenario::tell(scenario, policy);
    let (moments, verdicts) = told.map_err(|error| {
        Failure::unreadable(format!("unable to play `{}`", scenario.title)).because(error)
    })?;
    Ok(Story {
        title: scenario.title.clone(),
        policy: policy.name,
        moments,
        expectations: verdicts.into_iter().map(Expected::from).collect(),
    })
}

impl From<Verdict> for Expected {
    fn from(verdict: Verdict) -> Self {
        let Verdict {
            line,
            expected,
            found,
            holds,
            ..
        } = verdict;
        Self {
            line,
            expected,
            found,
            holds,
        }
    }
}
