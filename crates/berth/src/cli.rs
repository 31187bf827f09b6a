//! The command line: one file a command, one line in `Command`.
//!
//! Invariant: a command parses, calls and prints; it returns an `Exit` or a `Failure` and never
//! ends the process itself. Not here: what is printed (that is `output`).

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

pub(crate) mod exit;
pub(crate) mod values;

pub(crate) mod audit;
mod completions;
mod crd;
mod docs;
mod looking;
mod man;
mod policies;
mod ps;
mod queue;
mod scheduler;
mod simulate;
mod up;
mod why;

use exit::{Exit, Failure};

/// Berth decides who gets which GPU of a shared cluster, and tells everybody else why they wait
#[derive(Debug, Parser)]
#[command(
    name = "berth",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(disable_help_subcommand = true, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Every command, in the order in which they are listed to people.
#[derive(Debug, clap::Subcommand)]
enum Command {
    Up(up::Args),
    Scheduler(scheduler::Args),
    Why(why::Args),
    Queue(queue::Args),
    Ps(ps::Args),
    Crd(crd::Args),
    Simulate(simulate::Args),
    Audit(audit::Args),
    Explain(audit::explain::Args),
    Policies(policies::Args),
    Completions(completions::Args),
    Man(man::Args),
    Docs(docs::Args),
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 negative answer, 2 usage, 3 unreadable input, 4 incomplete evidence,
5 internal. `berth COMMAND --help` shows examples.";

/// Runs the command that the process's arguments name.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            // A reader that has gone away wants no help text, and there is no one left to tell.
            let _ = error.print();
            return exit.into();
        }
    };
    match cli.run() {
        Ok(exit) => exit.into(),
        Err(failure) if failure.is_broken_pipe() => Exit::Done.into(),
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit().into()
        }
    }
}

/// The whole command line, for pages made from it.
fn definition() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

impl Cli {
    fn run(&self) -> Result<Exit, Failure> {
        match &self.command {
            Command::Up(args) => up::run(args),
            Command::Scheduler(args) => scheduler::run(args),
            Command::Why(args) => why::run(args),
            Command::Queue(args) => queue::run(args),
            Command::Ps(args) => ps::run(args),
            Command::Crd(args) => crd::run(args),
            Command::Simulate(args) => simulate::run(args),
            Command::Audit(args) => audit::run(args),
            Command::Explain(args) => audit::explain::run(args),
            Command::Policies(args) => policies::run(args),
            Command::Completions(args) => completions::run(args),
            Command::Man(args) => man::run(args),
            Command::Docs(args) => docs::run(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
