//! The list of dump formats: how each is recognised, what it does with a file, and how much of each
//! kind it vouches for.
//!
//! Adding a format is one file here and one line in [`FORMATS`]. Each path carries its own marker, so
//! a stream needs no second pass.

use std::collections::BTreeMap;
use std::io;

use super::{Entry, Reading};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::kinds::Kind;
use crate::dump::text::Text;

pub(crate) mod cluster_info;
pub(crate) mod dbctl;
pub(crate) mod gpu_must_gather;
pub(crate) mod live;
pub(crate) mod manifests;
pub(crate) mod microk8s_inspect;
pub(crate) mod must_gather;
pub(crate) mod sonobuoy;
pub(crate) mod troubleshoot;

/// A format of dumps.
#[derive(Debug)]
pub struct Format {
    /// Its name in coverage tables.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Where its root ends in a path that is one of its files.
    pub(crate) marker: fn(&str) -> Option<usize>,
    /// Reads a file. Errors become gaps.
    pub(crate) take: fn(&mut Reading, &Text, &mut Entry<'_>) -> io::Result<()>,
    /// Says how much of each kind there is, once all files are read.
    pub(crate) finish: fn(&mut Dump, &Root),
}

/// Every format, the more telling marker first; manifests take what nobody else does.
pub const FORMATS: &[&Format] = &[
    &live::FORMAT,
    &microk8s_inspect::FORMAT,
    &troubleshoot::FORMAT,
    &sonobuoy::FORMAT,
    &must_gather::FORMAT,
    &gpu_must_gather::FORMAT,
    &dbctl::FORMAT,
    &cluster_info::FORMAT,
    &manifests::FORMAT,
];

/// A place where a dump of some format begins.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) format: &'static Format,
    /// Objects by kind: those in lists, and single ones.
    pub(crate) seen: BTreeMap<Kind, Seen>,
    /// A file ended inside a document.
    pub(crate) is_cut: bool,
}

/// How objects of a kind came.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) n_in_lists: u64,
    pub(crate) n_single: u64,
}

impl Root {
    pub(crate) fn new(format: &'static Format) -> Self {
        Self {
            format,
            seen: BTreeMap::new(),
            is_cut: false,
        }
    }

    pub(crate) fn saw(&mut self, kind: Kind, in_list: bool) {
        let seen = self.seen.entry(kind).or_default();
        if in_list {
            seen.n_in_lists += 1;
        } else {
            seen.n_single += 1;
        }
    }

    /// Claims what was seen, and `listed` kinds also where none was there, unless the root is cut.
    pub(crate) fn claim(
        &self,
        dump: &mut Dump,
        extent_of: impl Fn(Kind, Seen) -> Extent,
        listed: &[Kind],
    ) {
        let bound = if self.is_cut {
            Extent::Partial
        } else {
            Extent::Complete
        };
        for (kind, seen) in &self.seen {
            dump.coverage
                .claim(*kind, extent_of(*kind, *seen).min(bound), self.format.name);
        }
        for kind in listed {
            dump.coverage.claim(*kind, bound, self.format.name);
        }
    }
}

/// How telling a format's marker is.
pub(super) fn rank(format: &Format) -> usize {
    FORMATS.len()
        - FORMATS
            .iter()
            .position(|known| known.name == format.name)
            .unwrap_or(FORMATS.len())
}

/// The part of a path up to and including the innermost archive.
pub(super) fn archive_of(path: &str) -> &str {
    path.rfind('!').map_or("", |at| &path[..=at])
}

/// Where `folder/` ends in the path inside its innermost archive, with the folder itself as part of
/// the root where `Inside` is asked for.
pub(super) fn folder_end(path: &str, folder: &str) -> Option<usize> {
    let start = archive_of(path).len();
    let inner = &path[start..];
    let at = if inner.starts_with(folder) {
        Some(0)
    } else {
        inner.find(&format!("/{folder}")).map(|at| at + 1)
    };
    at.map(|at| start + at)
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '!']).next().unwrap_or(path)
}

/// True for names of files that hold objects.
pub(super) fn is_document(path: &str) -> bool {
    [".json", ".yaml", ".yml"]
        .iter()
        .any(|end| path.ends_with(end))
}
