//! Suite `published`: our runs of the FGD experiment against the figures its authors published.
//!
//! `berth simulate suite fgd` makes the runs and compares every column; this suite holds its verdict
//! to the promise: all 850 runs of deterministic policies, none different, `random` close in the
//! mean. Each run is one check, the mean of `random` another.

use anyhow::Context as _;
use serde_json::Value;

use super::{Context, InCi, Outcome, Suite};
use crate::process;
use crate::tally::{Checked, Tally};
use crate::workspace::DATA_VARIABLE;

pub(super) const SUITE: Suite = Suite {
    name: "published",
    about: "850 runs against the published FGD figures",
    run,
};

/// 17 traces, 5 deterministic policies, 10 seeds.
const RUNS: u64 = 850;
/// The published figures are rounded to 0.01, and the mean of a column may round the other way.
const TOLERANCE: f64 = 0.011;
/// The published runs of `random` depend on the timing of threads; their means don't.
const RANDOM_TOLERANCE: f64 = 0.3;

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let folder = cx.workspace.data().join("openb-expected");
    if !folder.is_dir() {
        let why = format!(
            "no published figures at {}; set {DATA_VARIABLE}",
            folder.display()
        );
        return Ok(Outcome::Skipped {
            why,
            in_ci: InCi::MustRun,
        });
    }
    cx.workspace.build_release()?;
    let mut command = cx.workspace.command(cx.workspace.berth());
    command.args(["simulate", "suite", "fgd", "--output", "json"]);
    println!("$ {}", process::headline(&command));
    // A difference makes the command fail and still print its verdict.
    let printed = process::output(&mut command)?.stdout;
    let verdict: Value = serde_json::from_slice(&printed).context("berth printed no JSON")?;
    judge(&verdict).map(Outcome::Ran)
}

/// Counts the runs that agree, and prints by how much they do.
fn judge(verdict: &Value) -> anyhow::Result<Tally> {
    let number = |key: &str| {
        verdict[key]
            .as_f64()
            .with_context(|| format!("berth printed no number `{key}`"))
    };
    let (allocation, fragmentation) = (number("max_allocation_diff")?, number("max_frag_diff")?);
    let random = number("random_mean_diff")?;
    let rows = verdict["policies"].as_array().context("no `policies`")?;
    let different: u64 = rows
        .iter()
        .filter_map(|row| row["runs_different"].as_u64())
        .sum();
    let runs = verdict["runs"].as_u64().context("no `runs`")?;
    println!(
        "{runs} runs; largest difference in allocation {allocation:.4}, in fragmentation \
         {fragmentation:.4}; random off by {random:.3} in the mean; {:.0} s of wall time",
        number("wall_seconds")?
    );
    let far = allocation.max(fragmentation) > TOLERANCE;
    let failed = different.max(u64::from(far)) + RUNS.saturating_sub(runs);
    let mut tally = Tally {
        passed: RUNS.saturating_sub(failed),
        failed,
        skipped: 0,
    };
    tally.count(Checked::of(random <= RANDOM_TOLERANCE));
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tally(change: impl FnOnce(&mut Value)) -> Tally {
        let mut verdict = json!({
            "runs": 850, "max_allocation_diff": 0.005, "max_frag_diff": 0.005,
            "random_mean_diff": 0.1, "wall_seconds": 90.0,
            "policies": [{"policy": "fgd", "runs_different": 0}],
        });
        change(&mut verdict);
        judge(&verdict).expect("all keys are there")
    }

    #[test]
    fn agreement_counts_every_run_and_the_mean_of_random() {
        let tally = tally(|_| {});
        assert_eq!((tally.passed, tally.failed), (851, 0));
    }

    #[test]
    fn each_way_to_differ_fails() {
        let failed = |change: fn(&mut Value)| tally(change).failed;
        assert_eq!(failed(|verdict| verdict["runs"] = json!(849)), 1);
        assert_eq!(failed(|verdict| verdict["max_frag_diff"] = json!(0.02)), 1);
        assert_eq!(
            failed(|verdict| verdict["random_mean_diff"] = json!(0.4)),
            1
        );
        let different = |verdict: &mut Value| verdict["policies"][0]["runs_different"] = json!(7);
        assert_eq!(tally(different).failed, 7);
    }

    #[test]
    fn a_verdict_without_its_keys_is_refused() {
        assert!(judge(&json!({"runs": 850})).is_err());
    }
}
