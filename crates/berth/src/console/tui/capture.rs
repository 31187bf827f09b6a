//! A frame as a picture or as text, for documents.
//!
//! Invariant: the same view gives the same bytes. The picture holds text, not pixels, so it can be
//! searched, read aloud and scaled.

use std::fmt::Write as _;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::look::Look;
use super::state::State;
use super::{Around, draw};
use crate::console::view::View;

/// Width and height of a character in the picture, in user units.
const CELL: (f32, f32) = (8.4, 17.0);

/// Free space around the frame.
const MARGIN: f32 = 12.0;

/// Colours of the picture: bright text on a dark ground, contrast above 7:1 for all text.
const GROUND: &str = "#14171f";
const TEXT: &str = "#e4e7ee";

/// The frame of `view` on a terminal of `width` by `height`.
pub(crate) fn frame(
    view: &View,
    around: &Around,
    look: Look,
    (width, height): (u16, u16),
) -> Buffer {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let mut state = State::default();
    let Ok(_) = terminal.draw(|frame| draw::draw(frame, view, &mut state, around, look));
    terminal.backend().buffer().clone()
}

/// `buffer` as lines of text.
pub(crate) fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let line: String = (0..buffer.area.width)
            .map(|x| buffer[(x, y)].symbol())
            .collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// `buffer` as an SVG picture with `title` for those who can't see it.
pub(crate) fn svg(buffer: &Buffer, title: &str) -> String {
    let (columns, rows) = (f32::from(buffer.area.width), f32::from(buffer.area.height));
    let (width, height) = (
        columns * CELL.0 + 2.0 * MARGIN,
        rows * CELL.1 + 2.0 * MARGIN,
    );
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="{title}" font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">"#,
        title = escape(title)
    );
    let _ = writeln!(svg, "<title>{}</title>", escape(title));
    let _ = writeln!(
        svg,
        r#"<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>"#
    );
    for y in 0..buffer.area.height {
        let row: Vec<&Cell> = (0..buffer.area.width).map(|x| &buffer[(x, y)]).collect();
        let mut x = 0usize;
        for run in row.chunk_by(|a, b| look_of(a) == look_of(b)) {
            write_run(&mut svg, run, x, y);
            x += run.len();
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// What makes two cells look alike.
fn look_of(cell: &Cell) -> (Color, Modifier) {
    (cell.fg, cell.modifier)
}

fn write_run(svg: &mut String, run: &[&Cell], x: usize, y: u16) {
    let text: String = run.iter().map(|cell| cell.symbol()).collect();
    let (colour, modifier) = look_of(run[0]);
    let is_reversed = modifier.contains(Modifier::REVERSED);
    if text.trim().is_empty() && !is_reversed {
        return;
    }
    let (left, top) = (MARGIN + x as f32 * CELL.0, MARGIN + f32::from(y) * CELL.1);
    let width = run.len() as f32 * CELL.0;
    let mut fill = hex(colour);
    if is_reversed {
        let height = CELL.1;
        let _ = writeln!(
            svg,
            r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        );
        fill = GROUND;
    }
    // Blank ends need no text; the rest is stretched to its columns, whatever font is there.
    let lead = text.chars().take_while(|c| *c == ' ').count();
    let shown = text.trim();
    let n = shown.chars().count();
    if n == 0 {
        return;
    }
    let bold = if modifier.contains(Modifier::BOLD) {
        r#" font-weight="bold""#
    } else {
        ""
    };
    let _ = writeln!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" textLength="{length:.1}" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="{fill}"{bold}>{shown}</text>"#,
        x = left + lead as f32 * CELL.0,
        y = top + CELL.1 * 0.78,
        length = n as f32 * CELL.0,
        shown = escape(shown),
    );
}

fn hex(colour: Color) -> &'static str {
    match colour {
        Color::LightBlue => "#7fb4ff",
        Color::LightYellow => "#ffd866",
        Color::Gray => "#a3abba",
        _ => TEXT,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
