//! `cargo xtask`: everything a contributor or CI runs, with no shell and no Makefile.
//!
//! Each command is one file with a `run` function and one variant below.
//! Suites, tidy checks and bench groups are one file and one line in an explicit list.
//! Deliberately absent: any product crate as a dependency, so that this builds while they do not.

mod bench;
mod bless;
mod fuzz;
mod generate;
mod measure;
mod process;
mod suite;
mod tally;
mod test;
mod testbed;
mod tidy;
mod workspace;

use std::fmt;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Exit code of a command that ran and found something wrong.
const EXIT_FINDINGS: u8 = 1;
/// Exit code of a command that was asked for something that there is not; clap's own code.
const EXIT_USAGE: u8 = 2;
/// Exit code of a command that could not do its work.
const EXIT_INTERNAL: u8 = 5;

/// House-keeping commands of Berth.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the test suites in order; a failed suite does not stop the later ones
    Test(test::Args),
    /// Check the house rules that no compiler checks
    Tidy(tidy::Args),
    /// Make the generated pages, or check that they are fresh
    Gen(generate::Args),
    /// Rewrite the expectations of snapshots and literate tests
    Bless(bless::Args),
    /// Measure, and write docs/book/src/performance.md
    Bench(bench::Args),
    /// Run the simulator's fault fuzzer
    Fuzz(fuzz::Args),
    /// Run a real Kubernetes on this machine
    Testbed(testbed::Args),
    /// Run one command and print its cost as JSON (used by `bench`)
    #[command(hide = true)]
    Measure(measure::Args),
}

/// How a command ended, when it could do its work at all.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verdict {
    Clean,
    Findings,
}

/// A name on the command line that is in no list.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli.command) {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Findings) => ExitCode::from(EXIT_FINDINGS),
        Err(error) => {
            eprintln!("error: {error:#}");
            let is_usage = error.is::<Usage>();
            ExitCode::from(if is_usage { EXIT_USAGE } else { EXIT_INTERNAL })
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<Verdict> {
    let workspace = Workspace::locate();
    match command {
        Command::Test(args) => test::run(&workspace, &args),
        Command::Tidy(args) => tidy::run(&workspace, &args),
        Command::Gen(args) => generate::run(&workspace, &args),
        Command::Bless(args) => bless::run(&workspace, &args),
        Command::Bench(args) => bench::run(&workspace, &args),
        Command::Fuzz(args) => fuzz::run(&workspace, &args),
        Command::Testbed(args) => testbed::run(&workspace, &args),
        Command::Measure(args) => measure::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
