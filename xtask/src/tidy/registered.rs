//! Check `registered`: no Rust file lies about unused, and every catalogue entry is in its list.
//!
//! A file that no `mod` names is never compiled, so its tests never run and nobody notices.
//! A catalogue entry that is compiled but not in the list compiles, passes and does nothing.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "registered",
    about: "every file is in a module, every policy and filter in its list",
    run,
};

/// A folder in which each file is one entry of an explicit list.
pub(super) struct Registry {
    pub folder: &'static str,
    /// The file that holds the list.
    pub list: &'static str,
}

/// Every catalogue of the product.
pub(super) const REGISTRIES: &[Registry] = &[
    Registry {
        folder: "crates/berth-core/src/sched/policy",
        list: "crates/berth-core/src/sched/policy.rs",
    },
    Registry {
        folder: "crates/berth-core/src/filter",
        list: "crates/berth-core/src/filter.rs",
    },
];

/// Files that cargo finds by itself.
const ROOTS: [&str; 3] = ["lib.rs", "main.rs", "build.rs"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = orphans(tree);
    for registry in REGISTRIES {
        let Some(list) = tree.text(registry.list) else {
            let text = format!("no list for the catalogue {}", registry.folder);
            findings.push(Finding::error(registry.list, 0, text));
            continue;
        };
        for path in tree
            .below(registry.folder)
            .filter(|path| *path != registry.list)
        {
            let Some(entry) = entry(path, registry.folder) else {
                continue;
            };
            if !code_lines(list).any(|line| !is_module_line(line) && has_word(line, entry)) {
                let text = format!("`{entry}` is not in the list of {}", registry.list);
                findings.push(Finding::error(path, 0, text));
            }
        }
    }
    findings
}

/// The name of an entry; files deeper down and files of tests are none.
fn entry<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let name = path
        .strip_prefix(folder)?
        .strip_prefix('/')?
        .strip_suffix(".rs")?;
    (!name.contains('/') && name != "tests").then_some(name)
}

/// Files under `src/` and `tests/it/` that their parent module does not name.
fn orphans(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
        let Some((stem, parents)) = parents(path) else {
            continue;
        };
        let mut texts = parents.iter().filter_map(|parent| tree.text(parent));
        if !texts.any(|text| code_lines(text).any(|line| has_word(line, &stem))) {
            let text = format!("no module names `{stem}`, so the file is never compiled");
            findings.push(Finding::error(path, 0, text));
        }
    }
    findings
}

/// The module's name and the files that may declare it; `None` for files that cargo finds.
fn parents(path: &str) -> Option<(String, Vec<String>)> {
    let mut parts: Vec<&str> = path.strip_suffix(".rs")?.split('/').collect();
    let base = parts.iter().position(|part| *part == "src").or_else(|| {
        parts
            .windows(2)
            .position(|pair| pair == ["tests", "it"])
            .map(|at| at + 1)
    })?;
    if parts.get(base + 1) == Some(&"bin") {
        return None;
    }
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    let stem = parts.pop()?.to_owned();
    let folder = parts.join("/");
    if parts.len() == base + 1 {
        let is_root = ROOTS
            .iter()
            .any(|root| root.strip_suffix(".rs") == Some(&stem));
        let roots = ROOTS
            .iter()
            .map(|root| format!("{folder}/{root}"))
            .collect();
        return (!is_root).then_some((stem, roots));
    }
    Some((
        stem,
        vec![format!("{folder}/mod.rs"), format!("{folder}.rs")],
    ))
}

fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"))
}

fn is_module_line(line: &str) -> bool {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    line.strip_prefix("pub(")
        .and_then(|rest| rest.split_once(") "))
        .map_or(line, |(_, l)| l)
        .starts_with("mod ")
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    fn tree_with_list(list: &str) -> Tree {
        let mut tree = sample::obedient();
        let registry = &REGISTRIES[0];
        tree.add(registry.list, list);
        tree.add(&format!("{}/second.rs", registry.folder), "//! Second.\n");
        tree.add(
            &format!("{}/second/tests.rs", registry.folder),
            "//! Tests.\n",
        );
        tree.add(
            &format!("{}/second.rs", registry.folder),
            "//! Second.\nmod tests;\n",
        );
        tree
    }

    #[test]
    fn entry_outside_the_list_is_found() {
        let listed = "mod one;\npub(crate) mod second;\nconst ALL: &[P] = &[one::P, second::P];\n";
        let texts = |list| {
            run(&tree_with_list(list))
                .into_iter()
                .map(|f| f.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(listed), Vec::<String>::new());
        for list in [
            "mod one;\nmod second;\nconst ALL: &[P] = &[one::P];\n",
            "mod one;\npub(crate) mod second;\n// second\nconst ALL: &[P] = &[one::P];\n",
        ] {
            assert!(
                texts(list)[0].contains("`second` is not in the list"),
                "{list}"
            );
        }
    }

    #[test]
    fn missing_list_is_found() {
        let findings = run(&sample::files(&[]));
        assert_eq!(findings.len(), REGISTRIES.len());
    }

    #[test]
    fn file_that_no_module_names_is_found() {
        let mut tree = sample::obedient();
        for (path, text) in [
            (
                "crates/a/src/main.rs",
                "//! A.\nmod used;\n// mod unused;\n",
            ),
            ("crates/a/src/used.rs", "//! U.\nmod inner;\n"),
            ("crates/a/src/used/inner.rs", "//! I.\n"),
            ("crates/a/src/bin/tool.rs", "//! T.\n"),
            ("crates/a/tests/it/main.rs", "mod cases;\n"),
            ("crates/a/tests/it/cases/mod.rs", "mod first;\n"),
            ("crates/a/tests/it/cases/first.rs", "\n"),
        ] {
            tree.add(path, text);
        }
        assert_eq!(run(&tree), []);
        for path in [
            "crates/a/src/unused.rs",
            "crates/a/src/used/other.rs",
            "crates/a/src/nowhere/mod.rs",
            "crates/a/tests/it/forgotten.rs",
            "crates/a/tests/it/cases/second.rs",
        ] {
            let mut tree = sample::obedient();
            tree.add(
                "crates/a/src/main.rs",
                "//! A.\nmod used;\n// mod unused;\n",
            );
            tree.add("crates/a/src/used.rs", "//! U.\n");
            tree.add("crates/a/tests/it/main.rs", "mod cases;\n");
            tree.add("crates/a/tests/it/cases/mod.rs", "\n");
            tree.add(path, "//! X.\n");
            let findings = run(&tree);
            assert_eq!(findings.len(), 1, "{path}");
            assert_eq!(findings[0].path, path);
        }
    }
}
