//! Kubernetes quantities: `250m`, `1Gi`, `12e3`, `0.5`.
//!
//! Invariant: a quantity holds thousandths (up to 9.2e15 units), saturates, and rounds up as Kubernetes does.
//! Not here: what a resource's unit is; the reader of a field knows.

use std::fmt;

use berth_core::amount::{Bytes, MilliCpu};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// A quantity in thousandths of its unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i64);

impl Quantity {
    /// `units` whole units.
    #[must_use]
    pub const fn from_units(units: i64) -> Self {
        Self(units.saturating_mul(1000))
    }

    /// `milli` thousandths of a unit.
    #[must_use]
    pub const fn from_milli(milli: i64) -> Self {
        Self(milli)
    }

    /// Reads a quantity; `None` where it is none (`20gi`, `1 GB`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (scale, exponent) = scale_of(suffix)?;
        let (negative, number) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let milli = Decimal {
            whole,
            fraction,
            exponent,
        }
        .times(scale)?;
        Some(Self(clamp(if negative { -milli } else { milli })))
    }

    /// Whole units, rounded up: the count of GPUs, pods, or bytes.
    #[must_use]
    pub fn units(self) -> i64 {
        self.0.div_euclid(1000) + i64::from(self.0.rem_euclid(1000) > 0)
    }

    /// Thousandths of a unit.
    #[must_use]
    pub fn milli(self) -> i64 {
        self.0
    }

    /// The quantity as CPU time.
    #[must_use]
    pub fn cpu(self) -> MilliCpu {
        MilliCpu(self.milli())
    }

    /// The quantity as bytes.
    #[must_use]
    pub fn bytes(self) -> Bytes {
        Bytes(self.units())
    }
}

/// Decimal digits and a power of ten.
struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
    exponent: i32,
}

/// Digits beyond this are cut: a quantity with more is noise or an attack.
const DIGITS_MAX: usize = 18;

impl Decimal<'_> {
    /// Thousandths of the number times `scale`, rounded up.
    fn times(&self, scale: i128) -> Option<i128> {
        let fraction = &self.fraction[..self.fraction.len().min(DIGITS_MAX - 9)];
        let digits = format!("{}{fraction}", self.whole);
        if digits.len() > 2 * DIGITS_MAX {
            return None;
        }
        let mantissa: i128 = digits.parse().ok()?;
        let power = self.exponent.saturating_add(3) - i32::try_from(fraction.len()).ok()?;
        let scaled = mantissa.saturating_mul(scale);
        let factor = 10_i128.checked_pow(power.unsigned_abs())?;
        Some(if power >= 0 {
            scaled.saturating_mul(factor)
        } else {
            scaled.div_euclid(factor) + i128::from(scaled.rem_euclid(factor) > 0)
        })
    }
}

/// Multiplier and power of ten of a suffix.
fn scale_of(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
            (1, Some(exponent).filter(|exponent| exponent.abs() <= 20)?)
        }
    })
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

impl fmt::Display for Quantity {
    /// Whole units where exact, else thousandths with `m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 1000 == 0 {
            write!(f, "{}", self.0 / 1000)
        } else {
            write!(f, "{}m", self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
                Quantity::parse(text).ok_or_else(|| E::custom(format!("`{text}` is no quantity")))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Quantity, E> {
                Ok(Quantity::from_units(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Quantity, E> {
                Ok(Quantity(clamp(i128::from(value) * 1000)))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Quantity, E> {
                Quantity::parse(&value.to_string()).ok_or_else(|| E::custom("not a quantity"))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_kubernetes_reads_them() {
        let check = |text: &str, milli: i64| {
            assert_eq!(
                Quantity::parse(text).map(Quantity::milli),
                Some(milli),
                "{text}"
            );
        };
        check("1", 1000);
        check("250m", 250);
        check("0.5", 500);
        check(".5", 500);
        check("1.5Gi", 1_610_612_736_000);
        check("12e3", 12_000_000);
        check("1E3", 1_000_000);
        check("100n", 1);
        check("-2", -2000);
        for wrong in [
            "", "20gi", "1 GB", "m", "1.2.3", "one", "1e", "0x10", "1e999",
        ] {
            assert_eq!(Quantity::parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            Quantity::parse("9999E").map(Quantity::milli),
            Some(i64::MAX)
        );
    }
}
