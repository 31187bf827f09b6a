//! Suite `differential`: our filters beside kube-scheduler's own plugins, on random clusters.
//!
//! Each seed is one case: a cluster of up to ten nodes, and a pod. Both sides must name the same nodes,
//! and for each refused node the same plugin. The other side is `testbed/oracle`, which comes from the
//! cache or is built into it with Go, unless `BERTH_ORACLE` names a program. `BERTH_SEEDS=A..B` asks
//! other seeds.

use anyhow::Context as _;

use super::{Context, InCi, Outcome, Suite};
use crate::process;
use crate::tally::Tally;
use crate::testbed::stage;

pub(super) const SUITE: Suite = Suite {
    name: "differential",
    about: "10,000 random cases against kube-scheduler's filters",
    run,
};

/// The program on the other side.
const ORACLE_VARIABLE: &str = "BERTH_ORACLE";
const SEEDS_VARIABLE: &str = "BERTH_SEEDS";
const SEEDS_DEFAULT: &str = "0..10000";

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let oracle = match std::env::var_os(ORACLE_VARIABLE) {
        Some(named) => named.into(),
        None => {
            if !stage::all_built(&cx.workspace, &[&stage::ORACLE])?
                && let Some(why) = stage::go_is_missing()
            {
                return Ok(Outcome::Skipped {
                    why,
                    in_ci: InCi::MustRun,
                });
            }
            stage::ORACLE.program(&cx.workspace, "oracle")?
        }
    };
    let seeds = std::env::var(SEEDS_VARIABLE).unwrap_or_else(|_| SEEDS_DEFAULT.into());
    let mut command = cx
        .workspace
        .cargo(["run", "--quiet", "--package", "berth-kube"]);
    command.env(ORACLE_VARIABLE, oracle);
    command.args(["--example", "differential", "--", "--seeds", &seeds]);
    println!("$ {}", process::headline(&command));
    let mut closing = None;
    let ok = process::watch_stdout(&mut command, |line| {
        closing = counts(line).or(closing);
    })?;
    let (cases, different) = closing.context("the comparison ended without its closing line")?;
    let failed = different.max(u64::from(!ok));
    Ok(Outcome::Ran(Tally {
        passed: cases.saturating_sub(failed),
        failed,
        skipped: 0,
    }))
}

/// Cases and disagreements of the closing line, `seeds A..B: N cases, N disagreements, ...`.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.strip_prefix("seeds ")?.split_once(": ")?;
    let mut numbers = counts.split(", ");
    let cases = numbers.next()?.strip_suffix(" cases")?;
    let different = numbers.next()?.strip_suffix(" disagreements")?;
    Some((cases.parse().ok()?, different.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_is_read_and_no_other() {
        let line =
            "seeds 0..10000: 10000 cases, 3 disagreements, 0 read by neither side, 400 cases/s";
        assert_eq!(counts(line), Some((10_000, 3)));
        assert_eq!(counts("seed 7: ours {}, theirs {}"), None);
        assert_eq!(counts("    5  fits"), None);
    }
}
