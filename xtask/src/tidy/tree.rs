//! The repository as the checks see it: the text files that git knows, and the package graph.
//!
//! Invariant: a check reads nothing but a `Tree`, so that a test can hand it any repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Context as _;

use super::metadata::Packages;
use super::rust_source::RustFile;
use crate::process;
use crate::workspace::Workspace;

/// Files that tools write and people don't: no rule of style applies to them.
const MACHINE_WRITTEN: [&str; 2] = ["Cargo.lock", "LICENSE"];

/// A repository, read once.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Text files by path relative to the root, with `/` between folders.
    texts: BTreeMap<String, String>,
    /// Every path that git knows, binary files included.
    paths: BTreeSet<String>,
    /// Parsed Rust files; those that do not parse are left to rustc.
    rust: BTreeMap<String, RustFile>,
    pub packages: Packages,
}

impl Tree {
    /// Reads tracked files and new ones that git does not ignore.
    pub(super) fn load(workspace: &Workspace) -> anyhow::Result<Self> {
        let mut git = workspace.command("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listed = process::capture(&mut git).context("tidy asks git which files there are")?;
        let mut tree = Self::default();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            // A tracked file that was just removed has no content to check.
            if let Ok(bytes) = fs::read(workspace.path(path)) {
                tree.add(path, bytes);
            }
        }
        let mut cargo = workspace.cargo(["metadata", "--format-version", "1", "--locked"]);
        let metadata = process::capture(&mut cargo).context(
            "cargo metadata failed; if Cargo.lock is stale, `cargo update --workspace` mends it",
        )?;
        tree.packages = Packages::parse(&metadata)?;
        Ok(tree)
    }

    pub(super) fn add(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.paths.insert(path.to_owned());
        let Ok(text) = String::from_utf8(bytes.into()) else {
            return;
        };
        if path.ends_with(".rs")
            && let Some(file) = RustFile::parse(&text)
        {
            self.rust.insert(path.to_owned(), file);
        }
        self.texts.insert(path.to_owned(), text);
    }

    /// Text files written by people, in order of path.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .filter(|(path, _)| !MACHINE_WRITTEN.contains(&path.as_str()))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Rust files outside tests, benches and generated folders.
    pub(super) fn product_rust(&self) -> impl Iterator<Item = (&str, &RustFile)> {
        self.rust
            .iter()
            .filter(|(path, _)| !is_test(path) && !is_generated(path))
            .map(|(path, file)| (path.as_str(), file))
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// True for a file, and for a folder that holds one.
    pub(super) fn exists(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.paths.contains(path)
            || self
                .paths
                .range(folder.clone()..)
                .next()
                .is_some_and(|p| p.starts_with(&folder))
    }

    /// Paths directly or indirectly below a folder.
    pub(super) fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.paths.iter().map(String::as_str).filter(move |path| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

pub(super) fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.contains("/benches/") || path.ends_with("/tests.rs")
}

pub(super) fn is_generated(path: &str) -> bool {
    path.contains("/generated/")
}

#[cfg(test)]
pub(super) mod sample {
    //! Trees for tests of checks.

    use super::super::metadata::sample as packages;
    use super::Tree;

    /// A tree with these files and no packages.
    pub(in crate::tidy) fn files(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add(path, *text);
        }
        tree
    }

    /// A small repository that breaks no rule.
    pub(in crate::tidy) fn obedient() -> Tree {
        let bans = super::super::clippy_bans::sample();
        let mut tree = files(&[
            ("ARCHITECTURE.md", super::super::architecture::SAMPLE),
            ("LICENSE", "Apache License"),
            (
                "README.md",
                "See [the map](ARCHITECTURE.md#allowed-edges).\n",
            ),
            ("clippy.toml", "avoid-breaking-exported-api = false\n"),
            ("crates/berth-audit/clippy.toml", &bans),
            ("crates/berth-core/clippy.toml", &bans),
            ("crates/berth-sim/clippy.toml", &bans),
            (
                "crates/berth-core/src/lib.rs",
                "//! The core.\n\npub mod filter;\npub mod sched;\n",
            ),
            (
                "crates/berth-core/src/sched.rs",
                "//! Deciding.\n\npub mod policy;\n",
            ),
        ]);
        for registry in super::super::registered::REGISTRIES {
            tree.add(
                registry.list,
                "//! The list.\n\nmod one;\n\nconst ALL: &[u8] = &[one::ONE];\n",
            );
            tree.add(&format!("{}/one.rs", registry.folder), "//! One.\n");
        }
        tree.packages = packages::obedient();
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_exists_while_it_holds_a_file() {
        let tree = sample::files(&[("docs/adr/0001-x.md", ""), ("docs-old.md", "")]);
        assert!(tree.exists("docs/adr"));
        assert!(tree.exists("docs/"));
        assert!(tree.exists("docs/adr/0001-x.md"));
        assert!(!tree.exists("docs/ad"));
        assert!(!tree.exists("docs-old"));
    }

    #[test]
    fn binary_file_exists_but_has_no_text() {
        let mut tree = Tree::default();
        tree.add("picture.png", vec![0x89, 0xff, 0x00]);
        assert!(tree.exists("picture.png"));
        assert_eq!(tree.text("picture.png"), None);
    }

    #[test]
    fn tests_and_generated_files_are_no_product_code() {
        let tree = sample::files(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/x/tests.rs", ""),
            ("crates/a/tests/it/main.rs", ""),
            ("crates/a/src/generated/wire.rs", ""),
        ]);
        assert_eq!(
            tree.product_rust()
                .map(|(path, _)| path)
                .collect::<Vec<_>>(),
            ["crates/a/src/lib.rs"]
        );
    }
}
