//! `berth simulate`: policies on traces, without a cluster.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use berth_core::sched::policy::{self, Entry, POLICIES};
use berth_core::time::Span;
use berth_sim::faults::FaultPlan;
use clap::ValueEnum as _;
use clap::builder::{PossibleValue, TypedValueParser as _};

use crate::cli::exit::{Exit, Failure};
use crate::cli::policies;
use crate::cli::up::Faults;
use crate::cli::values::{self, Seeds};
use crate::ext::data::Data;
use crate::ext::target::Target;
use crate::ext::trace::{self, Trace};
use crate::output::html::Report;
use crate::output::{self, Document, Format};
use crate::runs::crew::Crew;
use crate::runs::{played, published};

mod fuzz;
mod suite;

/// Run scheduling policies on a trace and compare them
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// What the cluster is made of and what is asked of it
    ///
    /// openb:NAME is a pod list of the published experiment, openb-like a generated list of the
    /// same mix, native:PATH your own JSON file or folder of CSV tables, site:PRESET a generated
    /// site (small, site-1000).
    #[arg(long, default_value = "site:small", value_parser = trace::parse)]
    trace: Trace,
    /// Policies to compare, or all; `berth policies` lists them
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "berth,fgd,best-fit,random"
    )]
    #[arg(value_parser = choice_parser(), hide_possible_values = true)]
    policy: Vec<Choice>,
    /// What all chance in a run derives from [default: 42]
    #[arg(long)]
    seed: Option<u64>,
    /// A range of seeds, both ends included, one run each
    #[arg(long, value_name = "FIRST..LAST", value_parser = values::seeds, conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// Where arrival ends in the published experiment, in percent of the cluster's GPUs [default: 130]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=130))]
    until: Option<u32>,
    /// How many simulated days to run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    days: Option<u32>,
    /// Play an openb list by its own times instead of the published experiment
    #[arg(long)]
    replay: bool,
    /// How much goes wrong [default: none]
    #[arg(long, value_enum)]
    faults: Option<Faults>,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Write a report for a browser: one file, nothing to load
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Suite(suite::Args),
    Fuzz(fuzz::Args),
}

/// One entry of `--policy`.
#[derive(Debug, Clone, Copy)]
enum Choice {
    All,
    One(&'static Entry),
}

const DEFAULT_SEED: u64 = 42;
const DEFAULT_UNTIL_PERCENT: u32 = 130;

const EXAMPLES: &str = "\
Examples:
  berth simulate
  berth simulate --trace site:site-1000 --policy all --days 7 --faults light
  berth simulate --trace openb:default --policy fgd,best-fit --seeds 42..51 --html report.html
  berth simulate --trace openb:default --replay --output json
  berth simulate suite fgd

Public traces are read from the folder in BERTH_DATA; without them, a message says who has them.";

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Some(Command::Suite(args)) => suite::run(args),
        Some(Command::Fuzz(args)) => fuzz::run(args),
        None => {
            args.check()?;
            match &args.trace {
                Trace::Openb(list) if !args.replay => run_published(args, list),
                _ => run_played(args),
            }
        }
    }
}

fn run_published(args: &Args, list: &str) -> Result<Exit, Failure> {
    let html = args.html.as_deref().map(Target::open).transpose()?;
    let plan = published::Plan {
        trace: list.to_owned(),
        policies: args.policies(),
        seeds: args.seeds(),
        until_percent: args.until.unwrap_or(DEFAULT_UNTIL_PERCENT),
    };
    let outcome = published::run(&plan, &Data::locate(), &Crew::new(args.jobs)?)?;
    finish(args, &outcome, html)
}

