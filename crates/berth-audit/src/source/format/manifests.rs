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
use crate::source::document::{self, Expected};
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
    // A stream has no telling name; a folder's other files are none of our business.
    if is_document(name) || !name.contains('.') {
        document::read(reading, prefix, entry, Expected::default());
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
