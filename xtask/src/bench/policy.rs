//! Bench group `policy`: what one decision of FGD and of `berth` costs.
//!
//! On three lists of the published experiment it is the CPU time of a whole process by the pods that
//! it was offered, reading and learning included; at 10,000 nodes a bench in process. The two
//! policies take turns.

use anyhow::Context as _;
use serde_json::Value;

use super::in_process::{self, Figure};
use super::row::{Better, Row, median};
use super::{Context, Group, Measured};
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

/// What a decision costs in process.
const IN_PROCESS: [Figure; 2] = [
    Figure {
        name: "FGD, 10,000 nodes",
        key: "fgd_us",
        unit: "us a decision",
        better: Better::Lower,
        goal: 50.0,
    },
    Figure {
        name: "`berth`, 10,000 nodes",
        key: "berth_us",
        unit: "us a decision",
        better: Better::Lower,
        goal: 60.0,
    },
];

fn run(cx: &Context<'_>) -> anyhow::Result<Measured> {
    cx.prepare()?;
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
    rows.extend(in_process::rows(
        cx,
        GROUP.name,
        &in_process::CORE,
        &IN_PROCESS,
    )?);
    Ok(rows.into())
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
