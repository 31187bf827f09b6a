//! `cargo xtask fuzz`: a fuzzer over many seeds, in a release build.
//!
//! A target is one line in [`TARGETS`]: a program that takes `--seeds N --seed FROM` and prints an
//! object with `passed` (a count) and `failures`, a list of `{"seed", "message"}`.
//! Every failing seed is printed with the command that replays it.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;

use crate::tally::Tally;
use crate::workspace::Workspace;
use crate::{Usage, Verdict, process};

/// Exit code of a fuzzer that found something.
const FINDINGS: i32 = 1;

/// Every target; the first is the default.
const TARGETS: [&Target; 2] = [
    &Target {
        name: "simulator",
        about: "the simulator under random faults",
        build: &["build", "--release", "--package", "berth"],
        program: "release/berth",
        arguments: &["simulate", "fuzz", "--output", "json"],
        replay: "cargo run --release -- simulate fuzz",
    },
    &Target {
        name: "audit",
        about: "readers, rules and renderers of the audit on damaged dumps of every kind",
        build: &[
            "build",
            "--release",
            "--package",
            "berth-audit",
            "--example",
            "fuzz",
        ],
        program: "release/examples/fuzz",
        arguments: &[],
        replay: "cargo run --release -p berth-audit --example fuzz --",
    },
];

/// Something that is fuzzed.
#[derive(Debug)]
struct Target {
    name: &'static str,
    about: &'static str,
    /// What cargo is told to build it.
    build: &'static [&'static str],
    /// Where it stands in the build folder.
    program: &'static str,
    arguments: &'static [&'static str],
    /// What a person types before the seeds.
    replay: &'static str,
}

/// Arguments of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is fuzzed; `--list` prints the targets
    #[arg(long, default_value = TARGETS[0].name)]
    target: String,
    /// Print the targets and fuzz nothing
    #[arg(long)]
    list: bool,
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
    if args.list {
        for target in TARGETS {
            println!("{:<10} {}", target.name, target.about);
        }
        return Ok(Verdict::Clean);
    }
    let target = select(&args.target)?;
    process::require(&mut workspace.cargo(target.build.iter().copied()))?;
    let started = Instant::now();
    let budget = Duration::from_secs(60 * args.minutes.unwrap_or(0));
    let mut total = Tally::default();
    let mut from = args.from;
    loop {
        let batch = batch(workspace, target, from, args.seeds)?;
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

fn select(name: &str) -> anyhow::Result<&'static Target> {
    let target = TARGETS.into_iter().find(|target| target.name == name);
    target.ok_or_else(|| {
        let text = format!("there is no target {name}; `cargo xtask fuzz --list` prints them");
        Usage(text).into()
    })
}

fn batch(workspace: &Workspace, target: &Target, from: u64, seeds: u64) -> anyhow::Result<Tally> {
    let mut command = workspace.command(workspace.target().join(target.program));
    command.args(target.arguments);
    command.args(["--seeds", &seeds.to_string(), "--seed", &from.to_string()]);
    let output = process::output(&mut command)?;
    let is_answer = output.status.success() || output.status.code() == Some(FINDINGS);
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
        println!("  replay: {} --seeds 1 --seed {seed}", target.replay);
    }
    Ok(tally)
}

/// Counts, and seed and message of each failure.
fn parse(text: &str) -> anyhow::Result<(Tally, Vec<(u64, String)>)> {
    let value: Value = serde_json::from_str(text).context("the fuzzer did not print JSON")?;
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
    fn unknown_target_is_refused() {
        assert!(select("none").is_err());
        assert_eq!(select("audit").unwrap().name, "audit");
    }

    #[test]
    fn output_without_counts_is_refused() {
        assert!(parse("{}").is_err());
        assert!(parse(r#"{"passed": 1}"#).is_err());
        assert!(parse("").is_err());
    }
}
