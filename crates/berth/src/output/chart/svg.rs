//! Writing SVG elements: escaped text, short numbers, classes for all looks.

use std::fmt::Write as _;

use crate::output::html::escape;

/// A picture under construction.
#[derive(Debug)]
pub(super) struct Svg {
    text: String,
}

/// Which end of a text stands at its point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// A picture of `width` by `height` pixels; `label` says what it shows to those who can't see
    /// it.
    pub(super) fn new(width: f64, height: f64, label: &str) -> Self {
        let mut text = String::new();
        let label = escape(label);
        put(
            &mut text,
            format_args!(
                "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">\n"
            ),
        );
        Self { text }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        put(
            &mut self.text,
            format_args!(
                "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n",
                px(x1),
                px(y1),
                px(x2),
                px(y2)
            ),
        );
    }

    /// A line through the points.
    pub(super) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let path = path(points);
        put(
            &mut self.text,
            format_args!("<path class=\"{class}\" d=\"{path}\"/>\n"),
        );
    }

    /// A closed area.
    pub(super) fn area(&mut self, class: &str, points: &[(f64, f64)]) {
        let path = path(points);
        put(
            &mut self.text,
            format_args!("<path class=\"{class}\" d=\"{path}Z\"/>\n"),
        );
    }

    pub(super) fn label(&mut self, class: &str, at: (f64, f64), anchor: Anchor, label: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, label) = (px(at.0), px(at.1), escape(label));
        put(
            &mut self.text,
            format_args!(
                "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{label}</text>\n"
            ),
        );
    }

    /// A dot; `hint` shows when the pointer rests on it.
    pub(super) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64, hint: &str) {
        let (x, y, hint) = (px(at.0), px(at.1), escape(hint));
        put(
            &mut self.text,
            format_args!(
                "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"><title>{hint}</title></circle>\n"
            ),
        );
    }

    /// A box given by a corner and its size; `hint` shows when the pointer rests on it.
    pub(super) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), hint: &str) {
        let hint = match hint {
            "" => String::new(),
            hint => format!("<title>{}</title>", escape(hint)),
        };
        put(
            &mut self.text,
            format_args!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{hint}</rect>\n",
                px(corner.0),
                px(corner.1),
                px(size.0),
                px(size.1)
            ),
        );
    }

    /// The whole picture.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        let command = if at == 0 { 'M' } else { 'L' };
        put(&mut path, format_args!("{command}{} {}", px(x), px(y)));
    }
    path
}

/// A tenth of a pixel is finer than anybody sees.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_numbers_short() {
        let mut svg = Svg::new(10.0, 20.0, "a \"b\" <c>");
        svg.label("t", (1.0, 2.25), Anchor::End, "<x&y>");
        let text = svg.finish();
        assert!(
            text.contains("aria-label=\"a &quot;b&quot; &lt;c&gt;\""),
            "{text}"
        );
        assert!(
            text.contains("x=\"1\" y=\"2.2\" text-anchor=\"end\">&lt;x&amp;y&gt;<"),
            "{text}"
        );
    }
}
