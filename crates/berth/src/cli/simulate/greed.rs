//! `berth simulate greed`: what those gain who ask for a hundred times as much.

use std::num::NonZeroUsize;

use berth_core::sched::policy;
use berth_core::time::Span;
use berth_sim::site::Site;

use crate::cli::exit::{Exit, Failure};
use crate::cli::policies;
use crate::cli::up::Preset;
use crate::output::{self, Format};
use crate::runs::crew::Crew;
use crate::runs::greed::{self, Plan};

/// Play a site with and without greedy people, by fair share and first come, first served
///
/// Ten in a thousand submit everything a hundred times; everybody else does the same in all four
/// runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The site
    #[arg(long, value_enum, default_value_t = Preset::Site1000)]
    preset: Preset,
    /// How many days to play
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=60))]
    days: u32,
    /// The policy that places work
    #[arg(long, default_value = "berth", value_parser = policies::names())]
    policy: String,
    /// What all chance in a run derives from
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  berth simulate greed
  berth simulate greed --days 7 --output json";

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let site = match args.preset {
        Preset::Small => Site::small(),
        Preset::Site1000 => Site::thousand(),
    };
    let plan = Plan {
        site,
        length: Span::from_days(args.days.into()),
        policy: policy::named(&args.policy).expect("the parser accepts names of the catalogue"),
        seed: args.seed,
    };
    let outcome = greed::run(&plan, &Crew::new(args.jobs)?)?;
    output::print(&outcome, args.output)?;
    Ok(Exit::Done)
}
