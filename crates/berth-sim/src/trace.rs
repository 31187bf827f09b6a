//! The catalogue of workload sources: one file each, one line in [`FORMATS`].
//!
//! A format either reads files that the caller has opened and unpacked, or makes a workload from a
//! seed. Readers take bytes and never touch a disk.

use crate::trace::table::ReadError;
use berth_core::time::Span;

use crate::workload::Workload;

pub mod load;
pub(crate) mod native;
pub mod native_csv;
pub mod native_json;
pub mod openb;
pub mod openb_like;
pub mod openb_replay;
pub mod table;

/// Every format, in the order in which they are listed to people.
pub const FORMATS: &[&Format] = &[
    &crate::site::SMALL,
    &crate::site::SITE_1000,
    &openb_like::FORMAT,
    &openb_replay::FORMAT,
    &native_json::FORMAT,
    &native_csv::FORMAT,
];

/// The format called `name`.
#[must_use]
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

/// A source of workloads.
#[derive(Debug)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The manual page, in Markdown.
    pub manual: &'static str,
    /// How the workload comes about.
    pub origin: Origin,
}

/// How a workload comes about.
#[derive(Debug)]
pub enum Origin {
    /// It is read from files.
    Files {
        /// Which ones, in the order in which [`Self::Files::read`] wants them.
        files: &'static [FileRole],
        /// Reads them. A file that may be left out is an empty slice then.
        read: fn(&[File<'_>]) -> Result<Workload, ReadError>,
    },
    /// It is made up from a seed, with jobs that arrive for so long, or for its usual length.
    Seed(fn(u64, Option<Span>) -> Workload),
}

/// What one of the files of a format is.
#[derive(Debug)]
pub struct FileRole {
    /// Name of the argument (`nodes`).
    pub name: &'static str,
    /// What is in it.
    pub summary: &'static str,
    /// Whether it may be left out.
    pub need: Need,
}

/// Whether a file may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It must be there.
    Required,
    /// It may be left out.
    Optional,
}

/// A file that the caller has opened and unpacked.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// Content.
    pub bytes: &'a [u8],
}

impl File<'_> {
    /// An error about the file as a whole.
    pub(crate) fn fault(&self, expected: &str, found: &str, hint: &str) -> ReadError {
        fault_at(self.name, 0, "", expected, found, hint)
    }
}

/// The files as an array, one for each role.
///
/// # Errors
/// If there are more or fewer.
pub(crate) fn exactly<'a, 'b, const N: usize>(
    files: &'b [File<'a>],
) -> Result<&'b [File<'a>; N], ReadError> {
    files.try_into().map_err(|_| {
        let name = files.first().map_or("input", |file| file.name);
        let (expected, found) = (format!("{N} files"), format!("{}", files.len()));
        fault_at(
            name,
            0,
            "",
            &expected,
            &found,
            "give one file for each role of the format",
        )
    })
}

pub(crate) fn fault_at(
    file: &str,
    line: u64,
    column: &str,
    expected: &str,
    found: &str,
    hint: &str,
) -> ReadError {
    ReadError {
        file: file.to_owned(),
        line,
        column: column.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
        hint: hint.to_owned(),
    }
}
