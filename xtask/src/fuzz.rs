//! `cargo xtask fuzz`: the simulator's fault fuzzer over many seeds, in a release build.
//!
//! `berth simulate fuzz --seeds N --seed FROM --output json` prints an object with `passed` (a
//! count) and `failures`, a list of `{"seed", "message"}`.
//! Every failing seed is printed with the command that replays it.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;

use crate::tally::Tally;
use crate::workspace::Workspace;
use crate::{Verdict, process};

/// Exit code of `berth` when it found something.
const BERTH_FINDINGS: i32 = 1;

/// Arguments of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seeds to run; with --minutes, seeds a batch
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Go on with further batches of seeds for this long
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Verdict> {
    workspace.build_release()?;
    let started = Instant::now();
    let budget = Duration::from_secs(60 * args.minutes.unwrap_or(0));
    let mut total = Tally::default();
    let mut from = args.from;
    loop {
        let batch = batch(workspace, from, args.seeds)?;
        from = from.saturating_add(args.seeds);
        total += batch;
        println!("seeds up to {}: {batch}", from.saturating_sub(1));
        if started.elapsed() >= budget {
            break;
        }
    }
    println!("{total}");
    Ok(if total.is_clean() {
        Verdict::Clean
    } else {
        Verdict::Findings
    })
}

fn batch(workspace: &Workspace, from: u64, seeds: u64) -> anyhow::Result<Tally> {
    let mut command = workspace.command(workspace.berth());
    command.args(["simulate", "fuzz", "--seeds", &seeds.to_string()]);
    command.args(["--seed", &from.to_string(), "--output", "json"]);
    let output = process::output(&mut command)?;
    let is_answer = output.status.success() || output.status.code() == Some(BERTH_FINDINGS);
    anyhow::ensure!(
        is_answer,
        "{} for {}",
        output.status,
        process::show(&command)
    );
    let (tally, failures) = parse(&String::from_utf8_lossy(&output.stdout))?;
    let counted = tally.passed + tally.failed;
    anyhow::ensure!(
        counted == seeds,
        "{counted} seeds counted, {seeds} asked for"
    );
    anyhow::ensure!(
        output.status.success() == failures.is_empty(),
        "{} does not go with {} failing seeds",
        output.status,
        failures.len()
    );
    for (seed, message) in failures {
        println!("seed {seed}: {message}");
        println!("  replay: cargo run --release -- simulate fuzz --seeds 1 --seed {seed}");
    }
    Ok(tally)
}

/// Counts, and seed and message of each failure.
fn parse(text: &str) -> anyhow::Result<(Tally, Vec<(u64, String)>)> {
    let value: Value = serde_json::from_str(text).context("berth did not print JSON")?;
    let passed = value["passed"].as_u64().context("no count `passed`")?;
    let failures = value["failures"].as_array().context("no list `failures`")?;
    let failures: Vec<(u64, String)> = failures
        .iter()
        .map(|failure| {
            let seed = failure["seed"]
                .as_u64()
                .context("a failure without `seed`")?;
            Ok((
                seed,
                failure["message"]
                    .as_str()
                    .unwrap_or("no message")
                    .to_owned(),
            ))
        })
        .collect::<anyhow::Result<_>>()?;
    Ok((
        Tally {
            passed,
            failed: failures.len() as u64,
            skipped: 0,
        },
        failures,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_seeds_are_counted_and_named() {
        let text = r#"{"passed": 98, "failures": [{"seed": 7, "message": "a GPU over 1.0"},
                       {"seed": 9}]}"#;
        let (tally, failures) = parse(text).unwrap();
        assert_eq!(
            tally,
            Tally {
                passed: 98,
                failed: 2,
                skipped: 0
            }
        );
        assert_eq!(failures[0], (7, "a GPU over 1.0".to_owned()));
    }

    #[test]
    fn output_without_counts_is_refused() {
        assert!(parse("{}").is_err());
        assert!(parse(r#"{"passed": 1}"#).is_err());
        assert!(parse("").is_err());
    }
}
