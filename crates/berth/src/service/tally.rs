//! Running counts and means over what the service has done.
//!
//! Invariant: everything but the real times is a function of the virtual clock, so two runs of one
//! seed to one instant agree. Not here: what the cluster counts itself ([`super::Totals`]).

use std::time::Duration;

use berth_core::amount::GpuUnits;
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::fragmentation::TargetWorkload;
use berth_core::time::{Span, Time};

/// Distance of the samples that means are taken over, in virtual time. The means of a day are
/// means of 288 samples.
pub(crate) const SAMPLE_EVERY: Span = Span::from_mins(5);

/// Upper bounds of the buckets of a cycle's real time, in seconds: from a cycle that changes
/// nothing to one that would hold up a kubelet.
pub(crate) const CYCLE_BOUNDS_S: &[f64] = &[
    0.000_01, 0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0,
];

/// Upper bounds of the buckets of a wait, in seconds: from at once to a week.
pub(crate) const WAIT_BOUNDS_S: &[f64] = &[
    1.0, 10.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0, 259_200.0, 604_800.0,
];

/// Values counted in fixed buckets.
#[derive(Debug, Clone)]
pub(crate) struct Buckets {
    /// Upper bounds, rising.
    pub(crate) bounds: &'static [f64],
    /// Values up to each bound and above the one before; the last entry is beyond all bounds.
    pub(crate) counts: Vec<u64>,
    /// Sum of all values.
    pub(crate) sum: f64,
}

/// Running counts and means.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    /// Starts of pods.
    pub(crate) placed: u64,
    /// Starts and evictions decided.
    pub(crate) decisions: u64,
    /// Cycles run.
    pub(crate) cycles: u64,
    /// Real time of a step: observe, decide, recount, act.
    pub(crate) cycle_s: Buckets,
    /// From submission to first start.
    pub(crate) wait_s: Buckets,
    /// The same, finer, for quantiles.
    pub(crate) waits: Quantiles,
    /// Shares of all GPUs, over time.
    pub(crate) shares: Means,
}

/// GPU held and fragmented, in parts of all GPUs, lost nodes included.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Shares {
    /// Held by pods.
    pub(crate) allocated: f64,
    /// Free, and of no use to a task drawn from the target workload, in expectation.
    pub(crate) fragmented: f64,
}

/// Means of shares over equally spaced samples.
#[derive(Debug, Clone, Default)]
pub(crate) struct Means {
    n: u64,
    sum: Shares,
}

/// Spans in buckets that are at most 1/32 of their value wide.
#[derive(Debug, Clone)]
pub(crate) struct Quantiles {
    counts: Vec<u64>,
    n: u64,
}

impl Buckets {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    /// Counts a value.
    pub(crate) fn add(&mut self, value: f64) {
        self.counts[self.bounds.partition_point(|&bound| bound < value)] += 1;
        self.sum += value;
    }

    /// Values counted.
    pub(crate) fn n(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            placed: 0,
            decisions: 0,
            cycles: 0,
            cycle_s: Buckets::new(CYCLE_BOUNDS_S),
            wait_s: Buckets::new(WAIT_BOUNDS_S),
            waits: Quantiles::default(),
            shares: Means::default(),
        }
    }
}

impl Tally {
    /// Counts a step that took `real` time.
    pub(crate) fn cycle(&mut self, real: Duration) {
        self.cycles += 1;
        self.cycle_s.add(real.as_secs_f64());
    }

    /// Counts a first start after `wait`.
    pub(crate) fn waited(&mut self, wait: Span) {
        self.wait_s.add(wait.as_secs_f64());
        self.waits.add(wait);
    }
}

impl Shares {
    /// The shares of `snapshot` as it stands.
    pub(crate) fn of(snapshot: &Snapshot, workload: &TargetWorkload) -> Self {
        let (mut all, mut held, mut fragmented) = (GpuUnits::ZERO, GpuUnits::ZERO, 0.0);
        for node in snapshot
            .nodes()
            .iter()
            .filter(|node| !node.shape.gpus().is_empty())
        {
            for gpu in &node.state.gpus {
                all += GpuUnits::ONE_GPU;
                held += GpuUnits::ONE_GPU - gpu.free_compute;
            }
            fragmented += workload.node_fragmentation(&node.shape, &node.state);
        }
        if all.is_zero() {
            return Self::default();
        }
        Self {
            allocated: held.gpus_f64() / all.gpus_f64(),
            fragmented: fragmented / all.milli_f64(),
        }
    }
}

