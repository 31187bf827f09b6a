//! `berth man`: manual pages, one a command.

use std::path::PathBuf;

use clap_mangen::Man;

use crate::cli::exit::{Exit, Failure};
use crate::ext::folder;
use crate::output;

/// Print the manual page, or write one page a command into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for the pages of all commands
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  berth man | man -l -
  berth man --out ~/.local/share/man/man1";

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.out {
        None => {
            let mut text = Vec::new();
            Man::new(super::definition()).render(&mut text)?;
            output::write_text(&String::from_utf8_lossy(&text))?;
        }
        Some(out) => {
            folder::make(out)?;
            clap_mangen::generate_to(super::definition(), out)?;
        }
    }
    Ok(Exit::Done)
}
