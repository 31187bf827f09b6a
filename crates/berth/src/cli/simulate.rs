//! `berth simulate`: policies on traces, without a cluster.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use berth_core::sched::policy::{self, Entry, POLICIES};
use berth_core::time::Span;
use berth_sim::faults::FaultPlan;
use berth_sim::simulate::Turns;
use berth_sim::trace::load::{self, Load};
use berth_sim::workload::Workload;
use clap::ValueEnum as _;
use clap::builder::{PossibleValue, TypedValueParser as _};

use crate::cli::exit::{Exit, Failure};
use crate::cli::policies;
use crate::cli::up::Faults;
use crate::cli::values::{self, Pace, Seeds};
use crate::ext::data::Data;
use crate::ext::target::Target;
use crate::ext::trace::{self, Trace};
use crate::output::html::Report;
use crate::output::{self, Document, Format};
use crate::runs::crew::Crew;
use crate::runs::{played, published};

mod bound;
mod fuzz;
mod greed;
mod scenario;
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
    /// Whose turn it is: rules to compare under each policy [default: both, where there are queues]
    ///
    /// fair-share: who has had least for their weight, down the queue tree; what is one's own is
    /// claimed back. fifo: who came first, and nobody loses their place.
    #[arg(long, value_enum, value_delimiter = ',', hide_possible_values = true)]
    order: Vec<Order>,
    /// What all chance in a run derives from [default: 42]
    #[arg(long)]
    seed: Option<u64>,
    /// A range of seeds, both ends included, one run each
    #[arg(long, value_name = "FIRST..LAST", value_parser = values::seeds, conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// Where arrival ends in the published experiment, in percent of the cluster's GPUs [default: 130]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=130))]
    until: Option<u32>,
    /// How many simulated days to run; jobs of a generated trace arrive until then
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3660))]
    days: Option<u32>,
    /// Play an openb list with its own run times instead of the published experiment
    ///
    /// The recorded cluster was idle for 99 % of its GPU time, so the list is played under load: on
    /// one node in so many, jobs in their order, each as soon as what was asked for before it keeps
    /// the load.
    #[arg(long)]
    replay: bool,
    /// Load of a replay: GPU time asked for, in percent of the cluster's, or recorded to play by the
    /// recorded times [default: 120]
    #[arg(long, value_name = "PERCENT", value_parser = values::pace, requires = "replay")]
    load: Option<Pace>,
    /// One node in so many is kept in a replay under load [default: about 120 nodes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(requires = "replay")]
    shrink: Option<u32>,
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
    Bound(bound::Args),
    Suite(suite::Args),
    Fuzz(fuzz::Args),
    Greed(greed::Args),
    Scenario(scenario::Args),
}

/// One entry of `--order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    /// Who has had least for their weight goes first
    FairShare,
    /// Who came first goes first
    Fifo,
}

impl From<Order> for Turns {
    fn from(order: Order) -> Self {
        match order {
            Order::FairShare => Self::FairShare,
            Order::Fifo => Self::Fifo,
        }
    }
}

/// One entry of `--policy`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    All,
    One(&'static Entry),
}

const DEFAULT_SEED: u64 = 42;
const DEFAULT_UNTIL_PERCENT: u32 = 130;
/// Where a queue forms and placement decides how long it gets. Runs that outlast the arrivals count
/// as a whole, so less than this is asked for while jobs arrive.
const DEFAULT_LOAD_PERCENT: u32 = 120;
/// Nodes of a replay under load: few enough that the list's jobs come around several times, many
/// enough for every shape that matters.
const REPLAY_NODES: usize = 120;

const EXAMPLES: &str = "\
Examples:
  berth simulate
  berth simulate --trace site:site-1000 --policy all --days 7 --faults light
  berth simulate --trace site:site-1000 --days 14 --policy berth --order fair-share,fifo
  berth simulate --trace openb:default --policy fgd,best-fit --seeds 42..51 --html report.html
  berth simulate --trace openb:default --replay --load 110 --output json
  berth simulate suite fgd
  berth simulate bound --trace openb:default --until 100

