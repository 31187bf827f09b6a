//! Amounts of any resource, to the billionth.
//!
//! Invariant: sums and comparisons are exact in the whole range that Kubernetes allows (2^63 - 1
//! units), and saturate beyond it. Not here: reading `1Gi`, which is wire format.

use std::ops::{Add, Sub};

/// Billionths of one unit.
const SCALE: i128 = 1_000_000_000;

/// An exact amount, in billionths of a unit (bytes, cores, pieces).
///
/// Kubernetes adds the requests of a pod's containers exactly and rounds the sum up once, so the
/// sum of two halves is one and not two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Exact(i128);

impl Exact {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The most that one quantity can say.
    pub const MAX: Self = Self(i64::MAX as i128 * SCALE);

    /// `units` whole units.
    #[must_use]
    pub const fn from_units(units: i64) -> Self {
        Self(units as i128 * SCALE)
    }

    /// `nano` billionths of a unit.
    #[must_use]
    pub const fn from_nano(nano: i128) -> Self {
        Self(nano)
    }

    /// In billionths of a unit.
    #[must_use]
    pub const fn nano(self) -> i128 {
        self.0
    }

    /// Whole units, rounded away from zero, as Kubernetes' `Value` does; saturates at 64 bits.
    #[must_use]
    pub fn units(self) -> i64 {
        self.scaled_up(SCALE)
    }

    /// Thousandths, rounded away from zero, as Kubernetes' `MilliValue` does; saturates at 64 bits.
    #[must_use]
    pub fn milli(self) -> i64 {
        self.scaled_up(SCALE / 1000)
    }

    /// In units of `10^-digits`, rounded away from zero; saturates at 64 bits.
    ///
    /// # Panics
    /// If `digits` is above nine.
    #[must_use]
    pub fn decimals(self, digits: u32) -> i64 {
        assert!(digits <= 9, "amounts are exact to the billionth");
        self.scaled_up(SCALE / 10_i128.pow(digits))
    }

    /// `self` times `factor`.
    #[must_use]
    pub const fn times(self, factor: i64) -> Self {
        Self(self.0.saturating_mul(factor as i128))
    }

    /// Adds itself to `sum`.
    pub fn add_to(self, sum: &mut Self) {
        *sum = *sum + self;
    }

    /// Takes itself from `sum`.
    pub fn take_from(self, sum: &mut Self) {
        *sum = *sum - self;
    }

    fn scaled_up(self, scale: i128) -> i64 {
        let (whole, rest) = (self.0 / scale, self.0 % scale);
        let up = whole + rest.signum();
        i64::try_from(up).unwrap_or(if up < 0 { i64::MIN } else { i64::MAX })
    }
}

impl Add for Exact {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Exact {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_after_they_are_added() {
        let half = Exact::from_nano(500_000_000);
        assert_eq!((half + half).units(), 1);
        assert_eq!(half.units(), 1);
        assert_eq!(Exact::from_nano(1).milli(), 1);
        assert_eq!(Exact::from_nano(-1).units(), -1);
    }

    #[test]
    fn the_edge_of_the_range_saturates() {
        assert_eq!((Exact::MAX + Exact::MAX).units(), i64::MAX);
        assert_eq!(Exact::MAX.milli(), i64::MAX);
        assert_eq!(Exact::MAX.times(i64::MAX).units(), i64::MAX);
    }
}
