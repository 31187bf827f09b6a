//! `berth simulate bound`: what no placement can exceed.

use std::num::NonZeroUsize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::simulate::{Choice, choice_parser, chosen};
use crate::cli::values::{self, Seeds};
use crate::ext::data::Data;
use crate::ext::trace::{self, Trace};
use crate::output::{self, Format};
use crate::runs::bound;
use crate::runs::crew::Crew;

/// Prove how much of the GPUs any placement could have in use
///
/// A linear program over all ways to fill a node, solved by column generation; the bound printed is
/// worked out in integers from its prices, so it holds whatever the solver's tolerance was.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A pod list of the published experiment, openb:NAME
    #[arg(long, default_value = "openb:default", value_parser = trace::parse)]
    trace: Trace,
    /// Percent of the cluster's GPUs that has arrived; several with commas
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "100",
        value_delimiter = ','
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=130))]
    until: Vec<u32>,
    /// What the order of arrival derives from [default: 42]
    #[arg(long)]
    seed: Option<u64>,
    /// A range of seeds; the bound is one for their mean
    #[arg(long, value_name = "FIRST..LAST", value_parser = values::seeds, conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// Policies to run and set beside the bound
    #[arg(long, value_delimiter = ',', value_parser = choice_parser(), hide_possible_values = true)]
    policy: Vec<Choice>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const EXAMPLES: &str = "\
Exit codes: 0 the tightest bound of its kind, 4 the search was ended before; the bound holds.

Examples:
  berth simulate bound --trace openb:default --until 100
  berth simulate bound --trace openb:gpushare100 --until 100,130 --seeds 42..51 --policy berth,fgd";

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let Trace::Openb(list) = &args.trace else {
        return Err(
            Failure::usage("a bound belongs to the published experiment")
                .because("elsewhere pods come and go, and what can be in use changes with them")
                .next("name a list: --trace openb:default"),
        );
    };
    let seeds = match (args.seeds, args.seed) {
        (Some(seeds), _) => seeds.iter().collect(),
        (None, seed) => vec![seed.unwrap_or(super::DEFAULT_SEED)],
    };
    let plan = bound::Plan {
        trace: list.clone(),
        percents: args.until.clone(),
        seeds,
        policies: chosen(&args.policy),
    };
    let outcome = bound::run(&plan, &Data::locate(), &Crew::new(args.jobs)?)?;
    output::print(&outcome, args.output)?;
    Ok(match outcome.is_converged() {
        true => Exit::Done,
        false => Exit::Incomplete,
    })
}
