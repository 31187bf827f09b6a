//! One frame: what goes where.
//!
//! Invariant: it fits 80 by 24; from 120 columns on, all panes are shown at once. A terminal that is
//! too small is told so instead of being filled with fragments.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::look::{Look, Role};
use super::state::{Help, Pane, State};
use super::{Around, header, lists, map};
use crate::console::glyphs;
use crate::console::view::View;

/// The smallest terminal with room for the header, a row of the map and a row of a list.
const WIDTH_MIN: u16 = 50;
const HEIGHT_MIN: u16 = 14;

/// From here on, all panes are shown at once.
const WIDE: u16 = 120;

/// The least height of the upper panes of a wide frame: some queues beside a small map.
const UPPER_MIN: u16 = 10;

/// Height of the latest events of a wide frame.
const EVENTS_HEIGHT: u16 = 7;

/// Draws `view`.
pub(crate) fn draw(
    frame: &mut Frame<'_>,
    view: &View,
    state: &mut State,
    around: &Around,
    look: Look,
) {
    let area = frame.area();
    if area.width < WIDTH_MIN || area.height < HEIGHT_MIN {
        let text = format!(
            "this terminal is {} by {}; at least {WIDTH_MIN} by {HEIGHT_MIN} is needed (q quits)",
            area.width, area.height
        );
        frame.render_widget(
            Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }),
            area,
        );
        return;
    }
    let header = header::lines(view, area.width, look);
    let header_height = u16::try_from(header.len()).expect("a handful of lines");
    let [top, body, foot] = Layout::vertical([
        Constraint::Length(header_height),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(header), top);
    let is_wide = area.width >= WIDE;
    let map_width = if is_wide {
        columns(body)[0].width
    } else {
        body.width
    };
    let map_lines = map::lines(view, map_width, look);
    if is_wide {
        wide(frame, body, map_lines, view, state, look);
    } else {
        narrow(frame, body, map_lines, view, state, look);
    }
    frame.render_widget(footer(view, around, area.width, look), foot);
    if state.help == Help::Shown {
        help(frame, view, area, look);
    }
}

fn narrow(
    frame: &mut Frame<'_>,
    body: Rect,
    map_lines: Vec<Line<'static>>,
    view: &View,
    state: &mut State,
    look: Look,
) {
    if state.pane == Pane::Map {
        return map_pane(frame, body, map_lines, state, look);
    }
    let wanted = u16::try_from(map_lines.len() + 1).unwrap_or(u16::MAX);
    let map_height = wanted.min(body.height * 2 / 5);
    let [map_area, list_area] =
        Layout::vertical([Constraint::Length(map_height), Constraint::Fill(1)]).areas(body);
    map_pane(frame, map_area, map_lines, state, look);
    let [rule_area, list_area] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(list_area);
    let quiet = look.style(Role::Quiet);
    let mut tabs: Vec<Span<'static>> = vec![Span::styled(look.rule().repeat(2), quiet)];
    for pane in Pane::ALL {
        if pane == state.pane {
            tabs.push(Span::styled(
                format!(" {} ", title(pane, view)),
                look.style(Role::Strong),
            ));
        } else {
            tabs.push(Span::styled(format!(" {} ", pane.name()), quiet));
        }
        tabs.push(Span::styled(look.rule(), quiet));
    }
    frame.render_widget(
        Paragraph::new(ruled(tabs, rule_area.width, look)),
        rule_area,
    );
    list(frame, list_area, state.pane, view, state, look);
}

fn wide(
    frame: &mut Frame<'_>,
    body: Rect,
    map_lines: Vec<Line<'static>>,
    view: &View,
    state: &mut State,
    look: Look,
) {
    let wanted = u16::try_from(map_lines.len() + 1).unwrap_or(u16::MAX);
    let upper_height = wanted.clamp(UPPER_MIN.min(body.height / 3), (body.height * 2 / 5).max(1));
    let lower_height = EVENTS_HEIGHT.min(body.height / 5);
    let [upper, middle, lower] = Layout::vertical([
        Constraint::Length(upper_height),
        Constraint::Fill(1),
        Constraint::Length(lower_height),
    ])
    .areas(body);
    let [map_area, _, queues] = columns(upper);
    map_pane(frame, map_area, map_lines, state, look);
    for (area, pane) in [
        (queues, Pane::Queues),
        (middle, Pane::Waiting),
        (lower, Pane::Events),
    ] {
        let [rule_area, list_area] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let rule = pane_rule(pane, title(pane, view), state.pane, rule_area.width, look);
        frame.render_widget(Paragraph::new(rule), rule_area);
        list(frame, list_area, pane, view, state, look);
    }
}

/// The map, a gap, and what stands beside it.
fn columns(area: Rect) -> [Rect; 3] {
    let widths = [
        Constraint::Fill(2),
        Constraint::Length(2),
        Constraint::Fill(1),
    ];
    Layout::horizontal(widths).areas(area)
}

