//! What the user has chosen: the pane, the row, the help.
//!
//! Invariant: a key changes the state here and nowhere else; what it asks of the service is returned.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::console::view::View;

/// Rows that a page key moves by.
const PAGE: usize = 10;

/// A part of the screen that can be looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Pane {
    /// Groups that wait.
    #[default]
    Waiting,
    /// The queue tree.
    Queues,
    /// What happened lately.
    Events,
    /// The GPUs.
    Map,
}

/// Whether the help covers the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Help {
    /// It doesn't.
    #[default]
    Hidden,
    /// It does.
    Shown,
}

/// What the user has chosen.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The pane that keys act on.
    pub(crate) pane: Pane,
    /// Whether the help is shown.
    pub(crate) help: Help,
    /// The selected row of each pane, by [`Pane::index`].
    rows: [usize; Pane::ALL.len()],
    /// The first visible row of each pane.
    tops: [usize; Pane::ALL.len()],
}

/// What a key asks of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing.
    Nothing,
    /// To end.
    Quit,
    /// To stand still, or to go on.
    TogglePause,
}

impl Pane {
    /// Every pane, in the order of the tab key.
    pub(crate) const ALL: [Self; 4] = [Self::Waiting, Self::Queues, Self::Events, Self::Map];

    /// Name for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Queues => "Queues",
            Self::Events => "Events",
            Self::Map => "GPUs",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }

    fn after(self, steps: usize) -> Self {
        Self::ALL[(self.index() + steps) % Self::ALL.len()]
    }
}

impl State {
    /// Acts on `key`.
    pub(crate) fn press(&mut self, key: KeyEvent, view: &View) -> Act {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') {
                Act::Quit
            } else {
                Act::Nothing
            };
        }
        if self.help == Help::Shown {
            self.help = Help::Hidden;
            return if key.code == KeyCode::Char('q') {
                Act::Quit
            } else {
                Act::Nothing
            };
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Act::Quit,
            KeyCode::Char('p') | KeyCode::Char(' ') if view.figures.is_embedded() => {
                return Act::TogglePause;
            }
            KeyCode::Char('?') | KeyCode::Char('h') => self.help = Help::Shown,
            KeyCode::Tab | KeyCode::Right => self.pane = self.pane.after(1),
            KeyCode::BackTab | KeyCode::Left => self.pane = self.pane.after(Pane::ALL.len() - 1),
            KeyCode::Down | KeyCode::Char('j') => self.step(view, |row| row.saturating_add(1)),
            KeyCode::Up | KeyCode::Char('k') => self.step(view, |row| row.saturating_sub(1)),
            KeyCode::PageDown => self.step(view, |row| row.saturating_add(PAGE)),
            KeyCode::PageUp => self.step(view, |row| row.saturating_sub(PAGE)),
            KeyCode::Home | KeyCode::Char('g') => self.step(view, |_| 0),
            KeyCode::End | KeyCode::Char('G') => self.step(view, |_| usize::MAX),
            _ => {}
        }
        Act::Nothing
    }

    fn step(&mut self, view: &View, to: impl Fn(usize) -> usize) {
        // The map bounds itself when it is drawn, since its lines depend on the width.
        let len = match self.pane {
            Pane::Waiting => view.waiting.items.len(),
            Pane::Queues => view.queues.len(),
            Pane::Events => view.events.len(),
            Pane::Map => view.nodes.len(),
        };
        let row = &mut self.rows[self.pane.index()];
        *row = to(*row).min(len.saturating_sub(1));
    }

    /// The selected row of `pane`, which has `len` rows now.
    pub(crate) fn row(&self, pane: Pane, len: usize) -> usize {
        self.rows[pane.index()].min(len.saturating_sub(1))
    }

    /// The first visible row of `pane` with `len` rows, of which `height` fit, such that the
    /// selected one is visible.
    pub(crate) fn top(&mut self, pane: Pane, len: usize, height: usize) -> usize {
        let row = self.row(pane, len);
        let top = &mut self.tops[pane.index()];
        *top = (*top)
            .min(row)
            .max((row + 1).saturating_sub(height))
            .min(len.saturating_sub(height));
        *top
    }

    /// The first visible line of a text of `len` lines that has no selection; it stops at its end.
    pub(crate) fn scrolled(&mut self, pane: Pane, len: usize, height: usize) -> usize {
        let row = &mut self.rows[pane.index()];
        *row = (*row).min(len.saturating_sub(height));
        *row
    }
}
