//! Time as data: instants and spans in milliseconds.
//!
//! Invariant: nothing here can read a clock. Every `Time` was handed in by a feed; the same feed
//! gives the same times. Not here: calendars and time zones (those belong to views).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the feed's epoch (the Unix epoch live, the start of the trace in
/// a simulation).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(pub i64);

/// A length of time in milliseconds; may be negative.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(pub i64);

impl Time {
    /// The feed's epoch.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const MAX: Self = Self(i64::MAX);

    /// `seconds` after the epoch.
    #[must_use]
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// How long before `self` the instant `earlier` was; negative if it is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// `seconds` seconds.
    #[must_use]
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// `minutes` minutes.
    #[must_use]
    pub const fn from_mins(minutes: i64) -> Self {
        Self::from_secs(minutes.saturating_mul(60))
    }

    /// `hours` hours.
    #[must_use]
    pub const fn from_hours(hours: i64) -> Self {
        Self::from_mins(hours.saturating_mul(60))
    }

    /// `days` days of 24 hours.
    #[must_use]
    pub const fn from_days(days: i64) -> Self {
        Self::from_hours(days.saturating_mul(24))
    }

    /// Milliseconds.
    #[must_use]
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// Seconds as a float, for reports.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Span {
    /// The two largest units that matter: `3d 4h`, `2h 5m`, `7m 30s`, `12s`, `250ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ms = self.0.unsigned_abs();
        let seconds = ms / 1000;
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
        let two = |f: &mut fmt::Formatter<'_>, big: u64, unit: &str, small: u64, sub: &str| {
            if small == 0 {
                write!(f, "{sign}{big}{unit}")
            } else {
                write!(f, "{sign}{big}{unit} {small}{sub}")
            }
        };
        if days > 0 {
            two(f, days, "d", hours, "h")
        } else if hours > 0 {
            two(f, hours, "h", minutes, "m")
        } else if minutes > 0 {
            two(f, minutes, "m", seconds % 60, "s")
        } else if seconds > 0 {
            write!(f, "{sign}{seconds}s")
        } else if ms == 0 {
            f.write_str("0s")
        } else {
            write!(f, "{sign}{ms}ms")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_their_two_largest_units() {
        let check = |span: Span, expected: &str| assert_eq!(span.to_string(), expected);
        check(
            Span::from_days(3) + Span::from_hours(4) + Span::from_mins(59),
            "3d 4h",
        );
        check(Span::from_hours(2), "2h");
        check(Span::from_secs(450), "7m 30s");
        check(Span::from_secs(12), "12s");
        check(Span(250), "250ms");
        check(Span::ZERO, "0s");
        check(Span(-5000), "-5s");
    }

    #[test]
    fn time_saturates_at_the_end_of_the_world() {
        assert_eq!(Time::MAX + Span::from_days(1), Time::MAX);
        assert_eq!(Time::ZERO.since(Time(5)), Span(-5));
    }
}
