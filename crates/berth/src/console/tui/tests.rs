//! Frames of the scripted cluster, as text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::Around;
use super::capture;
use super::draw;
use super::look::{Colours, Look};
use super::map;
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

#[test]
fn eighty_by_twenty_four_shows_map_reasons_and_evidence() {
    insta::assert_snapshot!(text((80, 24), Look::FULL, &mut State::default()));
}

#[test]
fn a_hundred_and_sixty_by_fifty_shows_all_panes_at_once() {
    insta::assert_snapshot!(text((160, 50), Look::FULL, &mut State::default()));
}

#[test]
fn a_bare_terminal_gets_the_same_in_ascii() {
    let text = text((80, 24), BARE, &mut State::default());
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn without_colour_no_cell_carries_any() {
    let look = Look {
        colours: Colours::None,
        ..Look::FULL
    };
    let frame = capture::frame(&view(), &around(), look, (160, 50));
    let coloured = frame.content().iter().filter(|cell| {
        (cell.fg, cell.bg) != (ratatui::style::Color::Reset, ratatui::style::Color::Reset)
    });
    assert_eq!(coloured.count(), 0);
}

#[test]
fn every_gpu_is_on_the_map_at_any_width() {
    let view = view();
    for width in [50, 64, 80, 119, 120, 200] {
        let lines = map::lines(&view, width, Look::FULL);
        assert!(
            lines.iter().all(|line| line.width() <= usize::from(width)),
            "{width}"
        );
        let text: String = lines.iter().map(ToString::to_string).collect();
        let count = |glyph| text.chars().filter(|&c| c == glyph).count();
        // Eight held, two held in part, one failed, four lost.
        assert_eq!(
            (count('█'), count('▍'), count('▏')),
            (8, 1, 1),
            "{width}: {text}"
        );
        assert_eq!((count('X'), count('-')), (1, 5), "{width}: {text}");
    }
}

#[test]
fn a_terminal_that_is_too_small_is_told_so() {
    for size in [(49, 24), (80, 13), (1, 1)] {
        let text = text(size, Look::FULL, &mut State::default());
        assert!(size.0 == 1 || text.contains("this terminal is"), "{text}");
    }
}

#[test]
fn keys_walk_through_panes_and_rows_and_stop_at_the_ends() {
    let mut state = State::default();
    assert_eq!(press(&mut state, KeyCode::Down), Act::Nothing);
    assert_eq!(state.row(Pane::Waiting, 3), 1);
    press(&mut state, KeyCode::End);
    press(&mut state, KeyCode::Down);
    assert_eq!(state.row(Pane::Waiting, 3), 2);
    press(&mut state, KeyCode::Home);
    press(&mut state, KeyCode::Up);
    assert_eq!(state.row(Pane::Waiting, 3), 0);
    let mut seen = Vec::new();
    for _ in 0..Pane::ALL.len() {
        press(&mut state, KeyCode::Tab);
        seen.push(state.pane);
    }
    assert_eq!(seen, [Pane::Queues, Pane::Events, Pane::Map, Pane::Waiting]);
    press(&mut state, KeyCode::BackTab);
    assert_eq!(state.pane, Pane::Map);
}

#[test]
fn the_selected_group_tells_its_reason_in_full() {
    let mut state = State::default();
    press(&mut state, KeyCode::End);
    let text = text((80, 24), Look::FULL, &mut state);
    assert!(
        text.contains("QueueLimit: queue speech holds 0.4 of 0.4 GPUs"),
        "{text}"
    );
    assert!(text.contains("The queue is at its limit"), "{text}");
}

#[test]
fn help_opens_and_any_key_closes_it_without_doing_more() {
    let mut state = State::default();
    press(&mut state, KeyCode::Char('?'));
    let help = text((80, 24), Look::FULL, &mut state);
    assert!(
        help.contains("pause virtual time") && help.contains("its node is lost"),
        "{help}"
    );
    assert_eq!(press(&mut state, KeyCode::Char('p')), Act::Nothing);
    assert_eq!(state.help, Help::Hidden);
    assert_eq!(press(&mut state, KeyCode::Char('p')), Act::TogglePause);
}

#[test]
fn every_way_out_leads_out() {
    for code in [KeyCode::Char('q'), KeyCode::Esc] {
        assert_eq!(press(&mut State::default(), code), Act::Quit);
    }
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(State::default().press(interrupt, &view()), Act::Quit);
}

#[test]
fn a_picture_holds_the_text_of_the_frame_and_no_markup_from_names() {
    let frame = capture::frame(&view(), &around(), Look::FULL, (160, 45));
    let svg = capture::svg(&frame, "a <title> & more");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("a &lt;title&gt; &amp; more"));
    assert!(svg.contains("GangIncomplete"));
    assert_eq!(svg, capture::svg(&frame, "a <title> & more"));
}
