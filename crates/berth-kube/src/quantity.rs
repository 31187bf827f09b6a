//! Kubernetes quantities as text: `250m`, `1Gi`, `12e3`, `0.5`.
//!
//! Invariant: what is read is exact to the billionth, rounds finer amounts away from zero, and
//! saturates at 2^63 - 1 units; text that Kubernetes refuses is refused. Grammar and rounding are
//! those of `k8s.io/apimachinery/pkg/api/resource`. Not here: what a resource's unit is.

use berth_core::filter::facts::exact::Exact;

/// Why text is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("a quantity can't be empty")]
    Empty,
    #[error("a quantity is a number and a suffix such as m, k, Mi or e3")]
    Malformed,
    #[error("the suffix is none of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, e<number>")]
    Suffix,
}

/// Digits after the point of what is kept.
const NANO_DIGITS: i64 = 9;

/// Digits beyond which any amount saturates: 10^28 billionths are above 2^63 units.
const DIGITS_MAX: usize = 28;

/// Reads a quantity.
///
/// # Errors
/// If Kubernetes would refuse it too.
pub fn parse(text: &str) -> Result<Exact, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Empty);
    }
    let (is_negative, rest) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits_end = |from: &str| {
        let is_digit = |c: char| c.is_ascii_digit();
        from.find(|c| !is_digit(c)).unwrap_or(from.len())
    };
    let (whole, rest) = rest.split_at(digits_end(rest));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(rest) => rest.split_at(digits_end(rest)),
    };
    if whole.is_empty() && fraction.is_empty() && !rest.starts_with('.') && !suffix.is_empty() {
        return Err(QuantityError::Malformed);
    }
    let scale = scale_of(suffix)?;
    let nano = scale.apply(whole, fraction);
    Ok(Exact::from_nano(if is_negative { -nano } else { nano }))
}

/// What a suffix multiplies by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scale {
    /// Ten to this power.
    Decimal(i64),
    /// Two to this power.
    Binary(u32),
}

fn scale_of(suffix: &str) -> Result<Scale, QuantityError> {
    Ok(match suffix {
        "n" => Scale::Decimal(-9),
        "u" => Scale::Decimal(-6),
        "m" => Scale::Decimal(-3),
        "" => Scale::Decimal(0),
        "k" => Scale::Decimal(3),
        "M" => Scale::Decimal(6),
        "G" => Scale::Decimal(9),
        "T" => Scale::Decimal(12),
        "P" => Scale::Decimal(15),
        "E" => Scale::Decimal(18),
        "Ki" => Scale::Binary(10),
        "Mi" => Scale::Binary(20),
        "Gi" => Scale::Binary(30),
        "Ti" => Scale::Binary(40),
        "Pi" => Scale::Binary(50),
        "Ei" => Scale::Binary(60),
        other => {
            let power = other
                .strip_prefix(['e', 'E'])
                .ok_or(QuantityError::Suffix)?;
            Scale::Decimal(
                power
                    .parse::<i32>()
                    .map_err(|_| QuantityError::Suffix)?
                    .into(),
            )
        }
    })
}

impl Scale {
    /// The amount in billionths, rounded up and capped.
    fn apply(self, whole: &str, fraction: &str) -> i128 {
        let digits = || {
            whole
                .bytes()
                .chain(fraction.bytes())
                .map(|digit| digit - b'0')
        };
        let point = i64::try_from(whole.len()).unwrap_or(i64::MAX);
        match self {
            Self::Decimal(power) => billionths(digits(), point.saturating_add(power)),
            Self::Binary(power) => {
                // Keeping a few digits more than asked for makes the rounding after the
                // multiplication exact, since no power of two here is above 2^60.
                let fine = 9 + 18;
                let whole_part = billionths(digits().take(whole.len()), point);
                let tail = scaled(fraction.bytes().map(|digit| digit - b'0'), 0, fine);
                let unit = 10_i128.pow(18);
                let factor = 1_i128 << power;
                let part = tail.value.saturating_mul(factor);
                let up = i128::from(part % unit != 0 || tail.is_cut);
                capped(
                    whole_part
                        .saturating_mul(factor)
                        .saturating_add(part / unit + up),
                )
            }
        }
    }
}

