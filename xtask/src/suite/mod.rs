//! The suites of `cargo xtask test`, in the order in which they run.
//!
//! A suite is one file here and one line in [`ALL`].
//! Cheap suites stand first, so that a slip is seen before the long ones start.

mod clippy;
mod cluster;
mod deny;
mod differential;
mod doc;
mod fmt;
mod generated;
mod published;
mod real_node;
mod testbed;
mod tidy;
mod unit;

use std::process::Command;

use crate::process;
use crate::tally::{Checked, Tally};
use crate::workspace::Workspace;

/// Every suite, in order.
pub(crate) const ALL: &[&Suite] = &[
    &fmt::SUITE,
    &clippy::SUITE,
    &unit::SUITE,
    &doc::SUITE,
    &generated::SUITE,
    &tidy::SUITE,
    &published::SUITE,
    &differential::SUITE,
    &deny::SUITE,
    &testbed::SUITE,
    &real_node::SUITE,
    &cluster::SUITE,
];

/// A named group of checks.
#[derive(Debug)]
pub(crate) struct Suite {
    /// What a person types.
    pub name: &'static str,
    /// One line for `--list` and for the headline.
    pub about: &'static str,
    /// Runs the checks; an error counts as one failure.
    pub run: fn(&Context) -> anyhow::Result<Outcome>,
}

/// What every suite gets.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub workspace: Workspace,
}

/// How a suite ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    Ran(Tally),
    /// The suite could not run here; `why` is shown.
    Skipped {
        why: String,
        in_ci: InCi,
    },
}

/// Whether `CI=true` accepts that a suite was skipped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum InCi {
    MustRun,
    // Taken by suites whose need no CI machine can meet; none of the present ones is like that.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "first used by suites that need hardware")
    )]
    MayBeSkipped,
}

/// One command as one check: it passes if the command succeeds.
fn one_command(command: &mut Command) -> anyhow::Result<Outcome> {
    println!("$ {}", process::headline(command));
    Ok(Outcome::Ran(Tally::one(Checked::of(process::succeeds(
        command,
    )?))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ALL;

    #[test]
    fn names_are_unique_and_typeable() {
        let names: BTreeSet<_> = ALL.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(
            names
                .iter()
                .all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        );
    }
}
