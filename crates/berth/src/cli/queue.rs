//! `berth queue`: the queue tree of a live cluster.

use berth_core::filter::facts::Text;

use crate::cli::exit::{Exit, Failure};
use crate::cli::looking::{Looking, unknown};
use crate::output::{self, Format};
use crate::runs::queues;
use crate::runs::seen::{self, Reached, Seen};

/// Show who may hold how much, who holds it, and who waits
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the queues as a tree: quota, what they hold, who waits, whether they are ready
    ///
    /// SHARE is the part of what a queue and those beside it hold.
    #[command(after_help = LS_EXAMPLES)]
    Ls(Shown),
    /// Show one queue with all its rules
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// The queue
        name: String,
        #[command(flatten)]
        shown: Shown,
    },
}

#[derive(Debug, clap::Args)]
struct Shown {
    #[command(flatten)]
    looking: Looking,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const LS_EXAMPLES: &str = "\
Examples:
  berth queue ls
  berth queue ls --context production --output json";

const SHOW_EXAMPLES: &str = "\
Examples:
  berth queue show vision
  berth queue show vision --output yaml";

/// Shows.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Ls(shown) => output::print(&queues::list(&look(shown)?), shown.output)?,
        Command::Show { name, shown } => {
            let seen = look(shown)?;
            let Some(queue) = queues::show(&seen, &Text::from(name.as_str())) else {
                let names = seen.feed.queue_names();
                let names = names.iter().map(|name| name.as_str());
                return Err(unknown("queue", name, names, "berth queue ls"));
            };
            output::print(&queue, shown.output)?;
        }
    }
    Ok(Exit::Done)
}

fn look(shown: &Shown) -> Result<Seen, Failure> {
    let Looking { reach, schedulers } = &shown.looking;
    let seen = Reached::to(&reach.target())?.look(schedulers);
    seen.map_err(|error| seen::not_seen(&error))
}
