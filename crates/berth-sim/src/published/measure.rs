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

/// The events of one percentage.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    events: u64,
    allocation: f64,
    fragmentation: f64,
    /// Pods placed at the last event.
    placed: u64,
}

/// Collects the measures of a run.
#[derive(Debug)]
pub(super) struct Measures {
    /// Thousandths of a GPU that make up one percent of the cluster.
    milli_of_percent: f64,
    buckets: Vec<Bucket>,
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
        bucket(arrived, self.milli_of_percent)
    }

    /// Takes down one event.
    pub(super) fn record(&mut self, arrived: i64, used: i64, fragmented: f64, placed: u64) {
        let percent = self.percent(arrived);
        if self.buckets.len() <= percent {
            self.buckets.resize(percent + 1, Bucket::default());
        }
        let bucket = &mut self.buckets[percent];
        bucket.events += 1;
        bucket.allocation += hundredths(used as f64 / self.milli_of_percent);
        bucket.fragmentation += fragmented / self.milli_of_percent;
        bucket.placed = placed;
    }

    /// Buckets that saw an event, with their percentage.
    fn seen(&self) -> impl Iterator<Item = (usize, &Bucket)> {
        let all = self.buckets.iter().enumerate();
        all.filter(|(_, bucket)| bucket.events > 0)
    }

    /// The means of all buckets that saw an event.
    pub(super) fn columns(&self) -> Vec<Column> {
        let column = |(percent, bucket): (usize, &Bucket)| Column {
            percent: u32::try_from(percent).expect("percent of a bounded list"),
            allocation: bucket.allocation / bucket.events as f64,
            fragmentation: bucket.fragmentation / bucket.events as f64,
        };
        self.seen().map(column).collect()
    }

    /// Pods placed at the end of each of these.
    pub(super) fn placed(&self) -> Vec<u64> {
        self.seen().map(|(_, bucket)| bucket.placed).collect()
    }
}

/// The bucket of `arrived` thousandths of a GPU on a cluster of `gpus`.
pub(super) fn percent_of(arrived: i64, gpus: i64) -> usize {
    bucket(arrived, gpus as f64 * 10.0)
}

fn bucket(arrived: i64, milli_of_percent: f64) -> usize {
    (arrived as f64 / milli_of_percent).round_ties_even() as usize
}

/// Rounded to two decimals, as the published tables are before averaging.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round_ties_even() / 100.0
}
