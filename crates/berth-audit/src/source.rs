//! Reading dumps: from files of whatever a site can send to a [`Dump`].
//!
//! The caller hands in files one by one; archives are unpacked here in a stream. What a file is, is
//! told by its first bytes and its path inside the dump, never by the archive's name.
//!
//! Invariants: nothing is written anywhere; links are not followed; every bound of
//! [`limits`](crate::limits) holds; whatever is wrong with an input becomes a gap, and reading goes on
//! behind it.

mod archive;
mod document;
mod format;
mod guard;
mod hosts;
mod json;
mod window;
pub(crate) mod yaml;

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};

use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::host::Host;
use crate::dump::kinds::Kind;
use crate::dump::place::{FileId, Place};
use crate::dump::text::Text;
use crate::limits::{ENTRIES_MAX, PATH_BYTES_MAX};

pub use format::FORMATS;
pub use format::live::LIVE_ROOT;
pub(crate) use format::{Format, Root};

/// Something to read that can be positioned, as zip archives need.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Reads files into a dump.
#[derive(Debug, Default)]
pub struct Reader {
    reading: Reading,
}

/// The state of reading; what formats work on.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) dump: Dump,
    /// Where a recognised source begins, by path prefix.
    pub(crate) roots: BTreeMap<Text, Root>,
    /// Hosts by the root of their report, until their names are known.
    pub(crate) hosts: BTreeMap<Text, Host>,
}

/// A file inside the dump on its way to a format.
pub(crate) struct Entry<'a> {
    /// Whole path.
    pub(crate) path: &'a str,
    /// Its number.
    pub(crate) file: FileId,
    /// What it holds.
    pub(crate) body: &'a mut dyn Read,
}

impl Entry<'_> {
    /// The place of the whole file.
    pub(crate) fn place(&self) -> Place {
        Place {
            file: self.file,
            line: 0,
        }
    }
}

impl Reader {
    /// A reader of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one file, archive or stream. `path` is how reports will name it.
    pub fn file(&mut self, path: &str, body: &mut dyn Read) {
        archive::open(&mut self.reading, path, archive::Body::Stream(body), 0);
    }

    /// Reads one file that can be positioned; only zip archives make use of it.
    pub fn seekable(&mut self, path: &str, body: &mut dyn ReadSeek) {
        archive::open(&mut self.reading, path, archive::Body::Seekable(body), 0);
    }

    /// Notes that the caller could not or would not open something.
    pub fn refuse(&mut self, path: &str, why: &str) {
        self.reading.gap(path, "file", why);
    }

    /// Declares that everything there is of a kind has been handed in.
    pub fn claim(&mut self, kind: Kind, extent: Extent) {
        self.reading.dump.coverage.claim(kind, extent, "the caller");
    }

    /// What was read.
    #[must_use]
    pub fn finish(self) -> Dump {
        let Reading {
            mut dump,
            roots,
            hosts,
            ..
        } = self.reading;
        for kind in crate::dump::kinds::KINDS {
            (kind.settle)(&mut dump.objects);
        }
        // Files that are no part of any dump make no source.
        let is_source = |root: &Root| {
            root.format.name != format::manifests::FORMAT.name || !root.seen.is_empty()
        };
        for (prefix, root) in roots.iter().filter(|(_, root)| is_source(root)) {
            let name = if prefix.is_empty() {
                Text::new(".")
            } else {
                prefix.clone()
            };
            dump.coverage.sources.insert(name, root.format.name);
            (root.format.finish)(&mut dump, root);
        }
        Text::forget_shared();
        hosts::join(&mut dump, hosts);
        dump.settle();
        dump
    }
}

impl Reading {
    /// A file that was unpacked or handed in, and is no archive.
    fn entry(&mut self, path: &str, body: &mut dyn Read) {
        self.dump.coverage.n_files += 1;
        if self.dump.coverage.n_files > ENTRIES_MAX {
            if self.dump.coverage.n_files == ENTRIES_MAX + 1 {
                self.gap(
                    path,
                    "file",
                    "the dump has more files than are read; the rest is skipped",
                );
            }
            return;
        }
        let (prefix, format) = self.format_of(path);
        let root = self
            .roots
            .entry(prefix.clone())
            .or_insert_with(|| Root::new(format));
        // A more telling file of the same root may come after a plain one.
        if root.format.name != format.name && format::rank(format) > format::rank(root.format) {
            root.format = format;
        }
        let file = self.dump.files.enter(path);
        let mut entry = Entry { path, file, body };
        if let Err(error) = (format.take)(self, &prefix, &mut entry) {
            self.dump
                .coverage
                .gap("file", Place { file, line: 0 }, unreadable(&error));
        }
    }

    /// The format of a path and where its root ends.
    fn format_of(&self, path: &str) -> (Text, &'static Format) {
        FORMATS
            .iter()
            .find_map(|format| (format.marker)(path).map(|end| (Text::new(&path[..end]), *format)))
            .unwrap_or_else(|| {
                (
                    Text::new(format::archive_of(path)),
                    &format::manifests::FORMAT,
                )
            })
    }

    /// Notes something about a path that could not be read.
    pub(crate) fn gap(&mut self, path: &str, what: &str, why: impl Into<Text>) {
        let file = self.dump.files.enter(path);
        self.dump.coverage.gap(what, Place { file, line: 0 }, why);
    }

    /// The host whose report begins at `prefix`.
    pub(crate) fn host(&mut self, prefix: &Text) -> &mut Host {
        self.hosts.entry(prefix.clone()).or_default()
    }
}

/// Why a path is not read, or the path in its plain form.
pub(crate) fn safe_path(path: &str) -> Result<&str, &'static str> {
    let mut plain = path;
    while let Some(rest) = plain.strip_prefix("./") {
        plain = rest;
    }
    if plain.len() > PATH_BYTES_MAX {
        return Err("its path is longer than any file system allows");
    }
    if plain.starts_with('/') || plain.starts_with('\\') || plain.as_bytes().get(1) == Some(&b':') {
        return Err("its path is absolute; nothing is read through it");
    }
    if plain.split(['/', '\\']).any(|part| part == "..") {
        return Err("its path leads out of the archive; nothing is read through it");
    }
    if plain.contains('\0') {
        return Err("its path has a zero byte");
    }
    Ok(plain)
}

/// Reads at most `max` bytes as text; invalid UTF-8 is replaced. True where more was there.
pub(crate) fn read_text(body: &mut dyn Read, max: usize) -> io::Result<(String, bool)> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    let error = body.take(limit + 1).read_to_end(&mut bytes).err();
    let is_cut = bytes.len() > max;
    bytes.truncate(max);
    match error {
        // What was read before the end of a truncated archive is still evidence.
        Some(error) if bytes.is_empty() => Err(error),
        _ => Ok((String::from_utf8_lossy(&bytes).into_owned(), is_cut)),
    }
}

/// An error of reading as a sentence of a gap.
pub(crate) fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends too early: the archive is truncated".to_owned(),
        _ => format!("unable to read on: {error}"),
    }
}
