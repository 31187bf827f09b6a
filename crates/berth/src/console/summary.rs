//! What a run of the service came to, printed when it ends.

use std::collections::BTreeMap;

use serde::Serialize;

use super::view::{View, words};
use crate::output::Document;
use crate::output::table::{Column, Table};
use crate::service::published::Published;

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Virtual time that passed, in hours.
    pub(crate) simulated_hours: f64,
    /// Users who submitted anything.
    pub(crate) users_seen: u64,
    /// Nodes.
    pub(crate) nodes: usize,
    /// GPUs.
    pub(crate) gpus: usize,
    /// Pods submitted.
    pub(crate) submitted: u64,
    /// Starts; one that was evicted and started again counts twice.
    pub(crate) placed: u64,
    /// Pods that ran to their end.
    pub(crate) completed: u64,
    /// Lost places by cause.
    pub(crate) evictions: BTreeMap<String, u64>,
    /// Pods that run.
    pub(crate) running: usize,
    /// Pods that wait.
    pub(crate) pending: usize,
    /// Broken books; anything but zero is a defect of Berth.
    pub(crate) invariant_violations: u64,
    /// Waits of first starts, in virtual seconds.
    pub(crate) wait: Waits,
    /// GPU held, in percent of all, mean over virtual time.
    pub(crate) allocation_mean: f64,
    /// GPU free but of no use to a task of the target workload, in percent of all, mean.
    pub(crate) fragmentation_mean: f64,
    /// Waiting pods by reason.
    pub(crate) reasons: BTreeMap<&'static str, u64>,
    /// How far virtual time was behind at the end, in virtual seconds.
    pub(crate) lag_s: f64,
    /// Starts and evictions decided.
    pub(crate) decisions: u64,
    /// Scheduling cycles.
    pub(crate) cycles: u64,
    /// Fingerprint of the event log.
    pub(crate) log_hash: String,
}

/// Waits in virtual seconds; upper bounds, at most 1/32 too high.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Waits {
    /// Median.
    pub(crate) p50_s: f64,
    /// 90th percentile.
    pub(crate) p90_s: f64,
    /// 99th percentile.
    pub(crate) p99_s: f64,
}

impl Summary {
    /// What came of the run whose last moment is `published`.
    pub(crate) fn of(published: &Published) -> Self {
        let view = View::of(published);
        let (tally, totals) = (&published.tally, &published.totals);
        let means = tally.shares.mean();
        Self {
            simulated_hours: published.paced().as_secs_f64() / 3600.0,
            users_seen: published.users_seen,
            nodes: view.figures.nodes,
            gpus: view.figures.gpus,
            submitted: totals.submitted,
            placed: tally.placed,
            completed: totals.completed,
            evictions: totals.evictions.clone(),
            running: view.figures.pods_running,
            pending: view.figures.pods_waiting,
            invariant_violations: published.n_violations(),
            wait: Waits {
                p50_s: tally.waits.permille_s(500),
                p90_s: tally.waits.permille_s(900),
                p99_s: tally.waits.permille_s(990),
            },
            allocation_mean: means.allocated * 100.0,
            fragmentation_mean: means.fragmented * 100.0,
            reasons: view.reasons,
            lag_s: published.pace.lag.as_secs_f64(),
            decisions: tally.decisions,
            cycles: tally.cycles,
            log_hash: totals.log_hash.clone(),
        }
    }
}

impl Document for Summary {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new([Column::text("what"), Column::figure("value")]);
        let mut row = |what: &str, value: String| table.row([what.to_owned(), value]);
        row(
            "simulated time",
            words::seconds(self.simulated_hours * 3600.0),
        );
        row("users seen", self.users_seen.to_string());
        row("nodes", self.nodes.to_string());
        row("GPUs", self.gpus.to_string());
        row("pods submitted", self.submitted.to_string());
        row("starts", self.placed.to_string());
        row("pods ended", self.completed.to_string());
        row("pods running", self.running.to_string());
        row("pods waiting", self.pending.to_string());
        row("wait, median", words::seconds(self.wait.p50_s));
        row("wait, 90 %", words::seconds(self.wait.p90_s));
        row("wait, 99 %", words::seconds(self.wait.p99_s));
        row("allocation, mean", format!("{:.1} %", self.allocation_mean));
        row(
            "fragmentation, mean",
            format!("{:.1} %", self.fragmentation_mean),
        );
        row(
            "evictions",
            self.evictions.values().sum::<u64>().to_string(),
        );
        for (cause, n) in &self.evictions {
            row(&format!("  {cause}"), n.to_string());
        }
        row("decisions", self.decisions.to_string());
        row(
            "invariant violations",
            self.invariant_violations.to_string(),
        );
        if self.lag_s > 0.0 {
            row("behind the chosen speed by", words::seconds(self.lag_s));
        }
        row("event log", self.log_hash.clone());
        let mut tables = vec![table];
        if !self.reasons.is_empty() {
            let mut reasons = Table::new([Column::text("why pods wait"), Column::figure("pods")]);
            for (token, n) in &self.reasons {
                reasons.row([(*token).to_owned(), n.to_string()]);
            }
            tables.push(reasons);
        }
        tables
    }
}
