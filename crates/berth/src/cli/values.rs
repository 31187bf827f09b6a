//! Values of flags that clap doesn't know by itself.
//!
//! Every parser returns what is wrong as one line; clap adds the flag and the exit code.

use std::time::Duration;

/// The most seeds that one command runs.
pub(crate) const SEEDS_MAX: u64 = 10_000;

/// Seeds, first to last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seeds {
    /// The first.
    pub(crate) first: u64,
    /// The last.
    pub(crate) last: u64,
}

impl Seeds {
    /// Each seed, rising.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> {
        self.first..=self.last
    }
}

/// A part of a list of work: every n-th piece from the i-th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Which part, from 1.
    pub(crate) index: usize,
    /// How many parts there are.
    pub(crate) count: usize,
}

impl Shard {
    /// All of it.
    pub(crate) const WHOLE: Self = Self { index: 1, count: 1 };

    /// The pieces of `list` that are in this part.
    pub(crate) fn of<T>(self, list: &[T]) -> impl Iterator<Item = &T> {
        list.iter().skip(self.index - 1).step_by(self.count)
    }
}

/// `2/4`: the second of four parts.
pub(crate) fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || format!("`{text}` is no part: try 1/4 to 4/4");
    let (index, count) = text.split_once('/').ok_or_else(wrong)?;
    let number = |part: &str| part.parse::<usize>().map_err(|_| wrong());
    match (number(index)?, number(count)?) {
        (index, count) if (1..=count).contains(&index) => Ok(Shard { index, count }),
        _ => Err(wrong()),
    }
}

/// `42..51`, `42..=51` or `42`; both ends are included.
pub(crate) fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |part: &str| {
        part.parse::<u64>()
            .map_err(|_| format!("`{part}` is no seed: give a whole number from 0"))
    };
    let (first, last) = match text.split_once("..") {
        None => (number(text)?, number(text)?),
        Some((first, last)) => (number(first)?, number(last.trim_start_matches('='))?),
    };
    if first > last {
        return Err(format!(
            "the range ends before it begins: try {last}..{first}"
        ));
    }
    if last - first >= SEEDS_MAX {
        return Err(format!(
            "that is more than {SEEDS_MAX} seeds: split the range"
        ));
    }
    Ok(Seeds { first, last })
}

/// A length of real time: `500ms`, `60s`, `5m`, `2h`, `1d`; more than nothing.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration: try 500ms, 60s, 5m or 2h");
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    match number.checked_mul(unit_ms) {
        Some(ms @ 1..) => Ok(Duration::from_millis(ms)),
        _ => Err(wrong()),
    }
}

/// How a recorded trace is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// By its own times.
    Recorded,
    /// So that it asks for this part of the cluster, in percent.
    Percent(u32),
}

/// `recorded`, or a percentage from 1 to 1000.
pub(crate) fn pace(text: &str) -> Result<Pace, String> {
    match (text, text.parse()) {
        ("recorded", _) => Ok(Pace::Recorded),
        (_, Ok(percent @ 1..=1000)) => Ok(Pace::Percent(percent)),
        _ => Err("give a percentage from 1 to 1000, or `recorded`".to_owned()),
    }
}

/// A factor above zero, for speeds.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("give a number above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_ranges_include_both_ends() {
        let check = |text: &str, first, last| assert_eq!(seeds(text), Ok(Seeds { first, last }));
        check("42..51", 42, 51);
        check("42..=51", 42, 51);
        check("7", 7, 7);
        assert_eq!(
            Seeds {
                first: 42,
                last: 51
            }
            .iter()
            .count(),
            10
        );
        for wrong in ["", "x", "-1", "5..4", "1..", "..3", "0..99999"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shards_share_a_list_out() {
        let list: Vec<u32> = (0..10).collect();
        let mut all: Vec<u32> = Vec::new();
        for part in ["1/3", "2/3", "3/3"] {
            all.extend(shard(part).unwrap().of(&list));
        }
        all.sort_unstable();
        assert_eq!(all, list);
        assert_eq!(Shard::WHOLE.of(&list).count(), 10);
        for wrong in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3"] {
            assert!(shard(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_carry_a_unit() {
        let check = |text: &str, ms| assert_eq!(duration(text), Ok(Duration::from_millis(ms)));
        check("500ms", 500);
        check("60s", 60_000);
        check("5m", 300_000);
        check("2h", 7_200_000);
        for wrong in [
            "",
            "60",
            "s",
            "0s",
            "-5s",
            "5 m",
            "99999999999999999999d",
            "1.5h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_pace_is_a_percentage_or_as_recorded() {
        assert_eq!(pace("recorded"), Ok(Pace::Recorded));
        assert_eq!(pace("95"), Ok(Pace::Percent(95)));
        for wrong in ["", "0", "-5", "1001", "9.5", "Recorded"] {
            assert!(pace(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn speeds_are_above_zero() {
        assert_eq!(positive("60"), Ok(60.0));
        for wrong in ["0", "-1", "inf", "NaN", "fast"] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
    }
}
