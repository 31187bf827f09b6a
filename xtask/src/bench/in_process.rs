//! Figures that benches of the product measure in process.
//!
//! A bench that finds the variable [`JSON_VARIABLE`] measures the figures of the group named by
//! [`GROUP_VARIABLE`] once and writes them there: an object with a number a key. It is started anew
//! for each run, and the median of the runs counts.

use std::fs;

use anyhow::Context as _;
use serde_json::Value;

use super::Context;
use super::row::{Better, Row, median};
use crate::process;

const JSON_VARIABLE: &str = "BERTH_BENCH_JSON";
const GROUP_VARIABLE: &str = "BERTH_BENCH_FIGURES";

/// A bench that measures figures.
pub(super) struct Bench {
    pub package: &'static str,
    pub name: &'static str,
}

/// The bench of the simulator and the core.
pub(super) const CORE: Bench = Bench {
    package: "berth-sim",
    name: "core",
};

/// A figure and its goal.
pub(super) struct Figure {
    pub name: &'static str,
    /// Its key in what the bench writes.
    pub key: &'static str,
    pub unit: &'static str,
    pub better: Better,
    pub goal: f64,
}

/// Measures the `figures` of a group.
pub(super) fn rows(
    cx: &Context<'_>,
    group: &str,
    bench: &Bench,
    figures: &[Figure],
) -> anyhow::Result<Vec<Row>> {
    let path = cx
        .workspace
        .target()
        .join(format!("xtask/bench-{group}.json"));
    fs::create_dir_all(path.parent().context("the build folder has no parent")?)?;
    let arguments = ["bench", "--package", bench.package, "--bench", bench.name];
    let mut runs = Vec::new();
    for _ in 0..cx.repeats {
        if path.exists() {
            fs::remove_file(&path)?; // the figures of an earlier run must not pass for this one's
        }
        let mut command = cx.workspace.cargo(arguments);
        process::require(command.env(JSON_VARIABLE, &path).env(GROUP_VARIABLE, group))?;
        runs.push(fs::read_to_string(&path).with_context(|| format!("no figures in {path:?}"))?);
    }
    let command = format!("{GROUP_VARIABLE}={group} cargo {}", arguments.join(" "));
    medians(&runs, figures, &command)
}

fn medians(runs: &[String], figures: &[Figure], command: &str) -> anyhow::Result<Vec<Row>> {
    let runs: Vec<Value> = runs
        .iter()
        .map(|text| serde_json::from_str(text).context("the benches wrote no JSON"))
        .collect::<anyhow::Result<_>>()?;
    let row = |figure: &Figure| -> anyhow::Result<Row> {
        let key = figure.key;
        let one = |run: &Value| {
            run[key]
                .as_f64()
                .with_context(|| format!("no figure `{key}`"))
        };
        let measured: Vec<f64> = runs.iter().map(one).collect::<anyhow::Result<_>>()?;
        Ok(Row {
            name: figure.name,
            command: command.to_owned(),
            unit: figure.unit,
            better: figure.better,
            goal: figure.goal,
            stretch: None,
            runs: measured.len(),
            measured: median(measured).context("no runs")?,
        })
    };
    figures.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: [Figure; 2] = [
        Figure {
            name: "fast",
            key: "a",
            unit: "/s",
            better: Better::Higher,
            goal: 10.0,
        },
        Figure {
            name: "short",
            key: "b",
            unit: "ms",
            better: Better::Lower,
            goal: 1.0,
        },
    ];

    #[test]
    fn the_median_of_the_runs_counts() {
        let runs = [(30.0, 2.0), (12.0, 0.5), (5.0, 3.0)];
        let runs = runs.map(|(a, b)| format!(r#"{{"a": {a}, "b": {b}}}"#));
        let rows = medians(&runs, &FIGURES, "cargo bench").unwrap();
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.measured, row.verdict()))
            .collect();
        assert_eq!(told, [(12.0, "goal"), (2.0, "missed")]);
        assert_eq!(rows[0].runs, 3);
    }

    #[test]
    fn missing_figure_is_refused() {
        let error = medians(&[r#"{"a": 1}"#.to_owned()], &FIGURES, "cargo bench").unwrap_err();
        assert!(error.to_string().contains("`b`"));
    }
}
