//! Reading a CSV table with named columns, with errors that say where, what was expected and what
//! to do.
//!
//! Invariant: no input panics; a row is either read in full or named in an error. Columns may stand
//! in any order; a byte order mark and CRLF line ends are fine. Not here: decompression and files.

use std::collections::BTreeMap;

/// Rows accepted in one file: ten times the largest public list.
pub const ROWS_MAX: usize = 2_000_000;

/// What is wrong with an input, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: expected {expected}, found {found}; {hint}", at(*line, column))]
pub struct ReadError {
    /// File, as the caller calls it.
    pub file: String,
    /// Line, from 1; 0 for the file as a whole.
    pub line: u64,
    /// Column name; empty for the line as a whole.
    pub column: String,
    /// What should have been there.
    pub expected: String,
    /// What was there.
    pub found: String,
    /// What to do about it.
    pub hint: String,
}

fn at(line: u64, column: &str) -> String {
    match (line, column) {
        (0, _) => String::new(),
        (line, "") => format!(":{line}"),
        (line, column) => format!(":{line}, column `{column}`"),
    }
}

/// A CSV table whose header has been checked.
#[derive(Debug)]
pub struct Table<'a> {
    file: &'a str,
    reader: csv::Reader<&'a [u8]>,
    columns: BTreeMap<&'static str, usize>,
}

/// One row of a [`Table`].
#[derive(Debug)]
pub struct Row<'a> {
    file: &'a str,
    /// Line in the file, from 1.
    pub line: u64,
    record: &'a csv::StringRecord,
    columns: &'a BTreeMap<&'static str, usize>,
}

impl<'a> Table<'a> {
    /// Opens `bytes` and checks that the header names each of `required` once and nothing that is
    /// neither required nor `optional`.
    ///
    /// # Errors
    /// If the header is missing, not UTF-8, or names other columns.
    pub fn open(
        file: &'a str,
        bytes: &'a [u8],
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Self, ReadError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(true)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let header = reader
            .headers()
            .map_err(|error| of_csv(file, &error))?
            .clone();
        let all = || required.iter().chain(optional).copied();
        let known = || all().collect::<Vec<_>>().join(", ");
        let fault = |expected: String, found: String, hint: &str| ReadError {
            file: file.to_owned(),
            line: 1,
            column: String::new(),
            expected,
            found,
            hint: hint.to_owned(),
        };
        let mut columns = BTreeMap::new();
        for (index, name) in header.iter().enumerate() {
            let Some(known_name) = all().find(|&column| column == name) else {
                let found = format!("a column `{}`", clip(name));
                return Err(fault(
                    format!("only the columns {}", known()),
                    found,
                    "remove or rename it",
                ));
            };
            if columns.insert(known_name, index).is_some() {
                let found = format!("`{name}` twice");
                return Err(fault(
                    "each column once".to_owned(),
                    found,
                    "remove one of them",
                ));
            }
        }
        if let Some(missing) = required
            .iter()
            .find(|column| !columns.contains_key(*column))
        {
            let found = format!("no column `{missing}` in the header");
            let expected = format!("the columns {}", required.join(", "));
            return Err(fault(
                expected,
                found,
                "check that the file is complete and of this kind",
            ));
        }
        Ok(Self {
            file,
            reader,
            columns,
        })
    }

    /// Hands each row to `read`, in order.
    ///
    /// # Errors
    /// The first error of the table or of `read`.
    pub fn for_each(
        mut self,
        mut read: impl FnMut(&Row<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut record = csv::StringRecord::new();
        let mut n = 0;
        loop {
            let more = self.reader.read_record(&mut record);
            if !more.map_err(|error| of_csv(self.file, &error))? {
                return Ok(());
            }
            n += 1;
            let line = record.position().map_or(0, csv::Position::line);
            let row = Row {
                file: self.file,
                line,
                record: &record,
                columns: &self.columns,
            };
            if n > ROWS_MAX {
                return Err(row.fault(
                    "",
                    &format!("at most {ROWS_MAX} rows"),
                    "more",
                    "split the file",
                ));
            }
            read(&row)?;
        }
    }
}

impl Row<'_> {
    /// The text in `column`; empty where the table doesn't have the column.
    #[must_use]
    pub fn text(&self, column: &'static str) -> &str {
        self.columns
            .get(column)
            .and_then(|&index| self.record.get(index))
            .unwrap_or("")
    }

    /// The text in `column`, which must not be empty.
    ///
    /// # Errors
    /// If it is empty.
    pub fn name(&self, column: &'static str) -> Result<&str, ReadError> {
        match self.text(column) {
            "" => Err(self.fault(column, "a name", "nothing", "name each row")),
            name => Ok(name),
        }
    }

    /// The whole number in `column`, which must lie in `0..=most`.
    ///
    /// # Errors
    /// If it is empty, not a whole number, negative or larger than `most`.
    pub fn amount(&self, column: &'static str, most: i64) -> Result<i64, ReadError> {
        let text = self.text(column);
        let expected = format!("a whole number from 0 to {most}");
        // Pandas writes integer columns with gaps as floats: 12.0 is 12, 12.5 is an error.
        let digits = text.strip_suffix(".0").unwrap_or(text);
        match digits.parse::<i64>() {
            Ok(number) if (0..=most).contains(&number) => Ok(number),
            _ => Err(self.fault(
                column,
                &expected,
                &format!("`{}`", clip(text)),
                "correct or remove the row",
            )),
        }
    }

    /// The number in `column`, or `None` where it is empty.
    ///
    /// # Errors
    /// As [`Self::amount`].
    pub fn optional_amount(
        &self,
        column: &'static str,
        most: i64,
    ) -> Result<Option<i64>, ReadError> {
        if self.text(column).is_empty() {
            Ok(None)
        } else {
            self.amount(column, most).map(Some)
        }
    }

    /// An error about `column` of this row.
    #[must_use]
    pub fn fault(&self, column: &str, expected: &str, found: &str, hint: &str) -> ReadError {
        ReadError {
            file: self.file.to_owned(),
            line: self.line,
            column: column.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            hint: hint.to_owned(),
        }
    }
}

/// Refuses a name that has been seen before.
///
/// # Errors
/// If `name` is in `seen` already; the error names both lines.
pub fn unique(
    seen: &mut BTreeMap<String, u64>,
    row: &Row<'_>,
    column: &'static str,
    name: &str,
) -> Result<(), ReadError> {
    match seen.insert(name.to_owned(), row.line) {
        None => Ok(()),
        Some(first) => Err(row.fault(
            column,
            "a name that no other row has",
            &format!("`{}`, which line {first} has too", clip(name)),
            "rename or remove one of the rows",
        )),
    }
}

/// At most 40 characters of a text from an input, for messages.
#[must_use]
pub fn clip(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.escape_debug().to_string()
}

fn of_csv(file: &str, error: &csv::Error) -> ReadError {
    let line = error.position().map_or(0, csv::Position::line);
    let fault = |expected: &str, found: String, hint: &str| ReadError {
        file: file.to_owned(),
        line,
        column: String::new(),
        expected: expected.to_owned(),
        found,
        hint: hint.to_owned(),
    };
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => fault(
            &format!("{expected_len} fields as in the header"),
            format!("{len}"),
            "the file may be cut short: fetch it again",
        ),
        csv::ErrorKind::Utf8 { .. } => fault(
            "UTF-8 text",
            "other bytes".to_owned(),
            "convert the file to UTF-8",
        ),
        _ => fault(
            "a CSV table",
            error.to_string(),
            "check that the file is what it should be",
        ),
    }
}
