//! Fixed-point amounts: GPU compute, CPU time and bytes.
//!
//! Invariant: arithmetic saturates and never wraps, so a hostile request of `i64::MAX` stays
//! large instead of turning negative. Not here: parsing of Kubernetes quantities (that is wire
//! format) and any floating point.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            /// More than any device, node or cluster has; what an unlimited amount compares as.
            pub const MAX: Self = Self(i64::MAX);

            /// The bare number, in this amount's unit.
            #[must_use]
            pub const fn get(self) -> i64 {
                self.0
            }

            /// Whether the amount is exactly zero.
            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }

            /// `self - other`, but never below zero.
            #[must_use]
            pub const fn minus_or_zero(self, other: Self) -> Self {
                let left = self.0.saturating_sub(other.0);
                if left < 0 { Self(0) } else { Self(left) }
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Mul<i64> for $name {
            type Output = Self;
            fn mul(self, times: i64) -> Self {
                Self(self.0.saturating_mul(times))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                amounts.fold(Self::ZERO, |total, amount| total + amount)
            }
        }
    };
}

amount! {
    /// GPU compute in 1/10,000 of a physical GPU: `GpuUnits::ONE_GPU` is 10,000 units.
    ///
    /// One unit is a hundredth of a percent of a card, so the tenths of a percent that traces and
    /// device plugins speak of (`gpu_milli`, `gpucores`, `gpu-fraction`) convert without loss.
    GpuUnits
}

amount! {
    /// CPU time in thousandths of a core, as Kubernetes writes `250m`.
    MilliCpu
}

amount! {
    /// Memory in bytes (host memory or GPU memory; the field's name says which).
    Bytes
}

impl GpuUnits {
    /// The whole of one physical GPU.
    pub const ONE_GPU: Self = Self(10_000);

    /// `milli` thousandths of a GPU, the unit of the public Alibaba traces.
    #[must_use]
    pub const fn from_milli(milli: i64) -> Self {
        Self(milli.saturating_mul(10))
    }

    /// Thousandths of a GPU as a float: exact for every whole milli.
    ///
    /// Only for algorithms that are defined in floating point (the published FGD baseline) and for
    /// reports; nothing is decided on it elsewhere.
    #[must_use]
    pub fn milli_f64(self) -> f64 {
        // Amounts of GPUs stay far below 2^53 (9e15 units), where f64 is exact.
        self.0 as f64 / 10.0
    }

    /// GPUs as a float, for reports.
    #[must_use]
    pub fn gpus_f64(self) -> f64 {
        self.0 as f64 / Self::ONE_GPU.0 as f64
    }
}

impl MilliCpu {
    /// `cores` whole cores.
    #[must_use]
    pub const fn from_cores(cores: i64) -> Self {
        Self(cores.saturating_mul(1000))
    }
}

impl Bytes {
    /// One mebibyte.
    pub const MIB: Self = Self(1 << 20);
    /// One gibibyte.
    pub const GIB: Self = Self(1 << 30);

    /// `mib` mebibytes.
    #[must_use]
    pub const fn from_mib(mib: i64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    /// `gib` gibibytes.
    #[must_use]
    pub const fn from_gib(gib: i64) -> Self {
        Self(gib.saturating_mul(1 << 30))
    }
}

impl fmt::Display for GpuUnits {
    /// GPUs with as many decimals as needed: `1`, `0.5`, `0.0825`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, part) = (
            self.0.unsigned_abs() / 10_000,
            self.0.unsigned_abs() % 10_000,
        );
        if part == 0 {
            return write!(f, "{sign}{whole}");
        }
        let digits = format!("{part:04}");
        write!(f, "{sign}{whole}.{}", digits.trim_end_matches('0'))
    }
}

impl fmt::Display for MilliCpu {
    /// Cores where whole (`4`), else milli-cores as Kubernetes writes them (`250m`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 1000 == 0 {
            write!(f, "{}", self.0 / 1000)
        } else {
            write!(f, "{}m", self.0)
        }
    }
}

impl fmt::Display for Bytes {
    /// The largest binary unit that stays at or above one, with one decimal where needed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut unit = 0;
        let mut scale: i64 = 1;
        while unit + 1 < UNITS.len() && self.0.unsigned_abs() >= scale.unsigned_abs() * 1024 {
            unit += 1;
            scale *= 1024;
        }
        let tenths = self.0.saturating_mul(10) / scale;
        match tenths % 10 {
            0 => write!(f, "{} {}", tenths / 10, UNITS[unit]),
            rest => write!(f, "{}.{} {}", tenths / 10, rest.abs(), UNITS[unit]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_the_edge_of_the_range() {
        assert_eq!(GpuUnits::MAX + GpuUnits::ONE_GPU, GpuUnits::MAX);
        assert_eq!(Bytes(i64::MIN) - Bytes(1), Bytes(i64::MIN));
        assert_eq!(Bytes::from_mib(i64::MAX), Bytes::MAX);
        assert_eq!(MilliCpu(3).minus_or_zero(MilliCpu(5)), MilliCpu::ZERO);
    }

    #[test]
    fn amounts_print_as_people_write_them() {
        let check = |shown: String, expected: &str| assert_eq!(shown, expected);
        check(GpuUnits(10_000).to_string(), "1");
        check(GpuUnits(8_100).to_string(), "0.81");
        check(GpuUnits(-825).to_string(), "-0.0825");
        check(MilliCpu(4000).to_string(), "4");
        check(MilliCpu(250).to_string(), "250m");
        check(Bytes::from_gib(80).to_string(), "80 GiB");
        check(Bytes(1536).to_string(), "1.5 KiB");
        check(Bytes(0).to_string(), "0 B");
        check(Bytes::from_mib(2560).to_string(), "2.5 GiB");
    }

    #[test]
    fn milli_of_a_trace_is_exact() {
        for milli in 0..=1000 {
            assert_eq!(GpuUnits::from_milli(milli).milli_f64(), milli as f64);
        }
    }
}
