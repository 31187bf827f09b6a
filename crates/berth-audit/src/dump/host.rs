//! Facts of one host: its files and the outputs of commands, as a support tarball carries them.
//!
//! Invariant: texts are cut at [`HOST_FILE_BYTES_MAX`](crate::limits::HOST_FILE_BYTES_MAX) and
//! redacted when they are read; parsing happens when a rule asks, and never fails as a whole.

pub mod args;
pub mod containerd;
pub mod dqlite;
pub mod files;
pub mod journal;
pub mod tables;

use std::collections::BTreeMap;

use self::args::Args;
use self::files::HostFile;
use self::journal::Journal;
use super::place::Place;
use super::text::Text;

/// What is known of one host.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Name, as the cluster knows it where that could be found out.
    pub name: Text,
    /// Files and outputs.
    files: BTreeMap<HostFile, HostText>,
    /// Lines of journals that rules look for.
    pub journal: Journal,
}

/// A file of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostText {
    /// What it says, redacted.
    pub text: String,
    /// Where it was read.
    pub place: Place,
}

impl Host {
    /// A file, where the tarball has it.
    #[must_use]
    pub fn file(&self, file: HostFile) -> Option<&HostText> {
        self.files.get(&file)
    }

    /// Arguments of a program, where the tarball has them.
    #[must_use]
    pub fn args(&self, file: HostFile) -> Option<Args<'_>> {
        self.file(file)
            .map(|text| Args::parse(&text.text, text.place))
    }

    /// The dqlite store of this host, where the tarball speaks of one.
    #[must_use]
    pub fn dqlite(&self) -> dqlite::Dqlite<'_> {
        dqlite::Dqlite::of(self)
    }

    /// Every file, in the order of [`HostFile`].
    pub fn files(&self) -> impl Iterator<Item = (HostFile, &HostText)> {
        self.files.iter().map(|(file, text)| (*file, text))
    }

    pub(crate) fn insert(&mut self, file: HostFile, text: HostText) {
        self.files.insert(file, text);
    }

    /// Takes what another tarball of the same host has; the later one wins.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.files.extend(other.files);
        self.journal.absorb(other.journal);
    }
}

impl HostText {
    /// Lines with their 1-based number.
    pub fn lines(&self) -> impl Iterator<Item = (u32, &str)> {
        (1..).zip(self.text.lines())
    }

    /// The place of a line.
    #[must_use]
    pub fn at(&self, line: u32) -> Place {
        Place { line, ..self.place }
    }
}
