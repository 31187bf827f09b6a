//! `berth simulate suite`: a whole published experiment, compared with its published results.

use std::num::NonZeroUsize;

use crate::cli::exit::{Exit, Failure};
use crate::ext::data::Data;
use crate::output::{self, Format};
use crate::runs::crew::Crew;
use crate::runs::suite::{self, Detail};

/// Repeat a published experiment and compare with its published results
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The experiment
    #[arg(value_enum)]
    suite: Name,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Add every curve to JSON and YAML
    #[arg(long)]
    curves: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Name {
    /// 17 traces, 6 policies, 10 seeds of Weng et al., USENIX ATC 2023
    Fgd,
}

const EXAMPLES: &str = "\
Exit codes: 0 equal within the tolerance, 1 different, 4 not all published runs were compared.

Examples:
  berth simulate suite fgd
  berth simulate suite fgd --curves --output json > curves.json";

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let detail = if args.curves {
        Detail::Curves
    } else {
        Detail::Summary
    };
    let comparison = match args.suite {
        Name::Fgd => suite::run(&Data::locate(), &Crew::new(args.jobs)?, detail)?,
    };
    output::print(&comparison, args.output)?;
    Ok(if !comparison.is_complete() {
        Exit::Incomplete
    } else if comparison.is_within_tolerance() {
        Exit::Done
    } else {
        Exit::Negative
    })
}
