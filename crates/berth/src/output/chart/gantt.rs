//! Who held which GPU when: a lane a GPU, a box a pod, its height the share of the GPU.

use berth_sim::report::{GanttSpan, Lane};

use super::scale::{Axis, Kind};
use super::svg::{Anchor, Svg};

/// A chart of lanes.
#[derive(Debug)]
pub(crate) struct Gantt<'a> {
    /// What it shows, for those who can't see it.
    pub(crate) label: String,
    /// The lanes, from the top.
    pub(crate) lanes: &'a [Lane],
    /// End of the time axis, in hours.
    pub(crate) hours: f64,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 745.0;
const TOP: f64 = 8.0;
/// Height of a GPU, and of the gap below it.
const LANE: f64 = 13.0;
const GAP: f64 = 2.0;
/// Further gap between two nodes.
const NODE_GAP: f64 = 6.0;
/// Tones that tell neighbouring pods apart.
const TONES: usize = 4;
/// Shares closer than this are equal: a share has four decimals.
const HAIR: f64 = 1e-6;

impl Gantt<'_> {
    /// The chart as SVG.
    pub(crate) fn svg(&self) -> String {
        let tops = self.tops();
        let bottom = tops.last().map_or(TOP, |top| top + LANE + GAP);
        let x = Axis::new(Kind::Hours, (0.0, self.hours), (LEFT, RIGHT));
        let mut svg = Svg::new(WIDTH, bottom + 28.0, &self.label);
        for tick in x.ticks() {
            let at = x.pixel(tick.at);
            svg.line("grid", (at, TOP), (at, bottom));
            svg.label("tick", (at, bottom + 18.0), Anchor::Middle, &tick.label);
        }
        for (index, (lane, &top)) in self.lanes.iter().zip(&tops).enumerate() {
            let opens_node = index == 0 || self.lanes[index - 1].node != lane.node;
            if opens_node {
                svg.label(
                    "tick",
                    (LEFT - 30.0, top + LANE - 3.0),
                    Anchor::End,
                    &lane.node,
                );
            }
            let gpu = lane.gpu.to_string();
            svg.label(
                "tick faint",
                (LEFT - 8.0, top + LANE - 3.0),
                Anchor::End,
                &gpu,
            );
            svg.rect("lane", (LEFT, top), (RIGHT - LEFT, LANE), "");
            draw(&mut svg, &x, lane, top);
        }
        svg.finish()
    }

    fn tops(&self) -> Vec<f64> {
        let mut next = TOP;
        let mut tops = Vec::with_capacity(self.lanes.len());
        for (index, lane) in self.lanes.iter().enumerate() {
            if index > 0 && self.lanes[index - 1].node != lane.node {
                next += NODE_GAP;
            }
            tops.push(next);
            next += LANE + GAP;
        }
        tops
    }
}

fn draw(svg: &mut Svg, x: &Axis, lane: &Lane, top: f64) {
    for (span, floor) in lane.spans.iter().zip(floors(&lane.spans)) {
        let (from, to) = (x.pixel(span.start_h), x.pixel(span.end_h));
        let height = LANE * span.share.clamp(0.0, 1.0);
        let y = top + LANE * (1.0 - floor) - height;
        let hint = format!(
            "{}, {:.2} GPU, {:.1} h to {:.1} h",
            span.label, span.share, span.start_h, span.end_h
        );
        let tone = tone(&span.label);
        svg.rect(
            &format!("pod t{tone}"),
            (from, y),
            ((to - from).max(0.4), height),
            &hint,
        );
    }
}

/// For each span, where in the GPU it stands, 0 at the bottom: the lowest gap that takes its share
/// at its start.
fn floors(spans: &[GanttSpan]) -> Vec<f64> {
    let mut open: Vec<(f64, f64, f64)> = Vec::new();
    let mut floors = Vec::with_capacity(spans.len());
    for span in spans {
        open.retain(|&(end, ..)| end > span.start_h);
        open.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut floor = 0.0;
        for &(_, low, high) in &open {
            if low - floor + HAIR >= span.share {
                break;
            }
            floor = high;
        }
        // Pieces may lie so that no gap is large enough; then the box overlaps at the top.
        let floor = f64::min(floor, (1.0 - span.share).max(0.0));
        open.push((span.end_h, floor, floor + span.share));
        floors.push(floor);
    }
    floors
}

/// A tone by name, so that a pod looks the same wherever it runs.
fn tone(label: &str) -> usize {
    label.bytes().fold(0usize, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(usize::from(byte))
    }) % TONES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_of_a_gpu_stand_on_one_another() {
        let span = |start_h, end_h, share| GanttSpan {
            start_h,
            end_h,
            label: String::new(),
            share,
        };
        let spans = [
            span(0.0, 4.0, 0.5),
            span(1.0, 2.0, 0.25),
            span(1.5, 9.0, 0.25),
            span(3.0, 5.0, 0.25),
            span(4.0, 6.0, 0.5),
        ];
        assert_eq!(floors(&spans), [0.0, 0.5, 0.75, 0.5, 0.0]);
    }
}
