//! Berth's filters beside kube-scheduler's, on random clusters.
//!
//! `cargo run --example differential -- --seeds 0..10000` asks both sides about one pod a seed and
//! prints every disagreement as a case that has been made as small as possible. The other side is
//! the program that the variable `BERTH_ORACLE` names: kube-scheduler's own plugins behind JSON
//! lines. `--print N` shows the case of a seed, `--case FILE` asks both sides about one in a file.

mod generate;
mod oracle;
#[path = "../../tests/it/question.rs"]
mod question;
mod shrink;

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use oracle::Oracle;
use question::{Answers, Said};
use serde_json::Value;

/// Disagreements that are shown before the run ends early.
const SHOWN_MAX: usize = 8;

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// The number of disagreements.
fn run() -> Result<usize, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["--seeds", range] => compare(parse_range(range)?),
        ["--print", seed] => {
            let seed = seed.parse().map_err(|_| format!("`{seed}` is no seed"))?;
            println!("{}", generate::case(seed));
            Ok(0)
        }
        ["--case", path] => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            let case = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
            one(&case)
        }
        _ => Err("usage: differential --seeds A..B | --print SEED | --case FILE".into()),
    }
}

fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("`{text}` is no range of seeds such as 0..10000");
    let (start, end) = text.split_once("..").ok_or_else(wrong)?;
    Ok(start.parse().map_err(|_| wrong())?..end.parse().map_err(|_| wrong())?)
}

fn one(case: &Value) -> Result<usize, String> {
    let mut oracle = Oracle::start()?;
    let (ours, theirs) = both(&mut oracle, case)?;
    println!("ours:   {ours:?}\ntheirs: {theirs:?}");
    Ok(usize::from(ours != theirs))
}

/// Answers, or why the case can't be read.
type Side = Result<Answers, String>;

/// Both sides' answers.
fn both(oracle: &mut Oracle, case: &Value) -> Result<(Side, Side), String> {
    let theirs = oracle.ask(case)?;
    Ok((question::ours(case), theirs))
}

fn compare(seeds: Range<u64>) -> Result<usize, String> {
    let mut oracle = Oracle::start()?;
    let (mut different, mut unread) = (0, 0);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let started = Instant::now();
    for seed in seeds.clone() {
        let case = generate::case(seed);
        let (ours, theirs) = both(&mut oracle, &case)?;
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => {
                theirs
                    .values()
                    .for_each(|said| *counts.entry(label(said)).or_default() += 1);
                if ours == theirs {
                    continue;
                }
            }
            (Err(why), Err(theirs)) => {
                unread += 1;
                println!("seed {seed}: neither side reads the case: {why}; {theirs}");
                continue;
            }
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => {}
        }
        different += 1;
        println!("seed {seed}: ours {ours:?}, theirs {theirs:?}");
        if different <= SHOWN_MAX {
            let small = shrink::shrink(&mut oracle, case)?;
            let (ours, theirs) = both(&mut oracle, &small)?;
            println!("  smallest: {small}\n  ours {ours:?}\n  theirs {theirs:?}");
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let n_cases = seeds.end.saturating_sub(seeds.start);
    for (said, count) in counts {
        println!("{count:>8}  {said}");
    }
    println!(
        "seeds {}..{}: {n_cases} cases, {different} disagreements, {unread} read by neither side, \
         {:.0} cases/s",
        seeds.start,
        seeds.end,
        n_cases as f64 / seconds
    );
    Ok(different + unread)
}

fn label(said: &Said) -> String {
    match said {
        Said::Fits => "fits".into(),
        Said::Refused(plugin, code) => format!("refused by {plugin}: {code}"),
        Said::Failed(plugin) => format!("no answer by {plugin}"),
    }
}
