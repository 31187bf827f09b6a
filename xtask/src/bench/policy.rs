//! Bench group `policy`: what one decision of FGD and of `berth` costs.
//!
//! On three lists of the published experiment it is the CPU time of a whole process by the pods that
//! it was offered, reading and learning included; at 10,000 nodes a bench in process. The two
//! policies take turns.

use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::row::{Better, Row, median};
use super::{Context, Group};
use crate::workspace::DATA_VARIABLE;
use crate::{measure, process};

pub(super) const GROUP: Group = Group {
    name: "policy",
    about: "A decision of FGD and of `berth`",
    run,
};

/// A row's name, list, policy and goal in microseconds of CPU.
///
/// Goals of `berth` are those it was built to; those of FGD are what a Go program that repeats the
/// published figures needs on such a core.
const LISTS: [(&str, &str, &str, f64); 6] = [
    ("FGD, default", "default", "fgd", 58.0),
    ("`berth`, default", "default", "berth", 60.0),
    ("FGD, gpushare100", "gpushare100", "fgd", 58.0),
    ("`berth`, gpushare100", "gpushare100", "berth", 60.0),
    ("FGD, gpuspec33", "gpuspec33", "fgd", 359.0),
    ("`berth`, gpuspec33", "gpuspec33", "berth", 150.0),
];

/// A row's name, its key in the figures of the bench, and its goal in microseconds.
const IN_PROCESS: [(&str, &str, f64); 2] = [
    ("FGD, 10,000 nodes", "fgd_us", 50.0),
    ("`berth`, 10,000 nodes", "berth_us", 60.0),
];

/// Variable that tells the criterion benches where to write their figures.
const JSON_VARIABLE: &str = "BERTH_BENCH_JSON";
/// Variable that tells them which.
const FIGURES_VARIABLE: &str = "BERTH_BENCH_FIGURES";

fn run(cx: &Context<'_>) -> anyhow::Result<Vec<Row>> {
    let data = cx.workspace.data();
    ensure!(
        data.is_dir(),
        "no traces at {}; set {DATA_VARIABLE}",
        data.display()
    );
    cx.workspace.build_release()?;
    let mut costs = vec![Vec::new(); LISTS.len()];
    for repeat in 1..=cx.repeats {
        eprintln!("run {repeat} of {}", cx.repeats);
        for (costs, (_, list, policy, _)) in costs.iter_mut().zip(LISTS) {
            let line = line(list, policy);
            let words: Vec<&str> = line.split(' ').collect();
            costs.push(measure::cost(cx.workspace, &cx.workspace.berth(), &words)?.cpu_seconds);
        }
    }
    let mut rows = Vec::new();
    for (costs, (name, list, policy, goal)) in costs.into_iter().zip(LISTS) {
        let line = line(list, policy);
        let seconds = median(costs).context("no runs")?;
        rows.push(Row {
            name,
            unit: "CPU us a decision",
            better: Better::Lower,
            goal,
            stretch: None,
            measured: seconds * 1e6 / offered(cx, &line)?,
            runs: cx.repeats,
            command: format!("berth {line}"),
        });
    }
    rows.extend(in_process(cx)?);
    Ok(rows)
}

fn line(list: &str, policy: &str) -> String {
    format!("simulate --trace openb:{list} --policy {policy} --seed 42 --output json")
}

/// Pods that a run was offered.
fn offered(cx: &Context<'_>, line: &str) -> anyhow::Result<f64> {
    let mut command = cx.workspace.command(cx.workspace.berth());
    let text = process::capture(command.args(line.split(' ')))?;
    let json: Value = serde_json::from_str(&text)?;
    let offered = json["results"][0]["pods_offered"].as_f64();
    offered.context("the run says nothing of the pods offered")
}

fn in_process(cx: &Context<'_>) -> anyhow::Result<Vec<Row>> {
    let path = cx.workspace.target().join("xtask/bench-policy.json");
    fs::create_dir_all(path.parent().context("the build folder has no parent")?)?;
    if path.exists() {
        fs::remove_file(&path)?; // the figures of an earlier run must not pass for this one's
    }
    let arguments = ["bench", "--package", "berth-sim", "--bench", "core"];
    let mut command = cx.workspace.cargo(arguments);
    command
        .env(JSON_VARIABLE, &path)
        .env(FIGURES_VARIABLE, "policy");
    process::require(&mut command)?;
    let text = fs::read_to_string(&path).with_context(|| format!("no figures in {path:?}"))?;
    parse(
        &text,
        &format!("{FIGURES_VARIABLE}=policy cargo {}", arguments.join(" ")),
    )
}

fn parse(text: &str, command: &str) -> anyhow::Result<Vec<Row>> {
    let figures: Value = serde_json::from_str(text).context("the benches wrote no JSON")?;
    let row = |(name, key, goal): (&'static str, &str, f64)| -> anyhow::Result<Row> {
        Ok(Row {
            name,
            command: command.to_owned(),
            unit: "us a decision",
            better: Better::Lower,
            goal,
            stretch: None,
            measured: figures[key]
                .as_f64()
                .with_context(|| format!("no figure `{key}`"))?,
            runs: 1,
        })
    };
    IN_PROCESS.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_bench_become_rows() {
        let rows = parse(r#"{"fgd_us": 20.0, "berth_us": 90.0}"#, "cargo bench").unwrap();
        let verdicts: Vec<_> = rows.iter().map(Row::verdict).collect();
        assert_eq!(verdicts, ["goal", "missed"]);
        assert!(parse(r#"{"fgd_us": 20.0}"#, "cargo bench").is_err());
    }
}
