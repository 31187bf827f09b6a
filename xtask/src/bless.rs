//! `cargo xtask bless`: rewrites the expectations of tests from what the code says now.
//!
//! Snapshots (`insta`) and the `expect` blocks of literate tests are rewritten in place.
//! The difference is then the thing to read: blessing is a review, not a repair.

use crate::workspace::Workspace;
use crate::{Verdict, process};

/// Variable that makes the literate runners rewrite their `expect` blocks.
const BLESS_VARIABLE: &str = "BERTH_BLESS";

/// Arguments of `cargo xtask bless`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Bless the tests of one package only
    #[arg(long, short)]
    package: Option<String>,
    /// Bless only tests whose name contains this
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Verdict> {
    let mut command = workspace.cargo(["test", "--no-fail-fast"]);
    match &args.package {
        Some(package) => command.args(["--package", package]),
        None => command.arg("--workspace"),
    };
    command
        .args(&args.filter)
        .env("INSTA_UPDATE", "always")
        .env(BLESS_VARIABLE, "1");
    let passed = process::succeeds(&mut command)?;
    println!("Changed against the last commit:");
    process::require(workspace.command("git").args(["diff", "--stat", "HEAD"]))?;
    process::require(workspace.command("git").args(["status", "--short"]))?;
    if !passed {
        println!("some tests failed for other reasons than their expectations");
    }
    Ok(if passed {
        Verdict::Clean
    } else {
        Verdict::Findings
    })
}
