//! Frames of the scripted cluster, as text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::Around;
use super::capture;
use super::draw;
use super::look::{Colours, Look};
use super::state::{Act, Help, Pane, State};
use crate::console::glyphs::Glyphs;
use crate::console::view::View;
use crate::service::scripted;

const BARE: Look = Look {
    glyphs: Glyphs::Ascii,
    colours: Colours::None,
};

fn around() -> Around {
    Around {
        url: "http://127.0.0.1:8420".to_owned(),
    }
}

fn view() -> View {
    View::of(&scripted::published())
}

fn text(size: (u16, u16), look: Look, state: &mut State) -> String {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let view = view();
    terminal
        .draw(|frame| draw::draw(frame, &view, state, &around(), look))
        .unwrap();
    capture::text(terminal.backend().buffer())
}

fn press(state: &mut State, code: KeyCode) -> Act {
    state.press(KeyEvent::new(code, KeyModifiers::NONE), &view())
}
