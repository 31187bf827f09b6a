//! The lists: who waits and why, the queues, the latest events.
//!
//! Invariant: the selected group's reason is always readable in full, whatever the width.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};

use super::look::{Look, Role};
use super::state::{Pane, State};
use crate::console::view::View;
use crate::console::view::event::Severity;
use crate::console::view::queue::QueueRow;
use crate::console::view::waiting::WaitingRow;

/// Lines under the table that tell about the selected group.
const DETAIL_HEIGHT: u16 = 4;

/// From here on there is room for the user and the evidence in the table too.
const ROOMY: u16 = 110;

/// Width of the queue's name in the table, and in the roomy one.
const QUEUE_WIDTH: u16 = 18;
const ROOMY_QUEUE_WIDTH: u16 = 22;

/// Whether there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Roomy {
    Yes,
    No,
}

const HEADS: [&str; 6] = ["   #", " pods", "each asks for", "queue", "waits", "reason"];
const WIDTHS: [Constraint; 6] = [
    Constraint::Length(4),
    Constraint::Length(5),
    Constraint::Fill(1),
    Constraint::Length(QUEUE_WIDTH),
    Constraint::Length(8),
    Constraint::Length(14),
];
const ROOMY_HEADS: [&str; 8] = [
    "   #",
    " pods",
    "each asks for",
    "queue",
    "user",
    "waits",
    "reason",
    "what stands in the way",
];
const ROOMY_WIDTHS: [Constraint; 8] = [
    Constraint::Length(4),
    Constraint::Length(5),
    Constraint::Length(28),
    Constraint::Length(ROOMY_QUEUE_WIDTH),
    Constraint::Length(16),
    Constraint::Length(8),
    Constraint::Length(14),
    Constraint::Fill(1),
];

/// Draws who waits, and why.
pub(crate) fn waiting(
    frame: &mut Frame<'_>,
    area: Rect,
    view: &View,
    state: &mut State,
    look: Look,
) {
    let rows = &view.waiting.items;
    if rows.is_empty() {
        let text = Line::styled(" Nobody waits.", look.style(Role::Quiet));
        return frame.render_widget(Paragraph::new(text), area);
    }
    let [table_area, detail_area] = Layout::vertical([
        Constraint::Fill(1),
        Constraint::Length(DETAIL_HEIGHT.min(area.height / 2)),
    ])
    .areas(area);
    let height = usize::from(table_area.height.saturating_sub(1));
    let selected = state.row(Pane::Waiting, rows.len());
    let top = state.top(Pane::Waiting, rows.len(), height);
    let roomy = if area.width >= ROOMY {
        Roomy::Yes
    } else {
        Roomy::No
    };
    let visible = rows
        .iter()
        .enumerate()
        .skip(top)
        .take(height)
        .map(|(at, row)| {
            let style = look.style(if at == selected {
                Role::Selected
            } else {
                Role::Text
            });
            Row::new(waiting_cells(row, roomy, look)).style(style)
        });
    let (heads, widths) = match roomy {
        Roomy::Yes => (ROOMY_HEADS.to_vec(), ROOMY_WIDTHS.to_vec()),
        Roomy::No => (HEADS.to_vec(), WIDTHS.to_vec()),
    };
    let head = Row::new(heads).style(look.style(Role::Quiet));
    let table = Table::new(visible, widths).header(head).column_spacing(1);
    frame.render_widget(table, table_area);
    let Some(row) = rows.get(selected) else {
        return;
    };
    let [about_area, why_area] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(detail_area);
    frame.render_widget(Paragraph::new(about(row, view, look)), about_area);
    frame.render_widget(
        Paragraph::new(why(row, look)).wrap(Wrap { trim: false }),
        why_area,
    );
}

fn waiting_cells(row: &WaitingRow, roomy: Roomy, look: Look) -> Vec<Cell<'static>> {
    let mut cells = vec![
        Cell::from(format!("{:>4}", row.position)),
        Cell::from(format!("{:>5}", row.pods)),
        Cell::from(row.ask.clone()),
        Cell::from(queue_of(row, roomy, look)),
        Cell::from(row.age_ms.to_string()),
        Cell::from(row.reason),
    ];
    if roomy == Roomy::Yes {
        cells.insert(4, Cell::from(row.user.to_string()));
        cells.push(Cell::from(row.evidence.clone()));
    }
    cells
}

