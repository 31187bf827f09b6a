//! Bench group `core`: the simulator and the decision core, in process and as a whole.

use anyhow::Context as _;

use super::in_process::{self, Figure};
use super::row::{Better, Row, median};
use super::{Context, Group, Measured};
use crate::measure::{self, Cost};

pub(super) const GROUP: Group = Group {
    name: "core",
    about: "Simulator and decision core",
    run,
};

/// One published default run of FGD: 1,213 nodes, about 10,900 arrivals.
const ONE_RUN: [&str; 9] = [
    "simulate",
    "--trace",
    "openb:default",
    "--policy",
    "fgd",
    "--seed",
    "42",
    "--output",
    "json",
];
/// The 850 published runs of deterministic policies.
const SUITE: [&str; 5] = ["simulate", "suite", "fgd", "--output", "json"];
/// What the benches measure in process.
const IN_PROCESS: [Figure; 4] = [
    Figure {
        name: "Event engine, trivial policy",
        key: "events_per_s",
        unit: "events/s",
        better: Better::Higher,
        goal: 1e6,
    },
    Figure {
        name: "FGD, 10,000 nodes, with departures",
        key: "fgd_placements_per_s",
        unit: "placements/s",
        better: Better::Higher,
        goal: 1e5,
    },
    Figure {
        name: "Decisions in process, 5,000 nodes",
        key: "decisions_per_s",
        unit: "decisions/s",
        better: Better::Higher,
        goal: 2e4,
    },
    Figure {
        name: "Slowest hundredth of those decisions",
        key: "decision_p99_ms",
        unit: "ms",
        better: Better::Lower,
        goal: 1.0,
    },
];

fn run(cx: &Context<'_>) -> anyhow::Result<Measured> {
    cx.prepare()?;
    let mut rows = whole_process(cx)?;
    rows.extend(in_process::rows(
        cx,
        GROUP.name,
        &in_process::CORE,
        &IN_PROCESS,
    )?);
    Ok(rows.into())
}

fn whole_process(cx: &Context<'_>) -> anyhow::Result<Vec<Row>> {
    let mut one_run = Vec::new();
    let mut suite = Vec::new();
    for repeat in 1..=cx.repeats {
        eprintln!("run {repeat} of {}", cx.repeats);
        one_run.push(measure::cost(
            cx.workspace,
            &cx.workspace.berth(),
            &ONE_RUN,
        )?);
        suite.push(measure::cost(cx.workspace, &cx.workspace.berth(), &SUITE)?);
    }
    let of = |costs: &[Cost], field: fn(&Cost) -> f64| {
        median(costs.iter().map(field).collect()).context("no runs")
    };
    let row = |name, words: &[&str], unit, goal, stretch, measured| Row {
        name,
        command: format!("berth {}", words.join(" ")),
        unit,
        better: Better::Lower,
        goal,
        stretch,
        measured,
        runs: cx.repeats,
    };
    let cpu = of(&one_run, |cost| cost.cpu_seconds)?;
    let memory = of(&one_run, |cost| cost.memory_peak_mb)?;
    let suite_wall = of(&suite, |cost| cost.wall_seconds)?;
    Ok(vec![
        row(
            "One published default run of FGD",
            &ONE_RUN,
            "CPU s",
            0.15,
            Some(0.1),
            cpu,
        ),
        row(
            "Peak memory of that run",
            &ONE_RUN,
            "MB",
            50.0,
            None,
            memory,
        ),
        row(
            "850 published runs of deterministic policies",
            &SUITE,
            "s",
            240.0,
            None,
            suite_wall,
        ),
    ])
}
