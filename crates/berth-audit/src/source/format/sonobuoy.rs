//! Sonobuoy's snapshot: objects by scope, and the effective settings of every kubelet.
//!
//! Layout: sonobuoy `site/content/docs/main/snapshot.md`. Files are told by the kinds inside, since
//! their names changed between releases.

use std::io;

use super::{Format, Root, folder_end, is_document};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::host::HostText;
use crate::dump::host::files::HostFile;
use crate::dump::text::Text;
use crate::limits::HOST_FILE_BYTES_MAX;
use crate::source::document::{self, Expected};
use crate::source::{Entry, Reading, read_text};

pub(crate) const FORMAT: Format = Format {
    name: "sonobuoy",
    about: "Sonobuoy's snapshot of a cluster",
    marker,
    take,
    finish,
};

fn marker(path: &str) -> Option<usize> {
    let resources =
        folder_end(path, "resources/cluster/").or_else(|| folder_end(path, "resources/ns/"));
    let hosts = || {
        folder_end(path, "hosts/")
            .filter(|_| path.ends_with("/configz.json") || path.ends_with("/healthz.json"))
    };
    resources.or_else(hosts)
}

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    let inner = &entry.path[prefix.len()..];
    if let Some(node) = inner
        .strip_prefix("hosts/")
        .and_then(|rest| rest.strip_suffix("/configz.json"))
    {
        let place = entry.place();
        let key = Text::from(format!("{prefix}hosts/{node}"));
        let node = Text::new(node);
        let (text, _) = read_text(entry.body, HOST_FILE_BYTES_MAX)?;
        let host = reading.host(&key);
        host.name = node;
        host.insert(HostFile::KubeletConfigz, HostText { text, place });
    } else if inner.starts_with("resources/") && is_document(inner) {
        document::read(reading, prefix, entry, Expected::default());
    }
    Ok(())
}

fn finish(dump: &mut Dump, root: &Root) {
    root.claim(
        dump,
        |_, seen| {
            if seen.n_in_lists > 0 {
                Extent::Complete
            } else {
                Extent::Partial
            }
        },
        &[],
    );
}
