//! Glyphs and colours.
//!
//! Invariant: nothing is said by colour alone; a frame without colour, or in ASCII, says the same.
//! The colours are blue for held, yellow and bold for trouble: told apart by every kind of eye.

use std::env;

use ratatui::style::{Color, Modifier, Style};

use crate::console::glyphs::{EIGHTHS, Glyphs};
use crate::console::view::fleet::Cell;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Characters.
    pub(crate) glyphs: Glyphs,
    /// Colours.
    pub(crate) colours: Colours,
}

/// Whether colour is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    /// It is.
    Some,
    /// Weight only.
    None,
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Ordinary text.
    Text,
    /// A name or figure to see first.
    Strong,
    /// A label or line that may step back.
    Quiet,
    /// Held GPU.
    Held,
    /// Something is out of order or late.
    Trouble,
    /// The selected row.
    Selected,
}

impl Look {
    /// Everything.
    pub(crate) const FULL: Self = Self {
        glyphs: Glyphs::Unicode,
        colours: Colours::Some,
    };

    /// What the environment says that the terminal can show.
    pub(crate) fn of_terminal() -> Self {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let locale = set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"));
        Self::of(
            locale.as_deref(),
            set("NO_COLOR").as_deref(),
            set("TERM").as_deref(),
        )
    }

    fn of(locale: Option<&str>, no_color: Option<&str>, term: Option<&str>) -> Self {
        let is_utf8 = locale.is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        let is_bare = no_color.is_some() || matches!(term, Some("dumb" | "vt100" | "vt220"));
        Self {
            glyphs: if is_utf8 {
                Glyphs::Unicode
            } else {
                Glyphs::Ascii
            },
            colours: if is_bare {
                Colours::None
            } else {
                Colours::Some
            },
        }
    }

    /// The character of a cell of the map.
    pub(crate) fn cell(self, cell: Cell) -> char {
        self.glyphs.cell(cell)
    }

    /// The style of a cell of the map.
    pub(crate) fn cell_style(self, cell: Cell) -> Style {
        self.style(match cell {
            Cell::Lost | Cell::Failed | Cell::Degraded => Role::Trouble,
            Cell::Closed | Cell::Free => Role::Quiet,
            Cell::Part(_) | Cell::Full => Role::Held,
        })
    }

    /// The style of a piece of text.
    pub(crate) fn style(self, role: Role) -> Style {
        let plain = Style::new();
        match (role, self.colours) {
            (Role::Text, _) | (Role::Quiet | Role::Held, Colours::None) => plain,
            (Role::Strong, _) => plain.add_modifier(Modifier::BOLD),
            (Role::Quiet, Colours::Some) => plain.fg(Color::Gray),
            (Role::Held, Colours::Some) => plain.fg(Color::LightBlue),
            (Role::Trouble, Colours::Some) => {
                plain.fg(Color::LightYellow).add_modifier(Modifier::BOLD)
            }
            (Role::Trouble, Colours::None) => plain.add_modifier(Modifier::BOLD),
            (Role::Selected, _) => plain.add_modifier(Modifier::REVERSED),
        }
    }

    /// The character that rules are made of.
    pub(crate) fn rule(self) -> &'static str {
        self.pick("─", "-")
    }

    /// `unicode`, or `ascii` where it must be.
    pub(crate) fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        self.glyphs.pick(unicode, ascii)
    }

    /// `width` characters of which `ratio` are filled.
    pub(crate) fn bar(self, ratio: f64, width: usize) -> (String, String) {
        let filled = ratio.clamp(0.0, 1.0) * width as f64;
        let whole = filled as usize;
        let mut full = self.pick("█", "#").repeat(whole);
        let mut used = whole;
        if self.glyphs == Glyphs::Unicode && whole < width {
            let eighths = ((filled - whole as f64) * 8.0) as usize;
            if let Some(part) = eighths.checked_sub(1).and_then(|at| EIGHTHS.get(at)) {
                full.push(*part);
                used += 1;
            }
        }
        (full, self.pick("·", ".").repeat(width - used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_on_glyphs_and_colours() {
        let check = |locale, no_color, term, glyphs, colours| {
            assert_eq!(Look::of(locale, no_color, term), Look { glyphs, colours });
        };
        check(
            Some("de_DE.UTF-8"),
            None,
            Some("xterm"),
            Glyphs::Unicode,
            Colours::Some,
        );
        check(
            Some("C.utf8"),
            Some("1"),
            Some("xterm"),
            Glyphs::Unicode,
            Colours::None,
        );
        check(Some("C"), None, Some("dumb"), Glyphs::Ascii, Colours::None);
        check(None, None, None, Glyphs::Ascii, Colours::Some);
    }

    #[test]
    fn a_bar_fills_its_width() {
        for look in [
            Look::FULL,
            Look {
                glyphs: Glyphs::Ascii,
                ..Look::FULL
            },
        ] {
            for ratio in [-1.0, 0.0, 0.033, 0.5, 0.999, 1.0, 2.0] {
                let (full, rest) = look.bar(ratio, 20);
                assert_eq!(full.chars().count() + rest.chars().count(), 20, "{ratio}");
            }
        }
    }
}
