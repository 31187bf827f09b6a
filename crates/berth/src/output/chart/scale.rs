//! Axes: from figures to pixels, with ticks at round figures.

use std::fmt::Write as _;

/// What an axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Plain figures.
    Linear,
    /// Hours since the beginning, with ticks at whole hours and days.
    Hours,
    /// Seconds by their logarithm, from one second on.
    LogSeconds,
}

/// An axis of a chart.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    kind: Kind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    ticks: Vec<Tick>,
}

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// Where.
    pub(crate) at: f64,
    /// What stands there.
    pub(crate) label: String,
}

/// Round spans on a logarithmic axis, in seconds.
const SPANS: [(f64, &str); 13] = [
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (3600.0, "1 h"),
    (21_600.0, "6 h"),
    (86_400.0, "1 d"),
    (345_600.0, "4 d"),
    (1_209_600.0, "2 w"),
    (5_184_000.0, "60 d"),
    (31_536_000.0, "1 y"),
    (157_680_000.0, "5 y"),
    (1_576_800_000.0, "50 y"),
];
/// Steps of an axis in hours.
const HOUR_STEPS: [f64; 14] = [
    0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 48.0, 96.0, 168.0, 336.0, 672.0, 2016.0,
];
/// Ticks that an axis has room for.
const TICKS_MAX: f64 = 8.0;

impl Axis {
    /// An axis from `low` to `high`, drawn between the pixels `from` and `to`. A logarithmic or
    /// upright axis grows to its next tick; the others end where the figures end.
    pub(crate) fn new(kind: Kind, (low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let (low, high, ticks) = match kind {
            Kind::Linear => linear(low, high),
            Kind::Hours => hours(low, high),
            Kind::LogSeconds => log_seconds(low, high),
        };
        Self {
            kind,
            low,
            high,
            from,
            to,
            ticks,
        }
    }

    /// The pixel of a figure; figures outside are drawn at the edge.
    pub(crate) fn pixel(&self, value: f64) -> f64 {
        let (low, high, value) = match self.kind {
            Kind::Linear | Kind::Hours => (self.low, self.high, value),
            Kind::LogSeconds => (self.low.ln(), self.high.ln(), value.max(self.low).ln()),
        };
        self.from + (self.to - self.from) * ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// The marks.
    pub(crate) fn ticks(&self) -> &[Tick] {
        &self.ticks
    }
}

fn linear(low: f64, high: f64) -> (f64, f64, Vec<Tick>) {
    let step = nice_step((high - low) / TICKS_MAX);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let ticks = multiples(low, high, step).map(|at| Tick {
        at,
        label: fixed(at, decimals),
    });
    (low, high, ticks.collect())
}

fn hours(low: f64, high: f64) -> (f64, f64, Vec<Tick>) {
    let rough = (high - low) / TICKS_MAX;
    let step = HOUR_STEPS
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or_else(|| {
            // Beyond years: any round number of days.
            nice_step(rough / 24.0) * 24.0
        });
    let label = |at: f64| {
        if step >= 24.0 {
            format!("{} d", fixed(at / 24.0, 0))
        } else {
            format!(
                "{} h",
                fixed(
                    at,
                    if step < 0.5 {
                        2
                    } else {
                        usize::from(step < 1.0)
                    }
                )
            )
        }
    };
    (
        low,
        high,
        multiples(low, high, step)
            .map(|at| Tick {
                at,
                label: label(at),
            })
            .collect(),
    )
}

fn log_seconds(low: f64, high: f64) -> (f64, f64, Vec<Tick>) {
    let last = SPANS.iter().position(|(span, _)| *span >= high);
    let last = last.unwrap_or(SPANS.len() - 1).max(2);
    let first = SPANS.iter().rposition(|(span, _)| *span <= low);
    let first = first.unwrap_or(0).min(last - 2);
    let ticks = SPANS[first..=last].iter();
    let ticks = ticks.map(|&(at, label)| Tick {
        at,
        label: label.to_owned(),
    });
    (SPANS[first].0, SPANS[last].0, ticks.collect())
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= rough);
    factor.unwrap_or(10.0) * power
}

fn multiples(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    // A hair of tolerance, so that 0.3 = 3 * 0.1 is not lost to rounding.
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(move |n| n as f64 * step)
}

fn fixed(value: f64, decimals: usize) -> String {
    let mut text = String::new();
    write!(text, "{value:.decimals$}").expect("a string takes all text");
    text
}

/// A highest figure with some air above it, at a round step.
pub(crate) fn round_up(high: f64) -> f64 {
    if high <= 0.0 {
        return 1.0;
    }
    let step = nice_step(high / TICKS_MAX);
    (high / step - 1e-9).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(kind: Kind, low: f64, high: f64) -> Vec<String> {
        let axis = Axis::new(kind, (low, high), (0.0, 100.0));
        axis.ticks().iter().map(|tick| tick.label.clone()).collect()
    }

    #[test]
    fn ticks_are_round() {
        let check = |kind, low, high, expected: &[&str]| {
            assert_eq!(labels(kind, low, high), expected, "{kind:?} {low}..{high}");
        };
        check(
            Kind::Linear,
            0.0,
            130.0,
            &["0", "20", "40", "60", "80", "100", "120"],
        );
        check(
            Kind::Linear,
            0.0,
            0.8,
            &[
                "0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8",
            ],
        );
        check(
            Kind::Hours,
            0.0,
            24.0,
            &[
                "0 h", "3 h", "6 h", "9 h", "12 h", "15 h", "18 h", "21 h", "24 h",
            ],
        );
        check(
            Kind::Hours,
            0.0,
            168.0,
            &["0 d", "1 d", "2 d", "3 d", "4 d", "5 d", "6 d", "7 d"],
        );
        check(
            Kind::LogSeconds,
            0.0,
            500.0,
            &["1 s", "10 s", "1 min", "10 min"],
        );
    }

    #[test]
    fn waits_of_hours_are_not_squeezed_to_one_side() {
        assert_eq!(
            labels(Kind::LogSeconds, 700.0, 30_000.0),
            ["10 min", "1 h", "6 h", "1 d"]
        );
        assert_eq!(
            labels(Kind::LogSeconds, 700.0, 700.0),
            ["1 min", "10 min", "1 h"]
        );
    }

    #[test]
    fn figures_outside_are_drawn_at_the_edge() {
        let axis = Axis::new(Kind::Linear, (0.0, 10.0), (100.0, 0.0));
        assert_eq!(axis.pixel(5.0), 50.0);
        assert_eq!(axis.pixel(11.0), 0.0);
        let waits = Axis::new(Kind::LogSeconds, (0.0, 100.0), (0.0, 100.0));
        assert_eq!(waits.pixel(0.0), 0.0);
        assert_eq!(waits.pixel(600.0), 100.0);
    }

    #[test]
    fn an_axis_without_extent_still_has_ticks() {
        for kind in [Kind::Linear, Kind::Hours, Kind::LogSeconds] {
            let axis = Axis::new(kind, (0.0, 0.0), (0.0, 100.0));
            assert!(axis.ticks().len() > 1, "{kind:?}");
            assert!(axis.pixel(0.0).is_finite(), "{kind:?}");
        }
    }

    #[test]
    fn highest_figures_get_air() {
        for (high, expected) in [(0.0, 1.0), (9.3, 10.0), (95.2, 100.0), (12.0, 12.0)] {
            assert_eq!(round_up(high), expected);
        }
    }
}
