//! `berth docs`: the generated pages of the book. Hidden: `cargo xtask gen` calls it.
//!
//! Invariant: the same build writes the same bytes.

use std::path::PathBuf;

use crate::cli::exit::{Exit, Failure};
use crate::ext::folder;
use crate::output::docs;

/// Write the generated pages of the book into a folder
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Args {
    /// Where to write them
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let pages = [
        ("cli.md", docs::cli(&super::definition())),
        ("policies.md", docs::policies()),
        ("reasons.md", docs::reasons()),
        ("traces.md", docs::traces()),
    ];
    let pages = pages.map(|(name, text)| (name.to_owned(), text.into_bytes()));
    folder::write_all(&args.out, &pages)?;
    Ok(Exit::Done)
}
