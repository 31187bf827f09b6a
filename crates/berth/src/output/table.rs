//! The one renderer of tables: aligned text for people, CSV for spreadsheets.
//!
//! Invariant: all rows have as many cells as there are columns; widths are counted in characters.
//! Not here: what a table shows.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};

/// A table of text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    title: Option<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    name: Cow<'static, str>,
    align: Align,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
}

/// Whether text may carry colour and weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Letters only.
    Plain,
    /// Escape sequences of a terminal.
    Terminal,
}

impl Column {
    /// A column of words, aligned left.
    pub(crate) fn text(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            align: Align::Left,
        }
    }

    /// A column of figures, aligned right.
    pub(crate) fn figure(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            align: Align::Right,
        }
    }

    /// What stands at its head.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// True for figures.
    pub(crate) fn is_figure(&self) -> bool {
        self.align == Align::Right
    }
}

impl Style {
    /// What standard output can show: `NO_COLOR` and a pipe both ask for plain text.
    pub(crate) fn of_stdout() -> Self {
        let variable = |name| env::var_os(name).unwrap_or_default();
        match io::stdout().is_terminal() {
            true => Self::of_terminal(&variable("NO_COLOR"), &variable("TERM")),
            false => Self::Plain,
        }
    }

    /// What a terminal can show and its user wants, by the values of `NO_COLOR` and `TERM`; any
    /// value of the former refuses colour (no-color.org).
    fn of_terminal(no_color: &OsStr, term: &OsStr) -> Self {
        if no_color.is_empty() && term != "dumb" {
            Self::Terminal
        } else {
            Self::Plain
        }
    }

    fn bold(self, text: &str) -> String {
        self.wrap(text, "\x1b[1m")
    }

    fn dim(self, text: &str) -> String {
        self.wrap(text, "\x1b[2m")
    }

    fn wrap(self, text: &str, start: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Terminal => format!("{start}{text}\x1b[0m"),
        }
    }
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Sets what stands above it.
    #[must_use]
    pub(crate) fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds a row; one cell a column.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.columns.len(), "one cell a column");
        self.rows.push(cells);
    }

    /// Adds a line below the table.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// What stands above it.
    pub(crate) fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Its columns.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Lines below it.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The table for people. A control character in a cell is shown as U+FFFD, so that no name can
    /// steer the terminal.
    pub(crate) fn text(&self, style: Style) -> String {
        let mut out = String::new();
        if let Some(title) = &self.title {
            out.push_str(&style.bold(&harmless(title)));
            out.push('\n');
        }
        let heads: Vec<String> = self.columns.iter().map(|c| c.name.to_uppercase()).collect();
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| harmless(cell)).collect())
            .collect();
        let widths = self.widths(&heads, &rows);
        out.push_str(&style.bold(&self.line(&heads, &widths)));
        out.push('\n');
        for row in &rows {
            out.push_str(&self.line(row, &widths));
            out.push('\n');
        }
        for note in &self.notes {
            out.push_str(&style.dim(&harmless(note)));
            out.push('\n');
        }
        out
    }

    /// The table as RFC 4180 comma-separated values, without title and notes.
    pub(crate) fn csv(&self) -> String {
        let mut out = String::new();
        let heads: Vec<String> = self.columns.iter().map(|c| c.name.to_string()).collect();
        for row in std::iter::once(&heads).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            out.push_str(&cells.join(","));
            out.push('\n');
        }
        out
    }

    fn widths(&self, heads: &[String], rows: &[Vec<String>]) -> Vec<usize> {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| &row[column]).chain([&heads[column]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(width).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((column, cell), &width) in self.columns.iter().zip(cells).zip(widths) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            match column.align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new([Column::text("name"), Column::figure("share")]).titled("T");
        table.row(["a", "1.5"]);
        table.row(["größer", "10.25"]);
        table.note("two rows");
        table
    }

    #[test]
    fn words_align_left_and_figures_right() {
        let expected = "T\nNAME    SHARE\na         1.5\ngrößer  10.25\ntwo rows\n";
        assert_eq!(sample().text(Style::Plain), expected);
    }

    #[test]
    fn colour_only_where_a_terminal_shows_it() {
        assert!(!sample().text(Style::Plain).contains('\x1b'));
        assert!(sample().text(Style::Terminal).contains("\x1b[1mT\x1b[0m"));
    }

    #[test]
    fn a_terminal_may_refuse_colour() {
        let check = |no_color: &str, term: &str, expected| {
            assert_eq!(
                Style::of_terminal(no_color.as_ref(), term.as_ref()),
                expected
            );
        };
        check("", "xterm-256color", Style::Terminal);
        check("1", "xterm-256color", Style::Plain);
        check("", "dumb", Style::Plain);
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        let mut table = Table::new([Column::text("n")]);
        table.row(["\x1b[2Jgone\n"]);
        assert_eq!(table.text(Style::Plain), "N\n\u{fffd}[2Jgone\u{fffd}\n");
    }

    #[test]
    fn csv_quotes_what_would_break_it() {
        let mut table = Table::new([Column::text("a"), Column::text("b")]);
        table.row(["x,y", "say \"no\""]);
        assert_eq!(table.csv(), "a,b\n\"x,y\",\"say \"\"no\"\"\"\n");
    }
}
