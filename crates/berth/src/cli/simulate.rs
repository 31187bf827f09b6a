//! `berth simulate`: policies on traces, without a cluster.

use crate::cli::exit::{Exit, Failure};
use crate::output::Format;

/// Run scheduling policies on a trace and compare them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    Err(Failure::usage(format!(
        "not in this build ({:?})",
        args.output
    )))
}
