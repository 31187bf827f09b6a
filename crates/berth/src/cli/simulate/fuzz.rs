//! `berth simulate fuzz`: random worlds with faults, each step checked from scratch.

use std::num::NonZeroUsize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::values::SEEDS_MAX;
use crate::output::{self, Format};
use crate::runs::crew::Crew;
use crate::runs::fuzz;

/// Play random small worlds with faults and check every step
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// How many seeds to play
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const EXAMPLES: &str = "\
Exit codes: 0 nothing found, 1 something found.

Examples:
  berth simulate fuzz --seeds 1000
  berth simulate fuzz --seed 4711";

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let last = args.seed.saturating_add(args.seeds - 1);
    let seeds: Vec<u64> = (args.seed..=last).collect();
    let outcome = fuzz::run(&seeds, &Crew::new(args.jobs)?)?;
    output::print(&outcome, args.output)?;
    Ok(match outcome.failures.is_empty() {
        true => Exit::Done,
        false => Exit::Negative,
    })
}
