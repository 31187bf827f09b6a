//! `cargo xtask tidy`: the house rules that no compiler checks.
//!
//! A check is one file here and one line in [`ALL`]: a pure function from a [`Tree`] to findings.
//! Each has a test that shows it failing on a bad sample, since a check that can't fail is a defect.
//! Deliberately absent: anything that rustc, clippy or rustfmt can say.

mod architecture;
mod clippy_bans;
mod edges;
mod file_length;
mod function_length;
mod header;
mod licences;
mod links;
mod machine_words;
mod markers;
mod metadata;
mod page_length;
mod purity;
mod registered;
mod rust_source;
mod test_attributes;
mod tree;
mod whitespace;

use std::fmt;

use crate::Verdict;
use crate::tally::{Checked, Tally};
use crate::workspace::Workspace;

use self::tree::Tree;

/// Every check, in the order in which it is printed.
const ALL: &[&Check] = &[
    &file_length::CHECK,
    &function_length::CHECK,
    &header::CHECK,
    &whitespace::CHECK,
    &markers::CHECK,
    &test_attributes::CHECK,
    &machine_words::CHECK,
    &page_length::CHECK,
    &links::CHECK,
    &licences::CHECK,
    &edges::CHECK,
    &purity::CHECK,
    &clippy_bans::CHECK,
    &registered::CHECK,
];

/// Crates that decide: no clock, entropy, IO, threads or Kubernetes types may reach them.
const PURE_CRATES: [&str; 3] = ["berth-audit", "berth-core", "berth-sim"];

/// One house rule.
#[derive(Debug)]
struct Check {
    name: &'static str,
    about: &'static str,
    run: fn(&Tree) -> Vec<Finding>,
}

/// Whether a finding fails its check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Severity {
    Error,
    Warning,
}

/// One place that breaks a rule, or comes near to it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Finding {
    severity: Severity,
    path: String,
    /// 1-based; 0 where the whole file is meant.
    line: usize,
    text: String,
}

impl Finding {
    fn error(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.to_owned(),
            line,
            text: text.into(),
        }
    }

    fn warning(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(path, line, text)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            severity,
            path,
            line,
            text,
        } = self;
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        match line {
            0 => write!(f, "{severity}: {path}: {text}"),
            _ => write!(f, "{severity}: {path}:{line}: {text}"),
        }
    }
}

/// Arguments of `cargo xtask tidy`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the checks and run nothing
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Verdict> {
    if args.list {
        for check in ALL {
            println!("{:<16} {}", check.name, check.about);
        }
        return Ok(Verdict::Clean);
    }
    let tally = check(workspace)?;
    println!("{tally}");
    Ok(if tally.is_clean() {
        Verdict::Clean
    } else {
        Verdict::Findings
    })
}

/// Runs every check, prints the findings, and counts one per check.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Tally> {
    let tree = Tree::load(workspace)?;
    let mut tally = Tally::default();
    for check in ALL {
        let findings = (check.run)(&tree);
        for finding in &findings {
            println!("{finding} [{}]", check.name);
        }
        let clean = findings
            .iter()
            .all(|finding| finding.severity == Severity::Warning);
        tally.count(Checked::of(clean));
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_read_like_a_compilers() {
        let error = Finding::error("a/b.rs", 7, "too long");
        assert_eq!(error.to_string(), "error: a/b.rs:7: too long");
        let warning = Finding::warning("a/b.rs", 0, "long");
        assert_eq!(warning.to_string(), "warning: a/b.rs: long");
    }

    #[test]
    fn every_check_is_silent_on_a_tree_that_obeys() {
        let tree = tree::sample::obedient();
        for check in ALL {
            assert_eq!((check.run)(&tree), [], "{}", check.name);
        }
    }
}
