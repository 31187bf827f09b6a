//! `berth simulate scenario`: small clusters in which something must come of something.

use std::path::PathBuf;

use berth_core::sched::policy;
use berth_sim::scenario;

use crate::cli::exit::{Exit, Failure};
use crate::cli::policies;
use crate::ext::data;
use crate::output::{self, Format};
use crate::runs::scenario::{Outcome, play};

/// Play scenarios and tell what happens, with the reasons of those who wait
///
/// A scenario is a fenced block in a Markdown file: nodes, queues, jobs, trouble, and what must come
/// of it. Berth's own stand in crates/berth-sim/scenarios.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Markdown files with scenarios
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The policy, where the scenario doesn't name one
    #[arg(long, default_value = "berth", value_parser = policies::names())]
    policy: String,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const EXAMPLES: &str = "\
Exit codes: 0 everything came out as expected, 1 something didn't.

Examples:
  berth simulate scenario crates/berth-sim/scenarios/quota/reclaim.md
  berth simulate scenario crates/berth-sim/scenarios/gangs/*.md --policy fgd --output json";

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let usual = policy::named(&args.policy).expect("the parser accepts names of the catalogue");
    let mut stories = Vec::new();
    for file in &args.files {
        let content = data::read_file(file)?;
        let text = String::from_utf8(content.bytes).map_err(|error| {
            Failure::unreadable(format!("unable to read {}", content.name)).because(error)
        })?;
        let scenarios = scenario::read(&content.name, &text).map_err(data::unreadable)?;
        if scenarios.is_empty() {
            return Err(
                Failure::unreadable(format!("{} has no scenario", content.name))
                    .next("begin one with a line ```scenario"),
            );
        }
        for scenario in &scenarios {
            stories.push(play(scenario, usual)?);
        }
    }
    let outcome = Outcome { stories };
    output::print(&outcome, args.output)?;
    let mut all = outcome.stories.iter().flat_map(|story| &story.expectations);
    Ok(match all.all(|expected| expected.holds) {
        true => Exit::Done,
        false => Exit::Negative,
    })
}
