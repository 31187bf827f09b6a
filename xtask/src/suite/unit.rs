//! Suite `unit`: every test of every crate, documentation examples included.
//!
//! `cargo nextest` runs the tests where it is installed, since it is faster; nothing needs it.
//! The counts are read from the runner's own closing lines.

use super::{Context, Outcome, Suite};
use crate::process;
use crate::tally::Tally;
use crate::workspace::Workspace;

pub(super) const SUITE: Suite = Suite {
    name: "unit",
    about: "tests of every crate",
    run,
};

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let workspace = &cx.workspace;
    if nextest_is_installed(workspace) {
        let mut tally = nextest(workspace)?;
        tally += libtest(
            workspace,
            &["test", "--workspace", "--no-fail-fast", "--doc"],
        )?;
        Ok(Outcome::Ran(tally))
    } else {
        Ok(Outcome::Ran(libtest(
            workspace,
            &["test", "--workspace", "--no-fail-fast"],
        )?))
    }
}

fn nextest_is_installed(workspace: &Workspace) -> bool {
    workspace
        .cargo(["nextest", "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
}

fn libtest(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut command = workspace.cargo(arguments.iter().copied());
    println!("$ {}", process::headline(&command));
    let ok = process::watch_stdout(&mut command, |line| {
        if let Some(counts) = libtest_counts(line) {
            tally += counts;
        }
    })?;
    Ok(reconcile(tally, ok))
}

fn nextest(workspace: &Workspace) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut command = workspace.cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
    println!("$ {}", process::headline(&command));
    let ok = process::watch_stderr(&mut command, |line| {
        if let Some(counts) = nextest_counts(line) {
            tally += counts;
        }
    })?;
    Ok(reconcile(tally, ok))
}

/// A runner that failed without counting a failure (a test did not compile, a process died)
/// counts as one failure.
fn reconcile(mut tally: Tally, succeeded: bool) -> Tally {
    if !succeeded && tally.failed == 0 {
        tally.failed = 1;
    }
    tally
}

/// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`.
fn libtest_counts(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut tally = Tally::default();
    for part in counts.split("; ") {
        match part.split_once(' ') {
            Some((number, "passed")) => tally.passed = number.parse().ok()?,
            Some((number, "failed")) => tally.failed = number.parse().ok()?,
            Some((number, "ignored")) => tally.skipped = number.parse().ok()?,
            _ => {}
        }
    }
    Some(tally)
}

/// Reads `     Summary [   0.034s] 7 tests run: 5 passed, 2 failed, 1 skipped`.
fn nextest_counts(line: &str) -> Option<Tally> {
    let (_, rest) = line
        .trim_start()
        .strip_prefix("Summary [")?
        .split_once("] ")?;
    let (_, counts) = rest.split_once(" run: ")?;
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        let mut words = part.split_whitespace();
        let number = words.next()?.parse().ok()?;
        match words.next()? {
            "passed" => tally.passed = number,
            "failed" | "timed" => tally.failed += number, // "1 timed out"
            "skipped" => tally.skipped = number,
            _ => {}
        }
    }
    Some(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_line_of_libtest_is_read() {
        let line = "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; \
                    0 filtered out; finished in 0.10s";
        let expected = Tally {
            passed: 12,
            failed: 2,
            skipped: 1,
        };
        assert_eq!(libtest_counts(line), Some(expected));
        assert_eq!(libtest_counts("test gang_waits ... ok"), None);
    }

    #[test]
    fn closing_line_of_nextest_is_read() {
        let line =
            "     Summary [   0.034s] 7 tests run: 4 passed, 2 failed, 1 timed out, 3 skipped";
        let expected = Tally {
            passed: 4,
            failed: 3,
            skipped: 3,
        };
        assert_eq!(nextest_counts(line), Some(expected));
        assert_eq!(nextest_counts("        PASS [   0.004s] berth-core"), None);
    }

    #[test]
    fn runner_that_died_without_a_count_is_a_failure() {
        let counted = Tally {
            passed: 9,
            failed: 0,
            skipped: 0,
        };
        assert_eq!(reconcile(counted, false).failed, 1);
        assert_eq!(reconcile(counted, true).failed, 0);
        let failed = Tally {
            passed: 9,
            failed: 2,
            skipped: 0,
        };
        assert_eq!(reconcile(failed, false).failed, 2);
    }
}