/// A number read from digits.
struct Scaled {
    value: i128,
    /// Whether digits that are not zero were left out.
    is_cut: bool,
}

/// The digits with the point after the first `point` of them, in billionths, rounded up.
fn billionths(digits: impl Iterator<Item = u8>, point: i64) -> i128 {
    let read = scaled(digits, point, NANO_DIGITS);
    capped(read.value.saturating_add(i128::from(read.is_cut)))
}

/// The digits with the point after the first `point` of them, times ten to the power of `keep`.
fn scaled(digits: impl Iterator<Item = u8>, point: i64, keep: i64) -> Scaled {
    let places = point.saturating_add(keep);
    let (mut value, mut is_cut, mut position) = (0_i128, false, 0_i64);
    for digit in digits {
        if position < places {
            value = value.saturating_mul(10).saturating_add(i128::from(digit));
        } else {
            is_cut |= digit != 0;
        }
        position = position.saturating_add(1);
    }
    let missing = places.saturating_sub(position);
    if value != 0 && missing > 0 {
        let zeros = usize::try_from(missing).unwrap_or(usize::MAX);
        for _ in 0..zeros.min(DIGITS_MAX + 10) {
            value = value.saturating_mul(10);
        }
    }
    Scaled { value, is_cut }
}

fn capped(nano: i128) -> i128 {
    nano.min(Exact::MAX.nano())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_read_as_in_kubernetes() {
        let check = |text: &str, nano: i128| {
            assert_eq!(parse(text), Ok(Exact::from_nano(nano)), "{text}");
        };
        let unit = 1_000_000_000;
        check("0", 0);
        check("+5", 5 * unit);
        check("-5", -5 * unit);
        check("1.", unit);
        check(".5", unit / 2);
        check("007", 7 * unit);
        check("250m", unit / 4);
        check("1n", 1);
        check("0.1n", 1);
        check("100u", 100_000);
        check("12e3", 12_000 * unit);
        check("12E-3", 12_000_000);
        check("1E", unit * 1_000_000_000_000_000_000);
        check("1Ki", 1024 * unit);
        check("0.5Gi", (1 << 29) * unit);
        check("1.5Ki", 1536 * unit);
        check("0.0000000001Ki", 103);
        check("9223372036854775807", Exact::MAX.nano());
        check("9223372036854775808", Exact::MAX.nano());
        check("1e500", Exact::MAX.nano());
        check("1e-500", 1);
        check("16Ei", Exact::MAX.nano());
    }

    #[test]
    fn what_kubernetes_refuses_is_refused() {
        for text in [
            "", "abc", "1 Gi", "20gi", "1e", "1ee3", "1.2.3", "m", "--1", "1Kii", "0x10",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_read_panics(text in "[-+]?[0-9.]{0,40}([eE][-+]?[0-9]{0,12}|[a-zA-Z]{0,3})") {
            let _ = parse(&text);
        }

        #[test]
        fn whole_numbers_of_any_scale_are_exact(number in 0_i64..9_000_000, power in 0_u32..4) {
            let suffix = ["", "Ki", "Mi", "Gi"][power as usize];
            let expected = Exact::from_units(number << (10 * power));
            prop_assert_eq!(parse(&format!("{number}{suffix}")), Ok(expected));
        }

        #[test]
        fn fractions_agree_with_whole_thousandths(milli in 0_i64..9_000_000) {
            let text = format!("{}.{:03}", milli / 1000, milli % 1000);
            prop_assert_eq!(parse(&text), parse(&format!("{milli}m")));
        }
    }
}
