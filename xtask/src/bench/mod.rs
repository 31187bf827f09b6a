//! `cargo xtask bench`: measures and writes docs/book/src/performance.md.
//!
//! A group is one file here and one line in [`ALL`]; it owns one section of the page.
//! Invariant: every figure on the page stands beside its goal and the command that made it.
//! Groups that were not run keep their section, with the machine and date of their own run.

mod audit;
mod core;
mod in_process;
mod machine;
mod page;
mod policy;
mod row;
mod scheduler;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::workspace::{DATA_VARIABLE, Workspace};
use crate::{Usage, Verdict};

use self::row::Row;

/// The page that holds the figures.
const PAGE: &str = "docs/book/src/performance.md";

/// Every group, in the order of the page.
const ALL: &[&Group] = &[
    &core::GROUP,
    &policy::GROUP,
    &scheduler::GROUP,
    &audit::GROUP,
];

/// Figures that are measured together.
#[derive(Debug)]
struct Group {
    name: &'static str,
    about: &'static str,
    run: fn(&Context<'_>) -> anyhow::Result<Measured>,
}

/// What a group has measured.
#[derive(Debug, Default)]
struct Measured {
    rows: Vec<Row>,
    /// Both sides of comparisons with a peer, with absolute figures; for JSON.
    cases: Vec<Value>,
}

impl From<Vec<Row>> for Measured {
    fn from(rows: Vec<Row>) -> Self {
        let cases = Vec::new();
        Self { rows, cases }
    }
}

/// What every group gets.
#[derive(Debug)]
struct Context<'a> {
    workspace: &'a Workspace,
    /// Runs of each measurement, of which the median counts.
    repeats: usize,
}

impl Context<'_> {
    /// Makes sure that the traces are there, and builds the binary.
    fn prepare(&self) -> anyhow::Result<()> {
        let data = self.workspace.data();
        ensure!(
            data.is_dir(),
            "no traces at {}; set {DATA_VARIABLE}",
            data.display()
        );
        self.workspace.build_release()
    }
}

/// Arguments of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Groups to measure; all of them where none is named
    #[arg(value_name = "GROUP")]
    groups: Vec<String>,
    /// How the figures are printed; the page is written in any case
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Runs of each measurement, of which the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Print the groups and measure nothing
    #[arg(long)]
    list: bool,
}

/// How the figures are printed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Output {
    Table,
    Json,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Verdict> {
    let groups = select(&args.groups)?;
    if args.list {
        for group in groups {
            println!("{:<10} {}", group.name, group.about);
        }
        return Ok(Verdict::Clean);
    }
    let context = Context {
        workspace,
        repeats: usize::try_from(args.repeats)?,
    };
    let machine = machine::describe(workspace)?;
    let path = workspace.path(PAGE);
    let mut sections = page::sections(&fs::read_to_string(&path).unwrap_or_default());
    let mut measured: BTreeMap<&str, Measured> = BTreeMap::new();
    for group in groups {
        let figures = (group.run)(&context);
        let figures = figures.with_context(|| format!("bench group {}", group.name))?;
        sections.insert(
            group.name.to_owned(),
            page::section(group.about, &machine, &figures.rows),
        );
        measured.insert(group.name, figures);
    }
    let names: Vec<&str> = ALL.iter().map(|group| group.name).collect();
    fs::create_dir_all(path.parent().unwrap_or(workspace.root()))?;
    fs::write(&path, page::render(&names, &sections))?;
    show(args.output, &measured);
    let missed = measured
        .values()
        .flat_map(|figures| &figures.rows)
        .filter(|row| !row.meets_goal())
        .count();
    eprintln!("{PAGE} is written; {missed} figures miss their goal");
    Ok(if missed == 0 {
        Verdict::Clean
    } else {
        Verdict::Findings
    })
}

fn select(names: &[String]) -> anyhow::Result<Vec<&'static Group>> {
    if let Some(unknown) = names
        .iter()
        .find(|name| ALL.iter().all(|group| group.name != **name))
    {
        let text =
            format!("there is no bench group {unknown}; `cargo xtask bench --list` prints them");
        return Err(Usage(text).into());
    }
    let wanted = |group: &&&Group| names.is_empty() || names.iter().any(|n| n == group.name);
    Ok(ALL.iter().filter(wanted).copied().collect())
}

fn show(output: Output, measured: &BTreeMap<&str, Measured>) {
    match output {
        Output::Table => {
            for figures in measured.values() {
                print!("{}", row::table(&figures.rows));
            }
        }
        Output::Json => {
            let rows = measured.iter().flat_map(|(group, figures)| {
                let rows = figures.rows.iter();
                rows.map(|row| row.to_json(group)).collect::<Vec<_>>()
            });
            let rows: Vec<Value> = rows.collect();
            let cases = measured.values().flat_map(|figures| &figures.cases);
            let cases: Vec<&Value> = cases.collect();
            if cases.is_empty() {
                println!("{}", Value::Array(rows));
            } else {
                println!("{}", json!({"rows": rows, "cases": cases}));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_group_is_refused() {
        assert!(select(&["none".to_owned()]).is_err());
        assert_eq!(select(&[]).unwrap().len(), ALL.len());
    }
}
