//! `cargo xtask measure -- COMMAND`: what one command cost, as JSON on standard output.
//!
//! The kernel sums the cost of all children of a process, so each measured command gets a process
//! of its own: this one. Its standard output is thrown away, its standard error shown.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde_json::json;

use crate::workspace::Workspace;
use crate::{Verdict, process};

/// Arguments of `cargo xtask measure`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

/// What one run of a command cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub wall_seconds: f64,
    /// User and system time of all threads and waited-for children.
    pub cpu_seconds: f64,
    /// Largest resident set of any one process, in 10^6 bytes.
    pub memory_peak_mb: f64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Verdict> {
    let (program, arguments) = args.command.split_first().context("no command")?;
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null());
    let started = Instant::now();
    process::require(&mut command)?;
    let wall_seconds = started.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu_seconds = seconds(usage.user_time()) + seconds(usage.system_time());
    let memory_peak_mb = usage.max_rss() as f64 * 1024.0 / 1e6; // Linux counts in KiB
    println!(
        "{}",
        json!({
            "wall_seconds": wall_seconds,
            "cpu_seconds": cpu_seconds,
            "memory_peak_mb": memory_peak_mb,
        })
    );
    Ok(Verdict::Clean)
}

/// Runs `program` once through `cargo xtask measure` and returns what it cost.
pub(crate) fn cost(
    workspace: &Workspace,
    program: &std::path::Path,
    arguments: &[&str],
) -> anyhow::Result<Cost> {
    let this = std::env::current_exe().context("unable to find this program")?;
    let mut command = workspace.command(this);
    command
        .arg("measure")
        .arg("--")
        .arg(program)
        .args(arguments);
    parse(&process::capture(&mut command)?)
}

fn parse(text: &str) -> anyhow::Result<Cost> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    let field = |name: &str| value[name].as_f64().with_context(|| format!("no {name}"));
    let cost = Cost {
        wall_seconds: field("wall_seconds")?,
        cpu_seconds: field("cpu_seconds")?,
        memory_peak_mb: field("memory_peak_mb")?,
    };
    if cost.memory_peak_mb <= 0.0 {
        bail!("the kernel counted no memory for the command");
    }
    Ok(cost)
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_read_back() {
        let text = r#"{"wall_seconds": 1.5, "cpu_seconds": 2.5, "memory_peak_mb": 40.0}"#;
        let expected = Cost {
            wall_seconds: 1.5,
            cpu_seconds: 2.5,
            memory_peak_mb: 40.0,
        };
        assert_eq!(parse(text).unwrap(), expected);
        assert!(parse(r#"{"wall_seconds": 1.5}"#).is_err());
        assert!(parse(&text.replace("40.0", "0")).is_err());
    }
}
