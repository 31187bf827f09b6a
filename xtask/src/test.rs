//! `cargo xtask test`: runs the suites of `suite::ALL` in order.
//!
//! A failed suite does not stop the later ones.
//! Every suite closes with one line, and the last line of all is `N passed, N failed`.

use std::time::{Duration, Instant};

use crate::suite::{self, InCi, Outcome, Suite};
use crate::tally::{Checked, Tally};
use crate::workspace::Workspace;
use crate::{Usage, Verdict, suite::Context};

/// Arguments of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Suites to run; all of them where none is named
    #[arg(value_name = "SUITE")]
    suites: Vec<String>,
    /// Print the suites and run nothing
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Verdict> {
    let suites = select(suite::ALL, &args.suites)?;
    if args.list {
        for suite in suites {
            println!("{:<10} {}", suite.name, suite.about);
        }
        return Ok(Verdict::Clean);
    }
    let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    let context = Context {
        workspace: workspace.clone(),
    };
    let mut total = Tally::default();
    let mut closing = Vec::new();
    for suite in suites {
        println!("== {}: {}", suite.name, suite.about);
        let started = Instant::now();
        let outcome = (suite.run)(&context);
        let (tally, line) = close(suite, outcome, ci, started.elapsed());
        println!("{line}\n");
        closing.push(line);
        total += tally;
    }
    for line in closing {
        println!("{line}");
    }
    println!("{total}");
    Ok(if total.is_clean() {
        Verdict::Clean
    } else {
        Verdict::Findings
    })
}

/// The named suites in the order of the list, or all of them.
fn select<'a>(all: &[&'a Suite], names: &[String]) -> anyhow::Result<Vec<&'a Suite>> {
    if let Some(unknown) = names
        .iter()
        .find(|name| all.iter().all(|suite| suite.name != **name))
    {
        let text = format!("there is no suite {unknown}; `cargo xtask test --list` prints them");
        return Err(Usage(text).into());
    }
    let wanted = |suite: &&&Suite| names.is_empty() || names.iter().any(|n| n == suite.name);
    Ok(all.iter().filter(wanted).copied().collect())
}

/// The suite's counts and its closing line.
fn close(
    suite: &Suite,
    outcome: anyhow::Result<Outcome>,
    ci: bool,
    elapsed: Duration,
) -> (Tally, String) {
    let (tally, result) = match outcome {
        Ok(Outcome::Ran(tally)) if tally.is_clean() => (tally, format!("ok ({tally})")),
        Ok(Outcome::Ran(tally)) => (tally, format!("FAILED ({tally})")),
        Ok(Outcome::Skipped {
            why,
            in_ci: InCi::MustRun,
        }) if ci => (
            Tally::one(Checked::Failed),
            format!("FAILED (CI must not skip this; skipped: {why})"),
        ),
        Ok(Outcome::Skipped { why, .. }) => {
            (Tally::one(Checked::Skipped), format!("skipped: {why}"))
        }
        Err(error) => (Tally::one(Checked::Failed), format!("FAILED ({error:#})")),
    };
    (
        tally,
        format!(
            "suite {}: {result} in {:.1} s",
            suite.name,
            elapsed.as_secs_f64()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Suite = Suite {
        name: "sample",
        about: "a sample",
        run: |_| Ok(Outcome::Ran(Tally::default())),
    };
    const OTHER: Suite = Suite {
        name: "other",
        about: "another",
        run: |_| Ok(Outcome::Ran(Tally::default())),
    };

    fn closed(outcome: anyhow::Result<Outcome>, ci: bool) -> (Tally, String) {
        close(&SAMPLE, outcome, ci, Duration::from_millis(1_500))
    }

    fn skipped(in_ci: InCi) -> anyhow::Result<Outcome> {
        Ok(Outcome::Skipped {
            why: "no data".to_owned(),
            in_ci,
        })
    }

    #[test]
    fn named_suites_keep_the_order_of_the_list() {
        let names = ["other".to_owned(), "sample".to_owned()];
        let chosen = select(&[&SAMPLE, &OTHER], &names).unwrap();
        assert_eq!(
            chosen.iter().map(|s| s.name).collect::<Vec<_>>(),
            ["sample", "other"]
        );
        assert_eq!(select(&[&SAMPLE, &OTHER], &[]).unwrap().len(), 2);
        let error = select(&[&SAMPLE], &["none".to_owned()]).unwrap_err();
        assert!(error.is::<Usage>());
    }

    #[test]
    fn skip_of_a_needed_suite_fails_only_in_ci() {
        assert_eq!(
            closed(skipped(InCi::MustRun), false).0,
            Tally::one(Checked::Skipped)
        );
        assert_eq!(
            closed(skipped(InCi::MustRun), true).0,
            Tally::one(Checked::Failed)
        );
        assert_eq!(
            closed(skipped(InCi::MayBeSkipped), true).0,
            Tally::one(Checked::Skipped)
        );
    }

    #[test]
    fn closing_line_names_suite_result_and_seconds() {
        let tally = Tally {
            passed: 4,
            failed: 0,
            skipped: 0,
        };
        let (_, line) = closed(Ok(Outcome::Ran(tally)), false);
        assert_eq!(line, "suite sample: ok (4 passed, 0 failed) in 1.5 s");
        let (tally, line) = closed(Err(anyhow::anyhow!("no such tool")), false);
        assert_eq!(line, "suite sample: FAILED (no such tool) in 1.5 s");
        assert_eq!(tally.failed, 1);
    }
}
