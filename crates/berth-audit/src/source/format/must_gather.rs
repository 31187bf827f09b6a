//! OpenShift's must-gather: objects by scope, group and kind.
//!
//! Layout: openshift/must-gather `collection-scripts`. Namespaces are those of the platform and those
//! asked for, so namespaced kinds are partial.

use std::io;

use super::{Format, Root, archive_of, folder_end, is_document};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::text::Text;
use crate::source::document::{self, Expected};
use crate::source::{Entry, Reading};

pub(crate) const FORMAT: Format = Format {
    name: "must-gather",
    about: "OpenShift's must-gather, or an `inspect` of namespaces",
    marker,
    take,
    finish,
};

const SCOPES: [&str; 2] = ["cluster-scoped-resources/", "namespaces/"];

fn marker(path: &str) -> Option<usize> {
    let end = folder_end(path, SCOPES[0]);
    // `namespaces/NS/GROUP/...` has at least two folders behind it; anything less is another layout.
    let namespaced = || {
        let at = folder_end(path, SCOPES[1])?;
        let parts: Vec<&str> = path[at + SCOPES[1].len()..].split('/').collect();
        let is_own = parts.len() == 2 && parts[1].strip_suffix(".yaml") == Some(parts[0]);
        (parts.len() >= 3 || is_own).then_some(at)
    };
    end.or_else(namespaced)
        .filter(|at| *at >= archive_of(path).len())
}

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    if is_document(entry.path) {
        document::read(reading, prefix, entry, Expected::default());
    }
    Ok(())
}

fn finish(dump: &mut Dump, root: &Root) {
    let is_of_cluster =
        |dump: &Dump, kind: crate::dump::kinds::Kind| (kind.spec().is_of_cluster)(&dump.objects);
    let wide: Vec<_> = root
        .seen
        .keys()
        .copied()
        .filter(|kind| is_of_cluster(dump, *kind))
        .collect();
    root.claim(
        dump,
        |kind, _| {
            if wide.contains(&kind) {
                Extent::Complete
            } else {
                Extent::Partial
            }
        },
        &[],
    );
}
