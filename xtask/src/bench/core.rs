//! Bench group `core`: the simulator and the decision core, in process and as a whole.
//!
//! The criterion benches of `berth-sim` write their figures to the file that `BERTH_BENCH_JSON`
//! names: an object with a number for each of the keys below.

use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::row::{Better, Row, median};
use super::{Context, Group};
use crate::measure::{self, Cost};
use crate::process;
use crate::workspace::DATA_VARIABLE;

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
/// Variable that tells the criterion benches where to write their figures.
const JSON_VARIABLE: &str = "BERTH_BENCH_JSON";

fn run(cx: &Context<'_>) -> anyhow::Result<Vec<Row>> {
    let data = cx.workspace.data();
    ensure!(
        data.is_dir(),
        "no traces at {}; set {DATA_VARIABLE}",
        data.display()
    );
    cx.workspace.build_release()?;
    let mut rows = whole_process(cx)?;
    rows.extend(in_process(cx)?);
    Ok(rows)
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

fn in_process(cx: &Context<'_>) -> anyhow::Result<Vec<Row>> {
    let path = cx.workspace.target().join("xtask/bench-core.json");
    fs::create_dir_all(path.parent().context("the build folder has no parent")?)?;
    if path.exists() {
        fs::remove_file(&path)?; // the figures of an earlier run must not pass for this one's
    }
    let arguments = ["bench", "--package", "berth-sim", "--bench", "core"];
    let mut command = cx.workspace.cargo(arguments);
    process::require(command.env(JSON_VARIABLE, &path))?;
    let text = fs::read_to_string(&path).with_context(|| format!("no figures in {path:?}"))?;
    parse(&text, &format!("cargo {}", arguments.join(" ")))
}

fn parse(text: &str, command: &str) -> anyhow::Result<Vec<Row>> {
    let figures: Value = serde_json::from_str(text).context("the benches wrote no JSON")?;
    let row = |name, key: &str, unit, better, goal| -> anyhow::Result<Row> {
        let measured = figures[key]
            .as_f64()
            .with_context(|| format!("no figure `{key}`"))?;
        let command = command.to_owned();
        Ok(Row {
            name,
            command,
            unit,
            better,
            goal,
            stretch: None,
            measured,
            runs: 1,
        })
    };
    let higher = Better::Higher;
    Ok(vec![
        row(
            "Event engine, trivial policy",
            "events_per_s",
            "events/s",
            higher,
            1e6,
        )?,
        row(
            "FGD, 10,000 nodes, with departures",
            "fgd_placements_per_s",
            "placements/s",
            higher,
            1e5,
        )?,
        row(
            "Decisions in process, 5,000 nodes",
            "decisions_per_s",
            "decisions/s",
            higher,
            2e4,
        )?,
        row(
            "Slowest hundredth of those decisions",
            "decision_p99_ms",
            "ms",
            Better::Lower,
            1.0,
        )?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_benches_become_rows() {
        let text = r#"{"events_per_s": 2e6, "fgd_placements_per_s": 9e4,
                       "decisions_per_s": 3e4, "decision_p99_ms": 0.4}"#;
        let rows = parse(text, "cargo bench").unwrap();
        let verdicts: Vec<_> = rows.iter().map(Row::verdict).collect();
        assert_eq!(verdicts, ["goal", "missed", "goal", "goal"]);
    }

    #[test]
    fn missing_figure_is_refused() {
        let error = parse(r#"{"events_per_s": 2e6}"#, "cargo bench").unwrap_err();
        assert!(error.to_string().contains("fgd_placements_per_s"));
    }
}
