//! `berth audit rules`: the catalogue of rules.

use berth_audit::finding::{Confidence, Severity};
use berth_audit::rule::{Family, Rule};
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::output::table::{Column, Table};
use crate::output::{self, Document, Format};

/// List the rules
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

pub(super) fn run(args: &Args) -> Result<Exit, Failure> {
    let rules = berth_audit::rules::all().into_iter().map(Row::of).collect();
    output::print(&Catalogue { rules }, args.output)?;
    Ok(Exit::Done)
}

/// The catalogue as it is shown.
#[derive(Debug, Serialize)]
struct Catalogue {
    rules: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    code: &'static str,
    name: &'static str,
    family: Family,
    severity: Severity,
    confidence: Confidence,
    status: String,
    since: &'static str,
    needs: Vec<String>,
}

impl Row {
    fn of(rule: &'static Rule) -> Self {
        Self {
            code: rule.code,
            name: rule.name,
            family: rule.family,
            severity: rule.severity,
            confidence: rule.confidence,
            status: rule.status.to_string(),
            since: rule.since,
            needs: rule.needs.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Document for Catalogue {
    fn tables(&self) -> Vec<Table> {
        let columns = ["code", "name", "area", "severity", "status", "needs"];
        let mut table = Table::new(columns.map(Column::text));
        for row in &self.rules {
            table.row([
                row.code.to_owned(),
                row.name.to_owned(),
                row.family.title().to_owned(),
                row.severity.to_string(),
                row.status.clone(),
                row.needs.join(", "),
            ]);
        }
        table.note("`berth explain CODE` prints a rule's manual page.");
        vec![table]
    }
}
