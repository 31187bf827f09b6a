//! Every rule has its page, its headings, its test and its place in the list.

#![expect(
    clippy::disallowed_methods,
    reason = "the pages are files, and blessing is asked for by a variable"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use berth_audit::rule::{Family, HEADINGS, Rule};
use berth_audit::rules;

use crate::literate;

/// Set by `cargo xtask bless`.
const BLESS: &str = "BERTH_BLESS";

fn page_of(rule: &Rule) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/it/rules/{}-{}.md", rule.code, rule.name))
}

#[test]
fn literate_tests_hold() {
    let is_blessing = std::env::var_os(BLESS).is_some();
    let mut problems = Vec::new();
    for rule in rules::all() {
        let path = page_of(rule);
        let Ok(page) = fs::read_to_string(&path) else {
            problems.push(format!("{} has no {}", rule.code, path.display()));
            continue;
        };
        let (written, wrong) = literate::run(&page, rule);
        problems.extend(wrong.iter().map(|why| format!("{}: {why}", rule.code)));
        if written == page {
            continue;
        }
        if is_blessing {
            fs::write(&path, written).expect("the page was just read");
        } else {
            problems.push(format!(
                "{} says otherwise:\n{}",
                rule.code,
                difference(&page, &written)
            ));
        }
    }
    assert!(
        problems.is_empty(),
        "{}\n`cargo xtask bless -p berth-audit` rewrites expectations",
        problems.join("\n")
    );
}

/// Lines that differ, expected ones with `-`.
fn difference(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let gone = expected
        .iter()
        .filter(|line| !found.contains(line))
        .map(|line| format!("  -{line}\n"));
    let new = found
        .iter()
        .filter(|line| !expected.contains(line))
        .map(|line| format!("  +{line}\n"));
    gone.chain(new).collect()
}

#[test]
fn every_page_belongs_to_a_rule() {
    let names: Vec<String> = rules::all()
        .iter()
        .map(|rule| format!("{}-{}.md", rule.code, rule.name))
        .collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rules");
    for entry in fs::read_dir(folder).expect("the folder of pages is there") {
        let name = entry
            .expect("it can be listed")
            .file_name()
            .to_string_lossy()
            .into_owned();
        assert!(names.contains(&name), "{name} is the page of no rule");
    }
}

#[test]
fn codes_and_names_are_unique_and_of_their_family() {
    let mut seen = BTreeMap::new();
    for rule in rules::all() {
        for key in [rule.code, rule.name] {
            assert_eq!(seen.insert(key, rule.code), None, "{key} stands twice");
        }
        let number = rule.code.strip_prefix(rule.family.letters());
        let is_number = number
            .is_some_and(|number| number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit()));
        assert!(is_number, "{} is no code of its family", rule.code);
        let is_kebab = rule
            .name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(is_kebab, "{} is not in kebab case", rule.name);
    }
    for family in Family::ALL {
        let codes: Vec<_> = rules::all()
            .iter()
            .filter(|rule| rule.family == family)
            .map(|rule| rule.code)
            .collect();
        assert!(codes.is_sorted(), "{codes:?} are not in order");
        assert!(!codes.is_empty(), "{} has no rule", family.title());
    }
}

#[test]
fn manuals_have_their_headings_in_order() {
    for rule in rules::all() {
        let found: Vec<_> = rule
            .manual
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        assert_eq!(found, HEADINGS, "{}", rule.code);
        let sections = rule.manual.split("## ").skip(1);
        for section in sections {
            assert!(
                section.lines().skip(1).any(|line| !line.trim().is_empty()),
                "{}: empty section {section}",
                rule.code
            );
        }
    }
}

#[test]
fn every_rule_file_is_in_its_list() {
    let names: Vec<_> = rules::all()
        .iter()
        .map(|rule| format!("\"{}\"", rule.name))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
    for folder in fs::read_dir(root)
        .expect("rules are there")
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
    {
        for file in fs::read_dir(folder.path())
            .expect("a family is there")
            .filter_map(Result::ok)
        {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            if text.contains("const RULE: Rule") {
                assert!(
                    names.iter().any(|name| text.contains(name)),
                    "{} is in no list",
                    file.path().display()
                );
            }
        }
    }
}
