//! The full-screen view: a loop of draw, wait for a key, act on it.
//!
//! Invariant: however it ends, also by a panic, the terminal is as it was before. Not here: what a
//! frame shows ([`draw`]), and signals (whoever started the service stops it).

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event, KeyEventKind};
use ratatui::DefaultTerminal;

use super::Console;
use crate::service::control::Control;

pub(crate) mod capture;
pub(crate) mod look;
pub(crate) mod state;

mod draw;
mod header;
mod lists;
mod map;
#[cfg(test)]
mod tests;

use look::Look;
use state::{Act, State};

/// How long to wait for a key before the frame is drawn anew.
const FRAME_EVERY: Duration = Duration::from_millis(250);

/// The longest sleep, so that the end of the service is seen at once.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the frame says about the world around it.
#[derive(Debug, Clone)]
pub(crate) struct Around {
    /// Where the page is served.
    pub(crate) url: String,
}

/// Shows `console` until the user quits or the service stops.
///
/// # Errors
/// If the terminal refuses.
pub(crate) fn show(console: &Console, control: &Control, around: &Around) -> io::Result<()> {
    let look = Look::of_terminal();
    let mut terminal = ratatui::try_init()?;
    let shown = run(&mut terminal, console, control, around, look);
    let restored = ratatui::try_restore();
    shown.and(restored)
}

fn run(
    terminal: &mut DefaultTerminal,
    console: &Console,
    control: &Control,
    around: &Around,
    look: Look,
) -> io::Result<()> {
    let mut state = State::default();
    while !control.is_stopping() {
        let view = console.view();
        terminal.draw(|frame| draw::draw(frame, &view, &mut state, around, look))?;
        let mut left = FRAME_EVERY;
        while !control.is_stopping() && !left.is_zero() {
            let wait = left.min(LOOK_EVERY);
            if !event::poll(wait)? {
                left = left.saturating_sub(wait);
                continue;
            }
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    match state.press(key, &view) {
                        Act::Nothing => {}
                        Act::Quit => control.stop(),
                        Act::TogglePause => control.toggle_pause(),
                    }
                }
                _ => {}
            }
            break;
        }
    }
    Ok(())
}