impl Means {
    /// Counts a sample.
    pub(crate) fn add(&mut self, shares: Shares) {
        self.n += 1;
        self.sum.allocated += shares.allocated;
        self.sum.fragmented += shares.fragmented;
    }

    /// The means so far.
    pub(crate) fn mean(&self) -> Shares {
        let n = self.n.max(1) as f64;
        Shares {
            allocated: self.sum.allocated / n,
            fragmented: self.sum.fragmented / n,
        }
    }
}

/// The first sampling instant after `now`, on the grid that starts at `start`.
pub(crate) fn next_sample(start: Time, now: Time) -> Time {
    let periods = now.since(start).0.div_euclid(SAMPLE_EVERY.0) + 1;
    start + Span(periods.saturating_mul(SAMPLE_EVERY.0))
}

/// Buckets for each power of two of milliseconds.
const PER_DOUBLING: u64 = 32;

impl Default for Quantiles {
    fn default() -> Self {
        // 63 bits less the 5 of the first bucket, and the buckets below 32 ms.
        Self {
            counts: vec![0; 60 * PER_DOUBLING as usize],
            n: 0,
        }
    }
}

impl Quantiles {
    /// Counts a span; negative ones count as none.
    pub(crate) fn add(&mut self, span: Span) {
        self.counts[Self::bucket(span.0.max(0).cast_unsigned())] += 1;
        self.n += 1;
    }

    /// The upper edge, in seconds, of the bucket that the quantile falls in; zero without spans.
    pub(crate) fn permille_s(&self, permille: u64) -> f64 {
        let wanted = (self.n * permille).div_ceil(1000).max(1);
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= wanted {
                return Self::upper_edge_ms(bucket as u64) as f64 / 1000.0;
            }
        }
        0.0
    }

    fn bucket(ms: u64) -> usize {
        let shift = u64::from((ms | PER_DOUBLING).ilog2() - PER_DOUBLING.ilog2());
        usize::try_from((ms >> shift) + shift * PER_DOUBLING).expect("below 60 times 32")
    }

    fn upper_edge_ms(bucket: u64) -> u64 {
        if bucket < 2 * PER_DOUBLING {
            return bucket;
        }
        let shift = bucket / PER_DOUBLING - 1;
        ((bucket % PER_DOUBLING + PER_DOUBLING + 1) << shift) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_thirty_second_too_high() {
        let mut waits = Quantiles::default();
        assert_eq!(waits.permille_s(500), 0.0);
        for second in 1..=1000 {
            waits.add(Span::from_secs(second));
        }
        for (permille, exact) in [(500, 500.0), (900, 900.0), (990, 990.0)] {
            let found = waits.permille_s(permille);
            assert!(
                (exact..=exact * 33.0 / 32.0).contains(&found),
                "{permille}: {found}"
            );
        }
        waits.add(Span(i64::MAX));
        waits.add(Span(-1));
    }

    #[test]
    fn a_value_falls_into_the_first_bucket_that_holds_it() {
        let mut buckets = Buckets::new(WAIT_BOUNDS_S);
        for value in [0.0, 1.0, 1.5, 1e9] {
            buckets.add(value);
        }
        assert_eq!((buckets.counts[0], buckets.counts[1]), (2, 1));
        assert_eq!(buckets.counts.last(), Some(&1));
        assert_eq!(buckets.n(), 4);
    }

    #[test]
    fn samples_lie_on_a_grid_from_the_start() {
        let start = Time::from_secs(7);
        let check = |now, next| {
            assert_eq!(
                next_sample(start, Time::from_secs(now)),
                Time::from_secs(next)
            );
        };
        check(7, 307);
        check(306, 307);
        check(307, 607);
    }
}
