//! Usage that fades: what a queue has held over time, older use counting less.
//!
//! The measure is Slurm's and Kueue's: every GPU-second counts half as much once a half-life has
//! passed. For a queue that holds `r` over a time `d` with half-life `H`,
//! `u' = u * 2^(-d/H) + r * H/ln 2 * (1 - 2^(-d/H))`, which is exact however the time is cut up, so
//! that sampling can't be gamed. Invariant: the value is an integer; computing in floating point
//! between two integers makes it the same on every machine. Not here: whose turn that makes it.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// After how long use counts half, unless the site says otherwise: Slurm's default.
pub const DEFAULT_HALF_LIFE: Span = Span::from_days(7);

/// Faded use up to an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// In 1/10,000 of a physical GPU times milliseconds.
    pub unit_ms: i64,
    /// Up to when it reaches.
    pub at: Time,
}

impl Usage {
    /// The use up to `now` if `held` (in 1/10,000 of a GPU) has been held since the last reckoning.
    /// A clock that has stepped back changes nothing.
    #[must_use]
    pub fn up_to(self, now: Time, held: i64, half_life: Span) -> Self {
        let passed = now.since(self.at).0;
        if passed <= 0 {
            return self;
        }
        if self.unit_ms == 0 && held == 0 {
            return Self {
                unit_ms: 0,
                at: now,
            };
        }
        let half_life = half_life.0.max(1) as f64;
        let faded = faded(passed as f64 / half_life * std::f64::consts::LN_2);
        let kept = self.unit_ms as f64 * (1.0 - faded);
        let added = held as f64 * (half_life / std::f64::consts::LN_2) * faded;
        // A float beyond the range becomes the end of the range.
        let unit_ms = libm::round(kept + added) as i64;
        Self { unit_ms, at: now }
    }

    /// GPU-hours, for reports.
    #[must_use]
    pub fn gpu_hours(self) -> f64 {
        self.unit_ms as f64 / (10_000.0 * 3_600_000.0)
    }
}

/// `1 - exp(-x)`. Most steps are short beside a half-life; there, three terms of the series are exact
/// to the last digits and cost a tenth.
fn faded(x: f64) -> f64 {
    if x < 1e-4 {
        x * (1.0 - x * (0.5 - x / 6.0))
    } else {
        -libm::expm1(-x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_LIFE: Span = Span::from_days(7);

    #[test]
    fn use_counts_half_after_a_half_life() {
        let hour = Usage::default().up_to(Time::from_secs(3600), 10_000, HALF_LIFE);
        assert!((hour.gpu_hours() - 1.0).abs() < 0.003);
        let later = hour.up_to(Time::from_secs(3600) + HALF_LIFE, 0, HALF_LIFE);
        assert_eq!(later.unit_ms, (hour.unit_ms + 1) / 2);
    }

    #[test]
    fn steady_use_tends_to_its_rate_times_the_mean_age() {
        let long = Usage::default().up_to(Time::from_secs(86_400 * 365), 10_000, HALF_LIFE);
        let mean_age_h = 7.0 * 24.0 / std::f64::consts::LN_2;
        assert!((long.gpu_hours() - mean_age_h).abs() < 1e-3);
    }

    #[test]
    fn cutting_time_up_changes_nothing_that_matters() {
        let whole = Usage::default().up_to(Time::from_secs(100_000), 12_345, HALF_LIFE);
        let mut parts = Usage::default();
        for at in 1..=100 {
            parts = parts.up_to(Time::from_secs(at * 1000), 12_345, HALF_LIFE);
        }
        assert!((whole.unit_ms - parts.unit_ms).abs() <= 100);
    }

    #[test]
    fn the_short_way_agrees_with_the_long_one() {
        for x in [0.0, 1e-12, 1e-8, 3e-6, 9.9e-5] {
            assert!((faded(x) + libm::expm1(-x)).abs() <= 1e-13 * x);
        }
    }

    #[test]
    fn edges_saturate_and_a_clock_that_steps_back_is_ignored() {
        let most = Usage {
            unit_ms: i64::MAX,
            at: Time::ZERO,
        };
        assert_eq!(most.up_to(Time(-5), 1, HALF_LIFE), most);
        let on = most.up_to(Time(1), i64::MAX, Span(0));
        assert!(on.unit_ms >= 0 && on.at == Time(1));
        assert_eq!(Usage::default().up_to(Time::MAX, 0, HALF_LIFE).unit_ms, 0);
    }
}