/// The queue's name, without what the user's column says; a long one keeps its end, which tells
/// queues apart.
fn queue_of(row: &WaitingRow, roomy: Roomy, look: Look) -> String {
    let above = row
        .queue
        .strip_suffix(&*row.user)
        .and_then(|above| above.strip_suffix('/'));
    let (name, room) = match roomy {
        Roomy::Yes => (above.unwrap_or(&row.queue), ROOMY_QUEUE_WIDTH),
        Roomy::No => (&*row.queue, QUEUE_WIDTH),
    };
    let (n, room) = (name.chars().count(), usize::from(room));
    if n <= room {
        return name.to_owned();
    }
    let cut = look.pick("…", "~");
    let end: String = name.chars().skip(n - (room - 1)).collect();
    format!("{cut}{end}")
}

/// Who the selected group is.
fn about(row: &WaitingRow, view: &View, look: Look) -> Line<'static> {
    let more = match row.pods {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let text = format!(
        " {}{more} of {}, priority {}, turn {} of {}",
        row.oldest, row.user, row.priority, row.position, view.waiting.total
    );
    Line::styled(text, look.style(Role::Strong))
}

/// Why it waits, and what would change that.
fn why(row: &WaitingRow, look: Look) -> Vec<Line<'static>> {
    vec![
        Line::raw(format!(" {}: {}", row.reason, row.evidence)),
        Line::styled(format!(" {}", row.advice), look.style(Role::Quiet)),
    ]
}

/// Draws the queue tree.
pub(crate) fn queues(
    frame: &mut Frame<'_>,
    area: Rect,
    view: &View,
    state: &mut State,
    look: Look,
) {
    let rows = &view.queues;
    let height = usize::from(area.height.saturating_sub(1));
    let selected = state.row(Pane::Queues, rows.len());
    let top = state.top(Pane::Queues, rows.len(), height);
    let bar_width = usize::from(area.width / 6).clamp(6, 24);
    let visible = rows
        .iter()
        .enumerate()
        .skip(top)
        .take(height)
        .map(|(at, row)| {
            let is_selected = at == selected && state.pane == Pane::Queues;
            let style = look.style(if is_selected {
                Role::Selected
            } else {
                Role::Text
            });
            Row::new(queue_cells(row, bar_width, look)).style(style)
        });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(15),
        Constraint::Length(u16::try_from(bar_width).unwrap_or(u16::MAX)),
        Constraint::Length(7),
    ];
    let head =
        Row::new([" queue", "  held of limit", "", "waiting"]).style(look.style(Role::Quiet));
    frame.render_widget(
        Table::new(visible, widths).header(head).column_spacing(1),
        area,
    );
}

fn queue_cells(row: &QueueRow, bar_width: usize, look: Look) -> Vec<Cell<'static>> {
    let used = format!("{:.1}", row.used.gpus_f64());
    let limit = row
        .limit
        .map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let bar = match row.limit {
        Some(limit) if !limit.is_zero() => {
            let (full, rest) = look.bar(row.used.gpus_f64() / limit.gpus_f64(), bar_width);
            Line::from(vec![
                Span::styled(full, look.style(Role::Held)),
                Span::styled(rest, look.style(Role::Quiet)),
            ])
        }
        _ => Line::default(),
    };
    let waiting = if row.pods_waiting == 0 {
        String::new()
    } else {
        row.pods_waiting.to_string()
    };
    // Below `vision`, `vision/ada` needs no more than `ada`.
    let name = row
        .parent
        .as_ref()
        .and_then(|parent| row.name.strip_prefix(&**parent));
    let name = name
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(&row.name);
    vec![
        Cell::from(format!(" {}{name}", "  ".repeat(row.depth))),
        Cell::from(format!("{used:>6} {limit:>8}")),
        Cell::from(bar),
        Cell::from(format!("{waiting:>7}")),
    ]
}

/// Draws what happened lately.
pub(crate) fn events(
    frame: &mut Frame<'_>,
    area: Rect,
    view: &View,
    state: &mut State,
    look: Look,
) {
    let rows = &view.events;
    if rows.is_empty() {
        let text = Line::styled(" Nothing has happened yet.", look.style(Role::Quiet));
        return frame.render_widget(Paragraph::new(text), area);
    }
    let height = usize::from(area.height);
    let top = state.scrolled(Pane::Events, rows.len(), height);
    let lines = rows.iter().skip(top).take(height).map(|row| {
        let (mark, role) = match row.severity {
            Severity::Normal => (' ', Role::Text),
            Severity::Trouble => ('!', Role::Trouble),
        };
        Line::from(vec![
            Span::styled(format!(" {} ", row.clock), look.style(Role::Quiet)),
            Span::styled(format!("{mark} {}", row.text), look.style(role)),
        ])
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}