fn run_played(args: &Args) -> Result<Exit, Failure> {
    let html = args.html.as_deref().map(Target::open).transpose()?;
    let data = Data::locate();
    let seeds = args.seeds();
    let mut workloads = Vec::with_capacity(seeds.len());
    for seed in seeds {
        let workload = match workloads.first() {
            Some((_, first)) if !args.trace.is_generated() => Arc::clone(first),
            _ => Arc::new(args.trace.workload(seed, &data)?),
        };
        workloads.push((seed, workload));
    }
    let plan = played::Plan {
        policies: args.policies(),
        workloads,
        until: args.days.map(|days| Span::from_days(days.into())),
        faults: args.faults.map_or(FaultPlan::None, FaultPlan::from),
    };
    finish(args, &played::run(&plan, &Crew::new(args.jobs)?)?, html)
}

fn finish(
    args: &Args,
    outcome: &(impl Document + Report),
    html: Option<Target>,
) -> Result<Exit, Failure> {
    if let Some(html) = html {
        html.write(&outcome.page(args.command_line()).html())?;
    }
    output::print(outcome, args.output)?;
    Ok(Exit::Done)
}

impl Args {
    /// Refuses flags that would mean nothing for the trace, rather than ignore them.
    fn check(&self) -> Result<(), Failure> {
        let is_openb = matches!(self.trace, Trace::Openb(_));
        if self.replay && !is_openb {
            return Err(Failure::usage("`--replay` is for openb traces")
                .because("every other trace is played by its own times anyway")
                .next("leave `--replay` out"));
        }
        if is_openb && !self.replay {
            let flag = [
                ("days", self.days.is_some()),
                ("faults", self.faults.is_some()),
            ]
            .into_iter()
            .find_map(|(flag, is_given)| is_given.then_some(flag));
            if let Some(flag) = flag {
                return Err(
                    Failure::usage(format!("`--{flag}` needs a trace with times"))
                        .because("in the published experiment pods arrive one by one and never end")
                        .next("add `--replay` to play the list by its own times"),
                );
            }
        } else if self.until.is_some() {
            return Err(
                Failure::usage("`--until` belongs to the published experiment")
                    .because("this trace is played by its times")
                    .next("bound the run with `--days`"),
            );
        }
        Ok(())
    }

    /// The policies in the order asked for, each once.
    fn policies(&self) -> Vec<&'static Entry> {
        let mut chosen: Vec<&'static Entry> = Vec::new();
        for choice in &self.policy {
            let entries = match choice {
                Choice::All => POLICIES.to_vec(),
                Choice::One(entry) => vec![*entry],
            };
            for entry in entries {
                if !chosen.iter().any(|known| known.name == entry.name) {
                    chosen.push(entry);
                }
            }
        }
        chosen
    }

    /// The command that repeats the run, without the flags that change no figure.
    fn command_line(&self) -> String {
        let policies: Vec<&str> = self.policies().iter().map(|policy| policy.name).collect();
        let mut line = format!(
            "berth simulate --trace {} --policy {}",
            self.trace,
            policies.join(",")
        );
        match (self.seeds, self.seed) {
            (Some(seeds), _) => line.push_str(&format!(" --seeds {}..{}", seeds.first, seeds.last)),
            (None, seed) => line.push_str(&format!(" --seed {}", seed.unwrap_or(DEFAULT_SEED))),
        }
        if let Some(until) = self.until {
            line.push_str(&format!(" --until {until}"));
        }
        if let Some(days) = self.days {
            line.push_str(&format!(" --days {days}"));
        }
        if self.replay {
            line.push_str(" --replay");
        }
        if let Some(faults) = self.faults.and_then(|faults| faults.to_possible_value()) {
            line.push_str(&format!(" --faults {}", faults.get_name()));
        }
        line
    }

    fn seeds(&self) -> Vec<u64> {
        match (self.seeds, self.seed) {
            (Some(seeds), _) => seeds.iter().collect(),
            (None, seed) => vec![seed.unwrap_or(DEFAULT_SEED)],
        }
    }
}

fn choice_parser() -> impl clap::builder::TypedValueParser<Value = Choice> {
    let values = policies::values().chain([PossibleValue::new("all").help("every policy")]);
    let known = |name: String| policy::named(&name).map_or(Choice::All, Choice::One);
    clap::builder::PossibleValuesParser::new(values).map(known)
}
