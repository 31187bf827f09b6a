//! `berth ps`: who runs where, and who waits why.

use crate::cli::exit::{Exit, Failure};
use crate::cli::looking::Looking;
use crate::output::{self, Format};
use crate::runs::ps::{self, Filter, Which};
use crate::runs::seen::{self, Reached};

/// List the pods that run or wait: queue, user, what they ask for, node or reason
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only those of a namespace; else all
    #[arg(short, long)]
    namespace: Option<String>,
    /// Only those charged to a queue
    #[arg(long)]
    queue: Option<String>,
    /// Only those of a user
    #[arg(long)]
    user: Option<String>,
    /// Only those without a place
    #[arg(long)]
    waiting: bool,
    #[command(flatten)]
    looking: Looking,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  berth ps --waiting
  berth ps --queue vision --user ada
  berth ps -n vision --output json";

/// Lists.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let Looking { reach, schedulers } = &args.looking;
    let seen = Reached::to(&reach.target())?.look(schedulers);
    let seen = seen.map_err(|error| seen::not_seen(&error))?;
    let filter = Filter {
        namespace: args.namespace.clone(),
        queue: args.queue.clone(),
        user: args.user.clone(),
        which: if args.waiting {
            Which::Waiting
        } else {
            Which::All
        },
    };
    output::print(&ps::list(&seen, schedulers, &filter), args.output)?;
    Ok(Exit::Done)
}