fn list(frame: &mut Frame<'_>, area: Rect, pane: Pane, view: &View, state: &mut State, look: Look) {
    match pane {
        Pane::Waiting => lists::waiting(frame, area, view, state, look),
        Pane::Queues => lists::queues(frame, area, view, state, look),
        Pane::Events => lists::events(frame, area, view, state, look),
        Pane::Map => {}
    }
}

fn map_pane(
    frame: &mut Frame<'_>,
    area: Rect,
    lines: Vec<Line<'static>>,
    state: &mut State,
    look: Look,
) {
    let [rule_area, cells] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let height = usize::from(cells.height);
    let top = state.scrolled(Pane::Map, lines.len(), height);
    let hidden = lines.len().saturating_sub(top + height);
    let more = match (top, hidden) {
        (0, 0) => String::new(),
        (above, below) => format!("{above} lines above, {below} below"),
    };
    let legend = map::legend(look);
    let mut spans = vec![Span::styled(
        look.rule().repeat(2) + " ",
        look.style(Role::Quiet),
    )];
    let focus = if state.pane == Pane::Map {
        Role::Strong
    } else {
        Role::Quiet
    };
    spans.push(Span::styled("GPUs ", look.style(focus)));
    spans.extend(legend);
    if !more.is_empty() {
        spans.push(Span::styled(
            format!("{} {more} ", look.rule()),
            look.style(Role::Quiet),
        ));
    }
    frame.render_widget(
        Paragraph::new(ruled(spans, rule_area.width, look)),
        rule_area,
    );
    let visible: Vec<Line<'static>> = lines.into_iter().skip(top).take(height).collect();
    frame.render_widget(Paragraph::new(visible), cells);
}

fn title(pane: Pane, view: &View) -> String {
    let figures = &view.figures;
    match pane {
        Pane::Waiting => {
            format!(
                "Waiting: {} pods in {} groups",
                figures.pods_waiting, figures.groups_waiting
            )
        }
        Pane::Queues => format!("Queues: {}", view.queues.len()),
        Pane::Events => "Latest events".to_owned(),
        Pane::Map => "GPUs".to_owned(),
    }
}

fn pane_rule(pane: Pane, title: String, focus: Pane, width: u16, look: Look) -> Line<'static> {
    let role = if pane == focus {
        Role::Strong
    } else {
        Role::Quiet
    };
    let spans = vec![
        Span::styled(look.rule().repeat(2) + " ", look.style(Role::Quiet)),
        Span::styled(title + " ", look.style(role)),
    ];
    ruled(spans, width, look)
}

/// `spans`, and a rule up to `width`.
fn ruled(mut spans: Vec<Span<'static>>, width: u16, look: Look) -> Line<'static> {
    let used: usize = spans.iter().map(Span::width).sum();
    let left = usize::from(width).saturating_sub(used);
    spans.push(Span::styled(
        look.rule().repeat(left),
        look.style(Role::Quiet),
    ));
    Line::from(spans)
}

fn footer(view: &View, around: &Around, width: u16, look: Look) -> Paragraph<'static> {
    let arrows = look.pick("↑↓", "up/down");
    let mut keys = format!(" q quit  ? help  Tab pane  {arrows} scroll");
    if view.figures.is_embedded() {
        keys.push_str("  p pause");
    }
    let url = format!("{} ", around.url);
    let gap = usize::from(width).saturating_sub(keys.chars().count() + url.chars().count());
    let spans = vec![
        Span::styled(keys, look.style(Role::Text)),
        Span::raw(" ".repeat(gap)),
        Span::styled(url, look.style(Role::Quiet)),
    ];
    Paragraph::new(Line::from(spans))
}

fn help(frame: &mut Frame<'_>, view: &View, area: Rect, look: Look) {
    let mut keys = vec![
        ("q, Esc", "quit; the summary follows"),
        ("Tab, arrows", "next pane, previous pane"),
        (look.pick("↑ ↓, k j", "up down, k j"), "move in the pane"),
        ("PgUp PgDn, g G", "by ten rows; first, last"),
    ];
    if view.figures.is_embedded() {
        keys.push(("p, space", "pause virtual time, go on"));
    }
    keys.push(("?", "this help; any key closes it"));
    let mut lines = vec![Line::styled(" Keys", look.style(Role::Strong))];
    let row = |(key, what)| Line::raw(format!("  {key:<15} {what}"));
    lines.extend(keys.into_iter().map(row));
    lines.push(Line::styled(
        " Map: one character is one GPU",
        look.style(Role::Strong),
    ));
    lines.extend(glyphs::legend().into_iter().map(|(cell, what)| {
        Line::from(vec![
            Span::raw("  "),
            Span::styled(look.cell(cell).to_string(), look.cell_style(cell)),
            Span::raw(format!("  {what}")),
        ])
    }));
    let height = u16::try_from(lines.len())
        .expect("some lines")
        .min(area.height);
    let width = 56.min(area.width);
    let inside = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    );
    frame.render_widget(Clear, inside);
    let block = look.style(Role::Selected);
    frame.render_widget(
        Paragraph::new(lines)
            .alignment(Alignment::Left)
            .style(block),
        inside,
    );
}