Public traces are read from the folder in BERTH_DATA; without them, a message says who has them.";

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Some(Command::Bound(args)) => bound::run(args),
        Some(Command::Suite(args)) => suite::run(args),
        Some(Command::Fuzz(args)) => fuzz::run(args),
        Some(Command::Greed(args)) => greed::run(args),
        Some(Command::Scenario(args)) => scenario::run(args),
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
    let mut load_ends = None;
    let until = args.days.map(|days| Span::from_days(days.into()));
    for seed in seeds {
        let workload = match workloads.first() {
            Some((_, first)) if !args.trace.is_generated() => Arc::clone(first),
            _ => {
                let (workload, length) = args.paced(args.trace.workload(seed, until, &data)?);
                load_ends = length;
                Arc::new(workload)
            }
        };
        workloads.push((seed, workload));
    }
    let has_queues = workloads
        .iter()
        .any(|(_, workload)| workload.queues.len() > 1);
    let plan = played::Plan {
        policies: args.policies(),
        orders: args.orders(has_queues),
        workloads,
        until,
        load_ends,
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
                ("order", !self.order.is_empty()),
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
        chosen(&self.policy)
    }

    /// The rules of turns, each once; without queues there are no shares to compare.
    fn orders(&self, has_queues: bool) -> Vec<Turns> {
        let mut orders: Vec<Turns> = Vec::new();
        for &order in &self.order {
            if !orders.contains(&order.into()) {
                orders.push(order.into());
            }
        }
        match (orders.is_empty(), has_queues) {
            (false, _) => orders,
            (true, true) => Turns::ALL.to_vec(),
            (true, false) => vec![Turns::FairShare],
        }
    }

    /// The workload as it is played, and how long jobs arrive if that was chosen for it.
    fn paced(&self, workload: Workload) -> (Workload, Option<Span>) {
        match self.load.unwrap_or(Pace::Percent(DEFAULT_LOAD_PERCENT)) {
            Pace::Percent(percent) if self.replay => {
                let automatic = || (workload.nodes.len() / REPLAY_NODES).max(1);
                let automatic = || u32::try_from(automatic()).unwrap_or(u32::MAX);
                let shrink = self.shrink.unwrap_or_else(automatic);
                let loaded = load::loaded(workload, Load { percent, shrink });
                (loaded.workload, Some(loaded.length))
            }
            Pace::Percent(_) | Pace::Recorded => (workload, None),
        }
    }

    /// The command that repeats the run, without the flags that change no figure.
    fn command_line(&self) -> String {
        let policies: Vec<&str> = self.policies().iter().map(|policy| policy.name).collect();
        let mut line = format!(
            "berth simulate --trace {} --policy {}",
            self.trace,
            policies.join(",")
        );
        if !self.order.is_empty() {
            let orders = self.order.iter().map(|&order| Turns::from(order).name());
            line.push_str(&format!(
                " --order {}",
                orders.collect::<Vec<_>>().join(",")
            ));
        }
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
        match self.load {
            Some(Pace::Recorded) => line.push_str(" --load recorded"),
            Some(Pace::Percent(percent)) => line.push_str(&format!(" --load {percent}")),
            None => {}
        }
        if let Some(shrink) = self.shrink {
            line.push_str(&format!(" --shrink {shrink}"));
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

/// The policies in the order asked for, each once.
pub(super) fn chosen(choices: &[Choice]) -> Vec<&'static Entry> {
    let mut chosen: Vec<&'static Entry> = Vec::new();
    for choice in choices {
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

pub(super) fn choice_parser() -> impl clap::builder::TypedValueParser<Value = Choice> {
    let values = policies::values().chain([PossibleValue::new("all").help("every policy")]);
    let known = |name: String| policy::named(&name).map_or(Choice::All, Choice::One);
    clap::builder::PossibleValuesParser::new(values).map(known)
}
