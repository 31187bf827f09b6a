//! `berth up`: scheduler, console and a simulated cluster in one process.

use std::net::SocketAddr;
use std::time::Duration;

use crate::cli::exit::{Exit, Failure};
use crate::cli::values;
use crate::output::Format;

/// Run an embedded cluster with scheduler and console; needs no GPU, no Kubernetes, no root
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The cluster and its users
    #[arg(long, default_value = "small", value_parser = ["small", "site-1000"])]
    pub(crate) preset: String,
    /// A trace to play instead of the preset's work
    #[arg(long)]
    pub(crate) trace: Option<String>,
    /// The policy that places work; `berth policies` lists them
    #[arg(long, default_value = "fgd", value_parser = crate::cli::policies::names())]
    pub(crate) policy: String,
    /// What all chance in the cluster derives from
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// How many simulated seconds pass in a real one
    #[arg(long, default_value_t = 60.0, value_parser = values::positive)]
    pub(crate) speed: f64,
    /// Stop after this much real time [example: 60s, 5m]
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration)]
    pub(crate) for_: Option<Duration>,
    /// How much goes wrong
    #[arg(long, value_enum, default_value_t = Faults::None)]
    pub(crate) faults: Faults,
    /// Where the console and the metrics are served
    #[arg(long, default_value = "127.0.0.1:8420")]
    pub(crate) listen: SocketAddr,
    /// Print lines instead of the full-screen view
    #[arg(long)]
    pub(crate) plain: bool,
    /// Form of the final summary
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

/// How much goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Faults {
    /// Nothing
    None,
    /// A GPU or node now and then
    Light,
    /// Something all the time
    Heavy,
}

const EXAMPLES: &str = "\
Examples:
  berth up
  berth up --preset site-1000 --speed 600 --faults light
  berth up --plain --for 60s --output json";

/// Runs until stopped.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    Err(Failure::usage(format!(
        "`berth up --preset {}` is not in this build",
        args.preset
    )))
}
