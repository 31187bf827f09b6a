//! Check `clippy-bans`: the pure crates' clippy.toml files ban the same things, each with a reason.
//!
//! Clippy reads one file a crate and merges nothing (rust-clippy issue 7353), so every pure crate
//! repeats the whole list, that of the root's file included.

use std::collections::BTreeSet;

use super::tree::Tree;
use super::{Check, Finding, PURE_CRATES};

pub(super) const CHECK: Check = Check {
    name: "clippy-bans",
    about: "pure crates ban the same clocks, dice, maps and IO",
    run,
};

const ROOT_FILE: &str = "clippy.toml";
const KEYS: [&str; 3] = [
    "disallowed-macros",
    "disallowed-methods",
    "disallowed-types",
];
/// Bans that no pure crate may lack, so that the list can't be emptied in all files at once.
const ALWAYS: [&str; 13] = [
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::env::var",
    "std::env::var_os",
    "std::fs::File",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::hash::RandomState",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::time::Instant::now",
    "std::time::SystemTime::now",
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut lists = Vec::new();
    for name in PURE_CRATES {
        let path = format!("crates/{name}/{ROOT_FILE}");
        match tree.text(&path).map(Bans::parse) {
            Some(Ok(bans)) => lists.push((path, bans)),
            Some(Err(error)) => findings.push(Finding::error(&path, 0, error.to_string())),
            None => findings.push(Finding::error(&path, 0, "a pure crate needs its own file")),
        }
    }
    let root = tree
        .text(ROOT_FILE)
        .and_then(|text| Bans::parse(text).ok())
        .unwrap_or_default();
    let mut needed: BTreeSet<String> = ALWAYS.iter().map(|path| (*path).to_owned()).collect();
    needed.extend(root.paths);
    needed.extend(
        lists
            .iter()
            .flat_map(|(_, bans)| bans.paths.iter().cloned()),
    );
    for (path, bans) in &lists {
        for missing in needed.difference(&bans.paths) {
            findings.push(Finding::error(
                path,
                0,
                format!("`{missing}` is not banned"),
            ));
        }
        for banned in &bans.without_reason {
            findings.push(Finding::error(
                path,
                0,
                format!("the ban of `{banned}` has no reason"),
            ));
        }
    }
    findings
}

/// What a clippy.toml bans.
#[derive(Debug, Default)]
struct Bans {
    paths: BTreeSet<String>,
    without_reason: Vec<String>,
}

impl Bans {
    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let table: toml::Table = text.parse()?;
        let mut bans = Self::default();
        let lists = KEYS.iter().filter_map(|key| table.get(*key)?.as_array());
        for entry in lists.flatten() {
            let path = entry
                .as_str()
                .or_else(|| entry.get("path")?.as_str())
                .unwrap_or_default();
            bans.paths.insert(path.to_owned());
            if entry.get("reason").is_none() {
                bans.without_reason.push(path.to_owned());
            }
        }
        Ok(bans)
    }
}

/// A file that bans what every pure crate must ban.
#[cfg(test)]
pub(super) fn sample() -> String {
    let entries = ALWAYS.map(|path| format!("  {{ path = \"{path}\", reason = \"why\" }},\n"));
    format!("disallowed-methods = [\n{}]\n", entries.concat())
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample as trees;
    use super::*;

    fn texts_of(root: &str, core: &str, sim: &str) -> Vec<String> {
        let tree = trees::files(&[
            (ROOT_FILE, root),
            ("crates/berth-audit/clippy.toml", sim),
            ("crates/berth-core/clippy.toml", core),
            ("crates/berth-sim/clippy.toml", sim),
        ]);
        run(&tree).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn ban_that_one_crate_lacks_is_found() {
        let full = sample();
        let more = full.replace(
            "[\n",
            "[\n  { path = \"std::fs::rename\", reason = \"IO\" },\n",
        );
        assert_eq!(texts_of("", &full, &full), Vec::<String>::new());
        assert_eq!(
            texts_of("", &more, &full),
            ["`std::fs::rename` is not banned"; PURE_CRATES.len() - 1]
        );
    }

    #[test]
    fn ban_of_the_root_must_be_repeated() {
        let root = "disallowed-types = [{ path = \"a::B\", reason = \"why\" }]";
        assert_eq!(
            texts_of(root, &sample(), &sample()),
            ["`a::B` is not banned"; PURE_CRATES.len()]
        );
    }

    #[test]
    fn list_emptied_everywhere_is_found() {
        assert_eq!(texts_of("", "", "").len(), PURE_CRATES.len() * ALWAYS.len());
        assert_eq!(run(&trees::files(&[])).len(), PURE_CRATES.len());
    }

    #[test]
    fn ban_without_reason_is_found() {
        let bare = sample().replace("disallowed", "disallowed-types = [\"a::B\"]\ndisallowed");
        let texts = texts_of("", &bare, &bare);
        assert_eq!(
            texts,
            ["the ban of `a::B` has no reason"; PURE_CRATES.len()]
        );
    }
}
