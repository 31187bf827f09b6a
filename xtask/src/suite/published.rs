//! Suite `published`: our runs of the FGD experiment against the figures its authors published.
//!
//! Source of the figures: `analysis_allo_discrete.csv` and `analysis_frag_discrete.csv` of
//! `hkust-adsl/kubernetes-scheduler-simulator` (Weng et al., "Beware of Fragmentation", USENIX ATC
//! 2023): 17 traces, ten seeds (42 to 51), columns 0..130 = percent of capacity that has arrived.
//! Each of the 850 runs of a deterministic policy is one check.
//! Deliberately absent: `random`, whose published runs depend on the timing of threads.
//!
//! `berth simulate suite fgd --output json` prints an object with a list `runs`; each has `trace`
//! ("default"), `policy` ("fgd"), `seed`, and two lists of 131 percentages of the cluster's GPUs,
//! `allocation_percent` and `fragmentation_percent`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::{Context, InCi, Outcome, Suite};
use crate::process;
use crate::tally::{Checked, Tally};
use crate::workspace::DATA_VARIABLE;

pub(super) const SUITE: Suite = Suite {
    name: "published",
    about: "850 runs against the published FGD figures",
    run,
};

/// Published policy name and ours.
const POLICIES: [(&str, &str); 5] = [
    ("02-DotProd", "dot-product"),
    ("03-GpuClustering", "gpu-clustering"),
    ("04-GpuPacking", "gpu-packing"),
    ("05-BestFit", "best-fit"),
    ("06-FGD", "fgd"),
];
/// Columns 0..=130.
const COLUMNS: usize = 131;
/// The published figures are rounded to 0.01, and rounding of means may differ by one step more
/// than a float comparison forgives.
const TOLERANCE: f64 = 0.011;
/// Column 0 averages the few events before half a percent has arrived and tells policies apart by
/// nothing but where the log begins, so the comparison starts at 1.
const FIRST_COLUMN: usize = 1;
/// Differing runs printed one by one; the rest is counted.
const SHOWN: usize = 20;

/// One run: trace, policy, seed.
type Key = (String, String, u64);

/// The two published curves of one run, in percent of the cluster's GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Curves {
    allocation: Vec<f64>,
    fragmentation: Vec<f64>,
}

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let folder = cx.workspace.data().join("openb-expected");
    if !folder.is_dir() {
        let why = format!(
            "no published figures at {}; set {DATA_VARIABLE}",
            folder.display()
        );
        return Ok(Outcome::Skipped {
            why,
            in_ci: InCi::MustRun,
        });
    }
    let published = read_published(&folder)?;
    cx.workspace.build_release()?;
    let mut command = cx.workspace.command(cx.workspace.berth());
    command.args(["simulate", "suite", "fgd", "--output", "json"]);
    println!("$ {}", process::headline(&command));
    let ours = read_ours(&process::capture(&mut command)?)?;
    Ok(Outcome::Ran(compare(&published, &ours)))
}

/// Compares every published run with ours and prints the ones that differ.
fn compare(published: &BTreeMap<Key, Curves>, ours: &BTreeMap<Key, Curves>) -> Tally {
    let mut tally = Tally::default();
    for (key, expected) in published {
        let difference = match ours.get(key) {
            None => Some("we have no such run".to_owned()),
            Some(got) => first_difference("allocation", &expected.allocation, &got.allocation)
                .or_else(|| {
                    first_difference("fragmentation", &expected.fragmentation, &got.fragmentation)
                }),
        };
        tally.count(Checked::of(difference.is_none()));
        if let Some(text) = difference
            && tally.failed <= SHOWN as u64
        {
            println!("{} {} seed {}: {text}", key.0, key.1, key.2);
        }
    }
    if tally.failed > SHOWN as u64 {
        println!("... and {} more", tally.failed - SHOWN as u64);
    }
    tally
}

fn first_difference(what: &str, expected: &[f64], got: &[f64]) -> Option<String> {
    if got.len() != expected.len() {
        return Some(format!(
            "{what} has {} columns, not {}",
            got.len(),
            expected.len()
        ));
    }
    let close = |column: usize| (expected[column] - got[column]).abs() <= TOLERANCE;
    let column = (FIRST_COLUMN..expected.len()).find(|&column| !close(column))?;
    Some(format!(
        "{what} at {column} % arrived: published {:.2}, ours {:.4}",
        expected[column], got[column]
    ))
}

fn read_published(folder: &Path) -> anyhow::Result<BTreeMap<Key, Curves>> {
    let mut runs: BTreeMap<Key, Curves> = BTreeMap::new();
    for (key, row) in read_csv(&folder.join("analysis_allo_discrete.csv"))? {
        runs.entry(key).or_default().allocation = row;
    }
    for (key, row) in read_csv(&folder.join("analysis_frag_discrete.csv"))? {
        runs.entry(key).or_default().fragmentation = row;
    }
    ensure!(!runs.is_empty(), "no published run in {}", folder.display());
    Ok(runs)
}

fn read_csv(path: &Path) -> anyhow::Result<Vec<(Key, Vec<f64>)>> {
    let text = fs::read_to_string(path).with_context(|| format!("unable to read {path:?}"))?;
    parse_csv(&text).with_context(|| format!("unable to understand {path:?}"))
}

