//! What commands print: one document, many forms.
//!
//! A view model is a [`Document`]: serde gives its JSON and YAML, [`Document::tables`] its tables,
//! and [`table`] draws every table of every command. Invariant: nothing here computes a result.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::cli::exit::Failure;

mod bound;
mod chart;
pub(crate) mod docs;
pub(crate) mod figure;
mod fuzz;
mod greed;
pub(crate) mod html;
mod played;
pub(crate) mod ps;
mod published;
mod quality;
pub(crate) mod queues;
mod scenario;
pub(crate) mod table;
pub(crate) mod why;

use table::{Style, Table};

/// The version of documents about a live cluster; names in them keep their meaning within it.
pub(crate) const API_VERSION: &str = "cli.berth.dev/v1";

/// The form of what a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Tables for people
    Table,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
    /// The tables as comma-separated values
    Csv,
}

/// Something that can be printed in every form.
pub(crate) trait Document: Serialize {
    /// What people and spreadsheets see.
    fn tables(&self) -> Vec<Table>;
}

/// Prints a document on standard output.
pub(crate) fn print(document: &impl Document, format: Format) -> Result<(), Failure> {
    let text = match format {
        Format::Table => {
            let style = Style::of_stdout();
            join(document.tables().iter().map(|table| table.text(style)))
        }
        Format::Csv => join(document.tables().iter().map(Table::csv)),
        Format::Json => serde_json::to_string_pretty(document).map_err(unserialisable)? + "\n",
        Format::Yaml => serde_saphyr::to_string(document).map_err(unserialisable)?,
    };
    write_text(&text)
}

/// Writes text to standard output.
pub(crate) fn write_text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// True where a person watches standard error, so that a progress bar helps.
pub(crate) fn watched() -> bool {
    io::stderr().is_terminal()
}

fn join(tables: impl Iterator<Item = String>) -> String {
    tables.collect::<Vec<_>>().join("\n")
}

fn unserialisable(error: impl fmt::Display) -> Failure {
    anyhow::anyhow!("unable to serialise the result: {error}").into()
}
