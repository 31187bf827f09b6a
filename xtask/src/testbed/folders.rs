//! Where a testbed keeps what it makes: programs in the user's cache, and one folder a testbed.
//!
//! Nothing is written outside the user's cache folder.

use std::path::PathBuf;

use anyhow::Context as _;

/// Built programs: `$XDG_CACHE_HOME/berth/testbed`, or the same under `~/.cache`.
pub(super) fn cache() -> anyhow::Result<PathBuf> {
    Ok(user_cache()?.join("berth/testbed"))
}

/// Running testbeds, one folder each, beside the built programs.
pub(super) fn runs() -> anyhow::Result<PathBuf> {
    Ok(user_cache()?.join("berth/testbed-run"))
}

fn user_cache() -> anyhow::Result<PathBuf> {
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) if !folder.is_empty() => Ok(PathBuf::from(folder)),
        _ => {
            let home = std::env::home_dir().context("no home folder to keep the testbed in")?;
            Ok(home.join(".cache"))
        }
    }
}
