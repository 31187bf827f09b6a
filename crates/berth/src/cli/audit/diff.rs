//! `berth audit diff A B`: what changed between two dumps of a cluster.

use std::path::PathBuf;

use berth_audit::engine::FindingView;
use berth_audit::engine::diff::{self, Diff};
use serde::Serialize;

use super::{Options, report};
use crate::cli::exit::{Exit, Failure};
use crate::output::table::{Column, Table};
use crate::output::{self, Document, Format};

/// Show what changed between two dumps of a cluster
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The earlier dump
    before: PathBuf,
    /// The later dump
    after: PathBuf,
    #[command(flatten)]
    options: Options,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let before = report(std::slice::from_ref(&args.before), &args.options)?;
    let after = report(std::slice::from_ref(&args.after), &args.options)?;
    if before.is_empty_handed() || after.is_empty_handed() {
        return Err(
            Failure::unreadable("one of the dumps holds nothing that can be read")
                .next("audit each by itself to see what it holds"),
        );
    }
    let diff = diff::diff(&before, &after);
    let exit = args
        .options
        .fail_on
        .exit(diff.worst(), !diff.not_comparable.is_empty());
    output::print(&View(diff), args.output)?;
    Ok(exit)
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct View(Diff);

impl Document for View {
    fn tables(&self) -> Vec<Table> {
        let columns = ["", "severity", "code", "subject", "finding"];
        let mut table = Table::new(columns.map(Column::text));
        let Diff {
            appeared,
            disappeared,
            changed,
            n_same,
            not_comparable,
        } = &self.0;
        appeared
            .iter()
            .for_each(|finding| row(&mut table, "new", finding));
        changed
            .iter()
            .for_each(|change| row(&mut table, "changed", &change.after));
        disappeared
            .iter()
            .for_each(|finding| row(&mut table, "gone", finding));
        table.note(format!("{n_same} findings are as they were."));
        if !not_comparable.is_empty() {
            table.note(format!(
                "Assessed in one dump only: {}.",
                not_comparable.join(", ")
            ));
        }
        vec![table]
    }
}

fn row(table: &mut Table, what: &str, finding: &FindingView) {
    table.row([
        what.to_owned(),
        finding.severity.to_string(),
        finding.code.to_owned(),
        finding.subject.to_string(),
        finding.message.to_string(),
    ]);
}
