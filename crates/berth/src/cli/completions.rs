//! `berth completions`: completions for a shell, on standard output.

use clap_complete::Shell;

use crate::cli::exit::{Exit, Failure};
use crate::output;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  berth completions bash > ~/.local/share/bash-completion/completions/berth
  berth completions zsh > ~/.zfunc/_berth
  berth completions fish > ~/.config/fish/completions/berth.fish";

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::definition(), "berth", &mut text);
    output::write_text(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
