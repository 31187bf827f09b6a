//! The map: one character a GPU, nodes apart by a space, fleets apart by a label.
//!
//! Invariant: every GPU is on the map exactly once, however wide the terminal is.

use ratatui::text::{Line, Span};

use super::look::{Look, Role};
use crate::console::view::View;
use crate::console::view::fleet::{Cell, Fleet, NodeRow};

/// The widest name of a fleet that is shown in full.
const NAME_MAX: usize = 22;

/// The legend: as short as can be.
pub(crate) fn legend(look: Look) -> Vec<Span<'static>> {
    let entries = [
        (Cell::Free, "free"),
        (Cell::Part(4), "part"),
        (Cell::Full, "held"),
        (Cell::Failed, "failed"),
        (Cell::Lost, "node lost"),
    ];
    entries
        .into_iter()
        .flat_map(|(cell, what)| {
            [
                Span::styled(look.cell(cell).to_string(), look.cell_style(cell)),
                Span::styled(format!(" {what}  "), look.style(Role::Quiet)),
            ]
        })
        .collect()
}

/// The lines of the map of `view` on `width` columns.
pub(crate) fn lines(view: &View, width: u16, look: Look) -> Vec<Line<'static>> {
    let longest = view
        .fleets
        .iter()
        .map(|fleet| fleet.name.chars().count())
        .max()
        .unwrap_or(0);
    let name_width = longest.min(NAME_MAX);
    let held_width = view
        .fleets
        .iter()
        .map(|fleet| held(fleet).len())
        .max()
        .unwrap_or(0);
    // ` name held/all  cells`
    let label_width = 1 + name_width + 1 + held_width + 2;
    let room = usize::from(width).saturating_sub(label_width + 1).max(1);
    let mut lines = Vec::new();
    for fleet in &view.fleets {
        let rows = wrap(fleet, &view.nodes, room);
        for (at, row) in rows.into_iter().enumerate() {
            let label = if at == 0 {
                label(fleet, name_width, held_width)
            } else {
                String::new()
            };
            let mut spans = vec![Span::raw(format!("{label:<label_width$}"))];
            spans.extend(runs(&row, look));
            lines.push(Line::from(spans));
        }
    }
    lines
}

fn label(fleet: &Fleet, name_width: usize, held_width: usize) -> String {
    let name: String = fleet.name.chars().take(name_width).collect();
    format!(" {name:<name_width$} {:>held_width$}", held(fleet))
}

fn held(fleet: &Fleet) -> String {
    format!("{:.1}/{}", fleet.held.gpus_f64(), fleet.gpus)
}

/// The cells of a fleet in rows of at most `room`; `None` stands for the gap between two nodes. A
/// node is only broken across rows where it wouldn't fit into one.
fn wrap(fleet: &Fleet, nodes: &[NodeRow], room: usize) -> Vec<Vec<Option<Cell>>> {
    let mut rows: Vec<Vec<Option<Cell>>> = vec![Vec::new()];
    for &node in &fleet.nodes {
        let cells: Vec<Cell> = nodes[node].gpus.iter().map(|gpu| gpu.cell).collect();
        let row = rows.last_mut().expect("there is always a row");
        let gap = usize::from(!row.is_empty());
        if row.len() + gap + cells.len() <= room {
            row.extend(std::iter::repeat_n(None, gap));
            row.extend(cells.into_iter().map(Some));
            continue;
        }
        if row.is_empty() {
            rows.pop();
        }
        rows.extend(
            cells
                .chunks(room)
                .map(|chunk| chunk.iter().copied().map(Some).collect()),
        );
    }
    rows
}

/// Neighbours of one style in one span.
fn runs(row: &[Option<Cell>], look: Look) -> Vec<Span<'static>> {
    let style = |cell: &Option<Cell>| cell.map(|cell| look.cell_style(cell)).unwrap_or_default();
    row.chunk_by(|a, b| style(a) == style(b))
        .map(|run| {
            let text: String = run
                .iter()
                .map(|cell| cell.map_or(' ', |cell| look.cell(cell)))
                .collect();
            Span::styled(text, style(&run[0]))
        })
        .collect()
}
