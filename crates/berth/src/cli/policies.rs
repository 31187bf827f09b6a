//! `berth policies`: the catalogue of scheduling policies, and their manual pages.

use berth_core::sched::policy::{self, Entry, POLICIES};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::output::table::{Column, Table};
use crate::output::{self, Document, Format};

/// List the scheduling policies, or show the manual of one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show the manual of a policy
    Show {
        /// The policy
        #[arg(value_parser = entry_parser())]
        policy: &'static Entry,
    },
}

const EXAMPLES: &str = "\
Examples:
  berth policies
  berth policies --output json
  berth policies show fgd";

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        None => output::print(&List::new(), args.output)?,
        Some(Command::Show { policy }) => output::write_text(policy.manual)?,
    }
    Ok(Exit::Done)
}

/// Accepts the name of a policy, and suggests one where it is misspelt.
pub(crate) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(values())
}

/// Every policy as a value of a flag.
pub(crate) fn values() -> impl Iterator<Item = PossibleValue> {
    POLICIES
        .iter()
        .map(|entry| PossibleValue::new(entry.name).help(entry.summary))
}

/// Like [`names`], and returns the entry.
fn entry_parser() -> impl clap::builder::TypedValueParser<Value = &'static Entry> {
    names().map(|name| policy::named(&name).expect("the parser accepts names of the catalogue"))
}

/// The catalogue as it is shown.
#[derive(Debug, Serialize)]
struct List {
    policies: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
}

impl List {
    fn new() -> Self {
        let row = |entry: &&Entry| Row {
            name: entry.name,
            summary: entry.summary,
        };
        Self {
            policies: POLICIES.iter().map(row).collect(),
        }
    }
}

impl Document for List {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new([Column::text("policy"), Column::text("what it does")]);
        for row in &self.policies {
            table.row([row.name, row.summary]);
        }
        vec![table]
    }
}
