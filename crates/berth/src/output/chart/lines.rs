//! Lines over a common axis, each with its name at its end and, on request, a band around it.

use super::scale::{Axis, Kind};
use super::svg::{Anchor, Svg};
use super::{apart, look};
use crate::runs::spread;

/// A chart of lines.
#[derive(Debug)]
pub(crate) struct Lines {
    /// What it shows, for those who can't see it.
    pub(crate) label: String,
    /// The horizontal axis.
    pub(crate) x: Extent,
    /// The upright axis.
    pub(crate) y: Extent,
    /// The lines.
    pub(crate) series: Vec<Series>,
}

/// What an axis shows.
#[derive(Debug)]
pub(crate) struct Extent {
    /// Its name, with the unit.
    pub(crate) name: &'static str,
    /// What it counts.
    pub(crate) kind: Kind,
    /// From where.
    pub(crate) low: f64,
    /// To where.
    pub(crate) high: f64,
}

/// One line.
#[derive(Debug)]
pub(crate) struct Series {
    /// Its name.
    pub(crate) name: String,
    /// Its look; lines of the same thing have the same one in all charts of a page.
    pub(crate) slot: usize,
    /// Points, rising by x.
    pub(crate) line: Vec<(f64, f64)>,
    /// Lower and upper edge around it, at rising x; empty for none.
    pub(crate) band: Vec<(f64, f64, f64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 290.0;
/// Distance of two names, from baseline to baseline.
const NAME_GAP: f64 = 16.0;
/// Room for a leader between a line's end and its name.
const LEADER: f64 = 14.0;

impl Series {
    /// The median of several seeds' curves at `points`, within a band of the middle half.
    pub(crate) fn of_seeds(
        name: String,
        slot: usize,
        curves: &[Vec<(f64, f64)>],
        points: &[f64],
    ) -> Self {
        let quartiles = spread::quartiles(curves, points);
        let line = quartiles.iter().map(|q| (q.x, q.median)).collect();
        let band = match curves.len() {
            0 | 1 => Vec::new(),
            _ => quartiles.iter().map(|q| (q.x, q.low, q.high)).collect(),
        };
        Self {
            name,
            slot,
            line,
            band,
        }
    }

    /// The line alone.
    #[must_use]
    pub(crate) fn without_band(self) -> Self {
        Self {
            band: Vec::new(),
            ..self
        }
    }
}

impl Lines {
    /// The chart as SVG.
    pub(crate) fn svg(&self) -> String {
        let x = Axis::new(self.x.kind, (self.x.low, self.x.high), (LEFT, RIGHT));
        let y = Axis::new(self.y.kind, (self.y.low, self.y.high), (BOTTOM, TOP));
        let mut svg = Svg::new(WIDTH, HEIGHT, &self.label);
        frame(&mut svg, &x, &y, (self.x.name, self.y.name));
        for series in &self.series {
            let edge = |of: fn(&(f64, f64, f64)) -> f64| {
                series.band.iter().map(move |point| (point.0, of(point)))
            };
            let outline: Vec<(f64, f64)> = edge(|point| point.2)
                .chain(edge(|point| point.1).rev())
                .collect();
            let outline = self.inside(&x, &y, &outline);
            if !outline.is_empty() {
                svg.area(&format!("band {}", look(series.slot)), &outline);
            }
        }
        for series in &self.series {
            let points = self.inside(&x, &y, &series.line);
            svg.polyline(&format!("series {}", look(series.slot)), &points);
        }
        self.names(&mut svg, &x, &y);
        svg.finish()
    }

    /// The pixels of the points within the horizontal axis.
    fn inside(&self, x: &Axis, y: &Axis, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let seen = points
            .iter()
            .filter(|point| (self.x.low..=self.x.high).contains(&point.0));
        seen.map(|&(at, value)| (x.pixel(at), y.pixel(value)))
            .collect()
    }

    /// Each line's name beside its end, pushed apart where ends are near one another.
    fn names(&self, svg: &mut Svg, x: &Axis, y: &Axis) {
        let end = |series: &Series| self.inside(x, y, &series.line).last().copied();
        let mut ends: Vec<((f64, f64), &Series)> = self
            .series
            .iter()
            .filter_map(|series| Some((end(series)?, series)))
            .collect();
        ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
        let wanted: Vec<f64> = ends.iter().map(|(end, _)| end.1).collect();
        let placed = apart(&wanted, NAME_GAP, TOP, BOTTOM);
        for ((end, series), at) in ends.into_iter().zip(placed) {
            let look = look(series.slot);
            svg.line(
                &format!("leader {look}"),
                (RIGHT + 2.0, end.1),
                (RIGHT + LEADER, at),
            );
            let point = (RIGHT + LEADER + 3.0, at + 4.0);
            svg.label(
                &format!("name {look}"),
                point,
                Anchor::Start,
                &shortened(&series.name),
            );
        }
    }
}

/// Grid, ticks and the names of the axes.
fn frame(svg: &mut Svg, x: &Axis, y: &Axis, (x_name, y_name): (&str, &str)) {
    for tick in y.ticks() {
        let at = y.pixel(tick.at);
        svg.line("grid", (LEFT, at), (RIGHT, at));
        svg.label("tick", (LEFT - 7.0, at + 4.0), Anchor::End, &tick.label);
    }
    for tick in x.ticks() {
        let at = x.pixel(tick.at);
        svg.line("axis", (at, BOTTOM), (at, BOTTOM + 5.0));
        svg.label("tick", (at, BOTTOM + 19.0), Anchor::Middle, &tick.label);
    }
    svg.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    svg.label(
        "unit",
        (f64::midpoint(LEFT, RIGHT), HEIGHT - 8.0),
        Anchor::Middle,
        x_name,
    );
    svg.label("unit", (4.0, 14.0), Anchor::Start, y_name);
}

/// Names that would leave the picture lose their end.
fn shortened(name: &str) -> String {
    const CHARACTERS_MAX: usize = 15;
    if name.chars().count() <= CHARACTERS_MAX {
        return name.to_owned();
    }
    name.chars()
        .take(CHARACTERS_MAX - 1)
        .chain(['\u{2026}'])
        .collect()
}
