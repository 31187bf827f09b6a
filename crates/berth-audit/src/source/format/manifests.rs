//! Manifests: a folder or stream of YAML or JSON documents, `kubectl get -o yaml`, Helm's output.
//!
//! Nothing says whether they are all there is. A list that holds objects of a cluster-wide kind, or
//! of several namespaces, counts as all of its kind; anything else as a part.

use std::io;

use super::{Format, Root, Seen, file_name, is_document};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::kinds::Kind;
use crate::dump::text::Text;
use crate::source::document::{self, Expected, TextIs};
use crate::source::{Entry, Reading};

pub(crate) const FORMAT: Format = Format {
    name: "manifests",
    about: "a folder or stream of YAML or JSON objects, or Helm's output",
    marker: |_| None,
    take,
    finish,
};

/// Kinds without a namespace: a list of them is a list of all.
const CLUSTER_WIDE: [Kind; 12] = [
    Kind::Node,
    Kind::Namespace,
    Kind::PersistentVolume,
    Kind::StorageClass,
    Kind::PriorityClass,
    Kind::RuntimeClass,
    Kind::IpPool,
    Kind::IpamBlock,
    Kind::BlockAffinity,
    Kind::IpamHandle,
    Kind::IpamConfig,
    Kind::CustomResourceDefinition,
];

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    let name = file_name(entry.path);
    let is_alone = name == entry.path;
    if is_document(name) || is_alone {
        document::read(reading, prefix, entry, Expected::default());
    } else if !name.contains('.') {
        // A file without an ending may hold objects, or a version, a token, a note.
        let expected = Expected {
            kind: None,
            text: TextIs::Free,
        };
        document::read(reading, prefix, entry, expected);
    }
    Ok(())
}

fn finish(dump: &mut Dump, root: &Root) {
    root.claim(dump, extent_of, &[]);
}

pub(super) fn extent_of(kind: Kind, seen: Seen) -> Extent {
    if seen.n_in_lists > 0 && seen.n_single == 0 && CLUSTER_WIDE.contains(&kind) {
        Extent::Complete
    } else {
        Extent::Partial
    }
}
