//! Spans of time counted in buckets of constant relative width, so that a run of any length keeps
//! its quantiles in bounded memory.
//!
//! Invariant: below 128 ms a bucket is one millisecond wide, above it at most 1/128 of its value.
//! Not here: exact order statistics.

use std::collections::BTreeMap;

use berth_core::time::Span;

use crate::report::WaitStats;

/// Buckets for each power of two.
const PER_DOUBLING: u64 = 128;

/// Spans by bucket.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histogram {
    counts: BTreeMap<u16, u64>,
    n: u64,
    sum_ms: i128,
    max_ms: i64,
}

impl Histogram {
    /// Counts a span; negative ones count as none.
    pub(crate) fn add(&mut self, span: Span) {
        let ms = span.0.max(0);
        *self.counts.entry(bucket(ms.cast_unsigned())).or_default() += 1;
        self.n += 1;
        self.sum_ms += i128::from(ms);
        self.max_ms = self.max_ms.max(ms);
    }

    /// Counts what `other` has counted too.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (&bucket, &count) in &other.counts {
            *self.counts.entry(bucket).or_default() += count;
        }
        self.n += other.n;
        self.sum_ms += other.sum_ms;
        self.max_ms = self.max_ms.max(other.max_ms);
    }

    /// Spans counted.
    pub(crate) fn n(&self) -> u64 {
        self.n
    }

    /// The smallest bucket's upper edge, in seconds, that at least `permille` of the spans reach at
    /// most; zero without any.
    pub(crate) fn quantile_s(&self, permille: u64) -> f64 {
        let wanted = (self.n * permille).div_ceil(1000).max(1);
        let mut below = 0;
        for (&bucket, &count) in &self.counts {
            below += count;
            if below >= wanted {
                return upper_edge(bucket).min(self.max_ms.cast_unsigned()) as f64 / 1000.0;
            }
        }
        0.0
    }

    /// The figures for a report.
    pub(crate) fn stats(&self) -> WaitStats {
        WaitStats {
            n: self.n,
            mean_s: if self.n == 0 {
                0.0
            } else {
                self.sum_ms as f64 / self.n as f64 / 1000.0
            },
            p50_s: self.quantile_s(500),
            p90_s: self.quantile_s(900),
            p99_s: self.quantile_s(990),
            max_s: self.max_ms as f64 / 1000.0,
        }
    }
}

fn bucket(ms: u64) -> u16 {
    let bucket = if ms < PER_DOUBLING {
        ms
    } else {
        let shift = u64::from(ms.ilog2() - PER_DOUBLING.ilog2());
        // The leading bits, 128 to 255, after the buckets of all smaller powers of two.
        (ms >> shift) + shift * PER_DOUBLING
    };
    u16::try_from(bucket).expect("63 doublings of 128 buckets fit 16 bits")
}

fn upper_edge(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < 2 * PER_DOUBLING {
        return bucket;
    }
    let shift = bucket / PER_DOUBLING - 1;
    ((bucket % PER_DOUBLING + PER_DOUBLING + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_hundred_seconds() {
        let mut histogram = Histogram::default();
        for second in 1..=100 {
            histogram.add(Span::from_secs(second));
        }
        let stats = histogram.stats();
        assert_eq!((stats.n, stats.mean_s, stats.max_s), (100, 50.5, 100.0));
        let close = |found: f64, exact: f64| (exact..=exact * (1.0 + 1.0 / 128.0)).contains(&found);
        assert!(close(stats.p50_s, 50.0), "{stats:?}");
        assert!(close(stats.p90_s, 90.0), "{stats:?}");
        assert!(close(stats.p99_s, 99.0), "{stats:?}");
        assert_eq!(Histogram::default().stats(), WaitStats::default());
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_within_one_part_in_128(ms in 0u64..=i64::MAX as u64) {
            let edge = upper_edge(bucket(ms));
            prop_assert!(edge >= ms);
            prop_assert!(edge - ms <= ms / 128);
            prop_assert!(ms == 0 || bucket(ms - 1) <= bucket(ms));
        }
    }
}
