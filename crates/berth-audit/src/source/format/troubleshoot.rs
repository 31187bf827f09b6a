//! A support bundle of troubleshoot.sh: `cluster-resources/` by kind and namespace.
//!
//! Layout: troubleshoot `pkg/constants/constants.go`. A file `THING-errors.json` says that THING is
//! partial; a list of named namespaces is a bare array whose items do not name their kind.

use std::io;

use super::{Format, Root, file_name, folder_end, is_document};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::kinds::{KINDS, Kind};
use crate::dump::text::Text;
use crate::source::document::{self, Expected};
use crate::source::{Entry, Reading, read_text};

pub(crate) const FORMAT: Format = Format {
    name: "troubleshoot",
    about: "a support bundle of troubleshoot.sh",
    marker: |path| {
        folder_end(path, "cluster-resources/").or_else(|| folder_end(path, "host-collectors/"))
    },
    take,
    finish,
};

/// Folders whose name is not the kind's plural.
const RENAMED: [(&str, Kind); 6] = [
    ("pod-disruption-budgets", Kind::PodDisruptionBudget),
    ("resource-quota", Kind::ResourceQuota),
    ("pvcs", Kind::PersistentVolumeClaim),
    ("pvs", Kind::PersistentVolume),
    ("storage-classes", Kind::StorageClass),
    (
        "custom-resource-definitions",
        Kind::CustomResourceDefinition,
    ),
];

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    let inner = entry.path[prefix.len()..].to_owned();
    let Some(inner) = inner.strip_prefix("cluster-resources/") else {
        return Ok(());
    };
    if !is_document(inner) || inner.contains("/logs/") {
        return Ok(());
    }
    if let Some(thing) = file_name(inner).strip_suffix("-errors.json") {
        let (text, _) = read_text(entry.body, 4096)?;
        let place = entry.place();
        match kind_of(thing) {
            _ if matches!(text.trim(), "" | "{}" | "[]" | "null") => {}
            Some(kind) => reading.dump.coverage.kind_gap(
                kind,
                place,
                format!("the collector says: {}", text.trim()),
            ),
            None => reading.dump.coverage.gap(
                thing,
                place,
                format!("the collector says: {}", text.trim()),
            ),
        }
        return Ok(());
    }
    // Custom resources are written twice.
    if inner.starts_with("custom-resources/") && inner.ends_with(".yaml") {
        return Ok(());
    }
    let folder = inner
        .split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".json");
    document::read(
        reading,
        prefix,
        entry,
        Expected {
            kind: kind_of(folder),
            ..Expected::default()
        },
    );
    Ok(())
}

fn kind_of(folder: &str) -> Option<Kind> {
    let renamed = RENAMED
        .iter()
        .find(|(name, _)| *name == folder)
        .map(|(_, kind)| *kind);
    let by_plural = || {
        KINDS
            .iter()
            .find(|spec| spec.plural == folder && !spec.group.contains("longhorn"))
    };
    renamed.or_else(|| by_plural().map(|spec| spec.kind))
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
