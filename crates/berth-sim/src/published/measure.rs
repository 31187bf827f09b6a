//! Allocation and fragmentation against arrival, bucketed and rounded as published.

use serde::{Deserialize, Serialize};

/// The mean of all events at one percentage of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// GPU demand that has arrived, placed or not, in percent of the cluster's GPUs.
    pub percent: u32,
    /// GPU in use, in percent of the cluster's GPUs.
    pub allocation: f64,
    /// Fragmented GPU, in percent of the cluster's GPUs.
    pub fragmentation: f64,
}

/// Collects the measures of a run.
#[derive(Debug)]
pub(super) struct Measures {
    /// Thousandths of a GPU that make up one percent of the cluster.
    milli_of_percent: f64,
    buckets: Vec<(u64, f64, f64)>,
}

impl Measures {
    pub(super) fn new(gpus: i64) -> Self {
        Self {
            milli_of_percent: gpus as f64 * 10.0,
            buckets: Vec::new(),
        }
    }

    /// The bucket of `arrived` thousandths of a GPU.
    pub(super) fn percent(&self, arrived: i64) -> usize {
        (arrived as f64 / self.milli_of_percent).round_ties_even() as usize
    }

    /// Takes down one event.
    pub(super) fn record(&mut self, arrived: i64, used: i64, fragmented: f64) {
        let percent = self.percent(arrived);
        if self.buckets.len() <= percent {
            self.buckets.resize(percent + 1, (0, 0.0, 0.0));
        }
        let (n, allocation, fragmentation) = &mut self.buckets[percent];
        *n += 1;
        *allocation += hundredths(used as f64 / self.milli_of_percent);
        *fragmentation += fragmented / self.milli_of_percent;
    }

    /// The means of all buckets that saw an event.
    pub(super) fn columns(&self) -> Vec<Column> {
        let seen = self
            .buckets
            .iter()
            .enumerate()
            .filter(|(_, (n, ..))| *n > 0);
        seen.map(|(percent, &(n, allocation, fragmentation))| Column {
            percent: u32::try_from(percent).expect("percent of a bounded list"),
            allocation: allocation / n as f64,
            fragmentation: fragmentation / n as f64,
        })
        .collect()
    }
}

/// Rounded to two decimals, as the published tables are before averaging.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round_ties_even() / 100.0
}