/// The rows of the deterministic policies. The figures hold no quotes, so a comma separates.
fn parse_csv(text: &str) -> anyhow::Result<Vec<(Key, Vec<f64>)>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines
        .next()
        .context("the file is empty")?
        .split(',')
        .collect();
    let position = |name: &str| {
        header
            .iter()
            .position(|h| *h == name)
            .with_context(|| format!("no {name}"))
    };
    let (workload, policy, seed) = (
        position("workload")?,
        position("sc_policy")?,
        position("seed")?,
    );
    let first = position("0")?;
    let mut rows = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let Some((_, ours)) = POLICIES.iter().find(|(theirs, _)| *theirs == cells[policy]) else {
            continue;
        };
        let figures: Vec<f64> = cells[first..]
            .iter()
            .map(|cell| cell.parse())
            .collect::<Result<_, _>>()?;
        ensure!(
            figures.len() == COLUMNS,
            "{} columns in {line:.60}",
            figures.len()
        );
        let trace = cells[workload]
            .trim_start_matches("openb_pod_list_")
            .to_owned();
        rows.push(((trace, (*ours).to_owned(), cells[seed].parse()?), figures));
    }
    Ok(rows)
}

fn read_ours(text: &str) -> anyhow::Result<BTreeMap<Key, Curves>> {
    let value: Value = serde_json::from_str(text).context("berth did not print JSON")?;
    let Some(runs) = value["runs"].as_array() else {
        bail!("berth printed no list `runs`");
    };
    let mut found = BTreeMap::new();
    for run in runs {
        let key = (
            run["trace"]
                .as_str()
                .context("a run without `trace`")?
                .to_owned(),
            run["policy"]
                .as_str()
                .context("a run without `policy`")?
                .to_owned(),
            run["seed"].as_u64().context("a run without `seed`")?,
        );
        let allocation = percentages(&run["allocation_percent"]);
        let fragmentation = percentages(&run["fragmentation_percent"]);
        found.insert(
            key,
            Curves {
                allocation,
                fragmentation,
            },
        );
    }
    Ok(found)
}

/// A column that is no number is compared as NaN, which is close to nothing.
fn percentages(list: &Value) -> Vec<f64> {
    let figures = list.as_array().map(Vec::as_slice).unwrap_or_default();
    figures
        .iter()
        .map(|figure| figure.as_f64().unwrap_or(f64::NAN))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(allocation: &[f64], fragmentation: &[f64]) -> BTreeMap<Key, Curves> {
        let curves = Curves {
            allocation: allocation.to_vec(),
            fragmentation: fragmentation.to_vec(),
        };
        BTreeMap::from([(("default".to_owned(), "fgd".to_owned(), 42), curves)])
    }

    #[test]
    fn equal_figures_pass_and_rounding_is_forgiven() {
        let published = runs(&[0.0, 1.00, 2.00], &[5.0, 5.1, 5.2]);
        let ours = runs(&[0.0, 1.01, 2.00], &[5.0, 5.1, 5.204]);
        assert_eq!(
            compare(&published, &ours),
            Tally {
                passed: 1,
                failed: 0,
                skipped: 0
            }
        );
    }

    #[test]
    fn one_column_off_fails_the_run() {
        let published = runs(&[0.0, 1.00, 2.00], &[5.0, 5.1, 5.2]);
        for ours in [
            runs(&[0.0, 1.02, 2.00], &[5.0, 5.1, 5.2]),
            runs(&[0.0, 1.00, 2.00], &[5.0, 5.1, 5.3]),
            runs(&[0.0, 1.00, f64::NAN], &[5.0, 5.1, 5.2]),
            runs(&[0.0, 1.00], &[5.0, 5.1, 5.2]),
            BTreeMap::new(),
        ] {
            assert_eq!(compare(&published, &ours).failed, 1, "{ours:?}");
        }
    }

    #[test]
    fn published_rows_are_read_without_the_random_policy() {
        let columns: Vec<String> = (0..COLUMNS).map(|n| n.to_string()).collect();
        let header = format!(
            "workload,sc_policy,tune,seed,total_gpus,{}",
            columns.join(",")
        );
        let row = |policy: &str| {
            format!(
                "openb_pod_list_cpu050,{policy},1.3,42,6212,{}",
                columns.join(",")
            )
        };
        let text = [header, row("01-Random"), row("06-FGD")].join("\n");
        let rows = parse_csv(&text).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].0, ("cpu050".to_owned(), "fgd".to_owned(), 42));
        assert_eq!(rows[0].1[130], 130.0);
        assert!(parse_csv("workload,sc_policy,seed,0\nw,06-FGD,42,1").is_err());
    }

    #[test]
    fn output_without_runs_is_refused() {
        assert!(read_ours("{}").is_err());
        assert!(read_ours("no JSON").is_err());
        let text = r#"{"runs":[{"trace":"default","policy":"fgd","seed":42,
            "allocation_percent":[1.0,null],"fragmentation_percent":[]}]}"#;
        let ours = read_ours(text).unwrap();
        let curves = ours.values().next().unwrap();
        assert_eq!(curves.allocation[0], 1.0);
        assert!(curves.allocation[1].is_nan());
    }
}
