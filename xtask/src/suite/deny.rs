//! Suite `deny`: licences, bans and sources of every dependency, as deny.toml says; and advisories.
//!
//! `cargo deny` is used from the search path, or installed once into the user's cache folder.
//! The advisory database is a git repository; where it can't be fetched, that one check says so.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use super::{Context, Outcome, Suite};
use crate::process;
use crate::tally::{Checked, Tally};
use crate::workspace::Workspace;

pub(super) const SUITE: Suite = Suite {
    name: "deny",
    about: "licences, bans, sources and advisories of dependencies",
    run,
};

/// Version installed where none is on the search path.
const VERSION: &str = "0.20.2";
/// Checks that need nothing from outside; each counts as one.
const OFFLINE_CHECKS: [&str; 3] = ["licenses", "bans", "sources"];

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let tool = Tool::find_or_install(&cx.workspace)?;
    let mut tally = Tally::default();
    for check in OFFLINE_CHECKS {
        let ok = process::succeeds(&mut tool.deny(&cx.workspace, &["check", check]))?;
        tally.count(Checked::of(ok));
    }
    tally.count(advisories(cx, &tool)?);
    Ok(Outcome::Ran(tally))
}

fn advisories(cx: &Context, tool: &Tool) -> anyhow::Result<Checked> {
    let fetched = tool
        .deny(&cx.workspace, &["fetch", "db"])
        .env("GIT_TERMINAL_PROMPT", "0") // a question would wait for ever
        .env("GIT_HTTP_LOW_SPEED_LIMIT", "1000") // bytes a second ...
        .env("GIT_HTTP_LOW_SPEED_TIME", "20") // ... for as many seconds: then it gives up
        .output()
        .context("unable to start cargo deny")?;
    if !fetched.status.success() {
        println!("advisories skipped: the advisory database could not be fetched from its host");
        return Ok(Checked::Skipped);
    }
    let arguments = ["check", "--disable-fetch", "advisories"];
    Ok(Checked::of(process::succeeds(
        &mut tool.deny(&cx.workspace, &arguments),
    )?))
}

/// The `cargo-deny` program.
struct Tool {
    program: PathBuf,
}

impl Tool {
    fn find_or_install(workspace: &Workspace) -> anyhow::Result<Self> {
        let on_path = PathBuf::from("cargo-deny");
        if runs(&on_path) {
            return Ok(Self { program: on_path });
        }
        let folder = cache_folder()?.join(format!("cargo-deny-{VERSION}"));
        let program = folder.join("bin/cargo-deny");
        if !runs(&program) {
            println!(
                "installing cargo-deny {VERSION} into {} (once)",
                folder.display()
            );
            let mut install =
                workspace.cargo(["install", "cargo-deny", "--locked", "--version", VERSION]);
            process::require(install.arg("--root").arg(&folder))?;
        }
        Ok(Self { program })
    }

    /// `cargo-deny` takes `deny` as its first word, as cargo would pass it.
    fn deny(&self, workspace: &Workspace, arguments: &[&str]) -> Command {
        let mut command = workspace.command(&self.program);
        command.arg("deny").args(arguments);
        command
    }
}

fn runs(program: &PathBuf) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// `$XDG_CACHE_HOME/berth/tools`, or the same under `~/.cache`.
fn cache_folder() -> anyhow::Result<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => {
            let home = std::env::home_dir().context("no home folder to keep tools in")?;
            home.join(".cache")
        }
    };
    Ok(cache.join("berth/tools"))
}
