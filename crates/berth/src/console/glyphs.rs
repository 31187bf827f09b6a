//! One character a GPU: the same on every map.
//!
//! Invariant: every [`Cell`] has a character of its own, so nothing is said by colour alone.

use super::view::fleet::Cell;

/// Characters that a medium can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Glyphs {
    /// Blocks and lines.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Eighths of a block, from the left.
pub(crate) const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

impl Glyphs {
    /// The character of a cell.
    pub(crate) fn cell(self, cell: Cell) -> char {
        match (cell, self) {
            (Cell::Lost, _) => '-',
            (Cell::Failed, _) => 'X',
            (Cell::Degraded, _) => '!',
            (Cell::Closed, _) => 'c',
            (Cell::Free, _) => '.',
            (Cell::Part(eighths), Self::Unicode) => EIGHTHS[usize::from(eighths.clamp(1, 7)) - 1],
            (Cell::Part(eighths), Self::Ascii) => char::from(b'0' + eighths.clamp(1, 7)),
            (Cell::Full, Self::Unicode) => '█',
            (Cell::Full, Self::Ascii) => '#',
        }
    }

    /// `unicode`, or `ascii` where it must be.
    pub(crate) fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}

/// The cells of a map in words.
pub(crate) fn legend() -> [(Cell, &'static str); 7] {
    [
        (Cell::Free, "free"),
        (Cell::Part(4), "held in part"),
        (Cell::Full, "held"),
        (Cell::Failed, "failed"),
        (
            Cell::Degraded,
            "degraded: runs what it has, takes nothing new",
        ),
        (Cell::Closed, "free, but its node takes no new work"),
        (Cell::Lost, "its node is lost"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_a_character_of_its_own() {
        let mut cells = vec![
            Cell::Lost,
            Cell::Failed,
            Cell::Degraded,
            Cell::Closed,
            Cell::Free,
        ];
        cells.extend((1..=7).map(Cell::Part));
        cells.push(Cell::Full);
        for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
            let mut seen: Vec<char> = cells.iter().map(|&cell| glyphs.cell(cell)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), cells.len());
            assert!(glyphs == Glyphs::Unicode || seen.iter().all(char::is_ascii));
        }
    }
}
