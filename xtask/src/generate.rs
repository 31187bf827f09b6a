//! `cargo xtask gen`: the pages under docs/book/src/generated, made by the binary itself.
//!
//! `berth docs --out DIR` writes every generated page; this copies them or compares.
//! Invariant: the folder holds what the binary writes and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::tally::{Checked, Tally};
use crate::workspace::Workspace;
use crate::{Verdict, process};

/// Where the generated pages are kept.
const FOLDER: &str = "docs/book/src/generated";
/// Where they are made first, below the build folder.
const SCRATCH: &str = "xtask/generated";

/// Pages by path relative to their folder.
type Pages = BTreeMap<String, Vec<u8>>;

/// Arguments of `cargo xtask gen`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail where a page is stale
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Verdict> {
    let tally = if args.check {
        check(workspace)?
    } else {
        write(workspace)?
    };
    println!("{tally}");
    Ok(if tally.is_clean() {
        Verdict::Clean
    } else {
        Verdict::Findings
    })
}

/// Compares the kept pages with fresh ones; each page is one check.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Tally> {
    let fresh = make(workspace)?;
    let kept = read(&workspace.path(FOLDER))?;
    let stale = stale(&fresh, &kept);
    for (path, problem) in &stale {
        println!("{FOLDER}/{path}: {problem}");
    }
    if !stale.is_empty() {
        println!("`cargo xtask gen` mends them");
    }
    let failed = stale.len() as u64;
    let checked = fresh
        .keys()
        .chain(kept.keys().filter(|path| !fresh.contains_key(*path)));
    Ok(Tally {
        passed: checked.count() as u64 - failed,
        failed,
        skipped: 0,
    })
}

fn write(workspace: &Workspace) -> anyhow::Result<Tally> {
    let fresh = make(workspace)?;
    let folder = workspace.path(FOLDER);
    let kept = read(&folder)?;
    let stale = stale(&fresh, &kept);
    for (path, problem) in &stale {
        let target = folder.join(path);
        match fresh.get(*path) {
            Some(content) => {
                fs::create_dir_all(target.parent().unwrap_or(&folder))?;
                fs::write(&target, content)?;
                println!("{FOLDER}/{path}: was {problem}, now fresh");
            }
            None => {
                fs::remove_file(&target)?;
                println!("{FOLDER}/{path}: was {problem}, now gone");
            }
        }
    }
    let mut tally = Tally::default();
    fresh.keys().for_each(|_| tally.count(Checked::Passed));
    Ok(tally)
}

/// Lets the binary write all its pages into an empty folder, and reads them.
fn make(workspace: &Workspace) -> anyhow::Result<Pages> {
    let scratch = workspace.target().join(SCRATCH);
    if scratch.exists() {
        fs::remove_dir_all(&scratch).with_context(|| format!("unable to empty {scratch:?}"))?;
    }
    fs::create_dir_all(&scratch)?;
    let arguments = [
        "run",
        "--quiet",
        "--package",
        "berth",
        "--",
        "docs",
        "--out",
    ];
    process::require(workspace.cargo(arguments).arg(&scratch))?;
    let pages = read(&scratch)?;
    ensure!(!pages.is_empty(), "`berth docs` wrote no page");
    Ok(pages)
}

/// Path and problem of every page that is missing, stale or left over.
fn stale<'a>(fresh: &'a Pages, kept: &'a Pages) -> Vec<(&'a str, &'static str)> {
    let mut found = Vec::new();
    for (path, content) in fresh {
        match kept.get(path) {
            None => found.push((path.as_str(), "missing")),
            Some(old) if old != content => found.push((path.as_str(), "stale")),
            Some(_) => {}
        }
    }
    let extra = kept.keys().filter(|path| !fresh.contains_key(*path));
    found.extend(extra.map(|path| (path.as_str(), "left over")));
    found
}

/// Every file below a folder; a folder that does not exist holds none.
fn read(folder: &Path) -> anyhow::Result<Pages> {
    let mut pages = Pages::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        if !next.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&next).with_context(|| format!("unable to list {next:?}"))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            pages.insert(name, fs::read(&path)?);
        }
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(pages: &[(&str, &str)]) -> Pages {
        pages
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn missing_stale_and_left_over_pages_are_told_apart() {
        let fresh = pages(&[
            ("cli.md", "new"),
            ("policies.md", "same"),
            ("reasons.md", "new"),
        ]);
        let kept = pages(&[
            ("cli.md", "old"),
            ("policies.md", "same"),
            ("gone.md", "old"),
        ]);
        let expected = [
            ("cli.md", "stale"),
            ("reasons.md", "missing"),
            ("gone.md", "left over"),
        ];
        assert_eq!(stale(&fresh, &kept), expected);
        assert_eq!(stale(&fresh, &fresh), []);
    }

    #[test]
    fn folder_that_does_not_exist_holds_no_pages() {
        assert!(read(Path::new("no/such/folder")).unwrap().is_empty());
    }
}
