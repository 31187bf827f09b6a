//! Quantiles of spans of time, one row a policy: dots on a logarithmic axis.

use super::look;
use super::scale::{Axis, Kind};
use super::svg::{Anchor, Svg};
use crate::output::figure::span;

/// A chart of quantiles.
#[derive(Debug)]
pub(crate) struct Quantiles {
    /// What it shows, for those who can't see it.
    pub(crate) label: String,
    /// Names of the quantiles, rising.
    pub(crate) names: Vec<&'static str>,
    /// The rows, from the top.
    pub(crate) rows: Vec<Row>,
}

/// One row.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// Its look.
    pub(crate) slot: usize,
    /// Seconds, one figure a quantile, rising.
    pub(crate) seconds: Vec<f64>,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 730.0;
const TOP: f64 = 34.0;
const ROW: f64 = 34.0;
/// Nearer dots share one label, which names the higher quantile.
const LABEL_GAP: f64 = 30.0;

impl Quantiles {
    /// The chart as SVG.
    pub(crate) fn svg(&self) -> String {
        let bottom = TOP + ROW * self.rows.len() as f64;
        let seconds = || self.rows.iter().flat_map(|row| &row.seconds).copied();
        let range = (
            seconds().fold(f64::MAX, f64::min),
            seconds().fold(0.0, f64::max),
        );
        let x = Axis::new(Kind::LogSeconds, range, (LEFT, RIGHT));
        let mut svg = Svg::new(WIDTH, bottom + 46.0, &self.label);
        for tick in x.ticks() {
            let at = x.pixel(tick.at);
            svg.line("grid", (at, TOP - 6.0), (at, bottom));
            svg.label("tick", (at, bottom + 18.0), Anchor::Middle, &tick.label);
        }
        svg.label(
            "unit",
            (f64::midpoint(LEFT, RIGHT), bottom + 38.0),
            Anchor::Middle,
            "waited at most",
        );
        for (row, index) in self.rows.iter().zip(0u32..) {
            self.row(&mut svg, &x, row, TOP + ROW * (f64::from(index) + 0.5));
        }
        svg.finish()
    }

    fn row(&self, svg: &mut Svg, x: &Axis, row: &Row, y: f64) {
        let look = look(row.slot);
        svg.label(
            &format!("name {look}"),
            (LEFT - 12.0, y + 4.0),
            Anchor::End,
            &row.name,
        );
        let pixels: Vec<f64> = row
            .seconds
            .iter()
            .map(|&seconds| x.pixel(seconds))
            .collect();
        if let (Some(&first), Some(&last)) = (pixels.first(), pixels.last()) {
            svg.line(&format!("range {look}"), (first, y), (last, y));
        }
        let dots = pixels.iter().zip(&self.names).zip(&row.seconds);
        for (index, ((&at, name), &seconds)) in dots.enumerate() {
            let hint = format!("{}, {name}: {}", row.name, span(seconds));
            svg.dot(&format!("dot {look}"), (at, y), 5.0, &hint);
            let next = pixels.get(index + 1);
            if next.is_none_or(|next| next - at >= LABEL_GAP) {
                svg.label("tick", (at, y - 9.0), Anchor::Middle, name);
            }
        }
    }
}
