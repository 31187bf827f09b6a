//! `berth simulate suite`: whole experiments on the published lists.

use std::num::NonZeroUsize;

use berth_sim::published;
use berth_sim::trace::openb::PUBLISHED_LISTS;

use crate::cli::exit::{Exit, Failure};
use crate::cli::values::{self, Seeds, Shard};
use crate::ext::data::Data;
use crate::ext::trace;
use crate::output::{self, Format};
use crate::runs::crew::Crew;
use crate::runs::quality;
use crate::runs::suite::{self, Detail};

/// Run a whole experiment on the published lists
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The experiment
    #[arg(value_enum)]
    suite: Name,
    /// Pod lists of `quality` [default: all 17]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[arg(value_parser = trace::list)]
    traces: Vec<String>,
    /// Seeds of `quality`, both ends included [default: 42..51]
    #[arg(long, value_name = "FIRST..LAST", value_parser = values::seeds)]
    seeds: Option<Seeds>,
    /// The part of the lists of `quality` to run here, such as 1/4; join the rows of all parts
    #[arg(long, value_name = "I/N", value_parser = values::shard)]
    shard: Option<Shard>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Add every curve of `fgd` to JSON and YAML
    #[arg(long)]
    curves: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Name {
    /// 17 traces, 6 policies, 10 seeds of Weng et al., USENIX ATC 2023, against the published results
    Fgd,
    /// Policy berth beside FGD on these traces, each with the bound that no placement exceeds
    Quality,
}

const EXAMPLES: &str = "\
Exit codes: 0 equal within the tolerance, or done; 1 different; 4 not all published runs were compared.

Examples:
  berth simulate suite fgd
  berth simulate suite fgd --curves --output json > curves.json
  berth simulate suite quality --output json
  berth simulate suite quality --traces default,gpushare100 --seeds 100..119";

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    args.check()?;
    let (data, crew) = (Data::locate(), Crew::new(args.jobs)?);
    match args.suite {
        Name::Fgd => {
            let detail = if args.curves {
                Detail::Curves
            } else {
                Detail::Summary
            };
            let comparison = suite::run(&data, &crew, detail)?;
            output::print(&comparison, args.output)?;
            Ok(if !comparison.is_complete() {
                Exit::Incomplete
            } else if comparison.is_within_tolerance() {
                Exit::Done
            } else {
                Exit::Negative
            })
        }
        Name::Quality => {
            let plan = quality::Plan {
                traces: args.traces(),
                seeds: match args.seeds {
                    Some(seeds) => seeds.iter().collect(),
                    None => published::SEEDS.collect(),
                },
                shard: args.shard.unwrap_or(Shard::WHOLE),
            };
            output::print(&quality::run(&plan, &data, &crew)?, args.output)?;
            Ok(Exit::Done)
        }
    }
}

impl Args {
    /// The lists in the order asked for, each once.
    fn traces(&self) -> Vec<String> {
        if self.traces.is_empty() {
            return PUBLISHED_LISTS.map(str::to_owned).to_vec();
        }
        let mut traces: Vec<String> = Vec::new();
        for trace in &self.traces {
            if !traces.contains(trace) {
                traces.push(trace.clone());
            }
        }
        traces
    }

    /// Refuses flags that would mean nothing for the experiment, rather than ignore them.
    fn check(&self) -> Result<(), Failure> {
        let (flags, other) = match self.suite {
            Name::Fgd => (
                vec![
                    ("traces", !self.traces.is_empty()),
                    ("seeds", self.seeds.is_some()),
                    ("shard", self.shard.is_some()),
                ],
                "quality",
            ),
            Name::Quality => (vec![("curves", self.curves)], "fgd"),
        };
        match flags.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(Failure::usage(format!(
                "`--{flag}` belongs to `suite {other}`"
            ))
            .next("leave it out")),
            None => Ok(()),
        }
    }
}
