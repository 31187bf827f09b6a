//! `kubectl cluster-info dump`, as a folder or as one stream with the logs of containers in it.
//!
//! Layout: kubernetes `kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go`.

use std::io;

use super::{Format, Root, archive_of, file_name};
use crate::dump::coverage::Extent;
use crate::dump::kinds::Kind;
use crate::dump::text::Text;
use crate::dump::{Dump, Object as _};
use crate::source::document::{self, Expected, TextIs};
use crate::source::{Entry, Reading};

pub(crate) const FORMAT: Format = Format {
    name: "cluster-info dump",
    about: "`kubectl cluster-info dump`, a folder or one stream",
    marker,
    take,
    finish,
};

/// Kinds that the command lists, of those that rules read.
pub(super) const LISTED: &[Kind] = &[
    Kind::Node,
    Kind::Event,
    Kind::Service,
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::Pod,
];

/// Names of the files in a namespace's folder, without extension.
const FILES: [&str; 7] = [
    "events",
    "replication-controllers",
    "services",
    "daemonsets",
    "deployments",
    "replicasets",
    "pods",
];

/// Namespaces that the command lists where it is not told to list all.
const USUAL: [&str; 2] = ["kube-system", "default"];

fn marker(path: &str) -> Option<usize> {
    let name = file_name(path);
    let start = archive_of(path).len();
    let folder = &path[start..path.len() - name.len()];
    let stem = name
        .strip_suffix(".json")
        .or_else(|| name.strip_suffix(".yaml"));
    if name == "cluster-info-dump" || stem == Some("nodes") {
        return Some(start + folder.len());
    }
    if !FILES.contains(&stem?) {
        return None;
    }
    let namespace = folder
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())?;
    Some(path.len() - name.len() - namespace.len() - 1)
}

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    document::read(
        reading,
        prefix,
        entry,
        Expected {
            kind: None,
            text: TextIs::Logs,
        },
    );
    Ok(())
}

fn finish(dump: &mut Dump, root: &Root) {
    if !root.seen.contains_key(&Kind::Node) {
        root.claim(dump, |_, _| Extent::Partial, &[]);
        return;
    }
    let is_usual = |namespace: &str| USUAL.contains(&namespace);
    let is_all = dump
        .objects
        .pods
        .iter()
        .any(|pod| !is_usual(&pod.meta().namespace))
        || dump
            .objects
            .services
            .iter()
            .any(|service| !is_usual(&service.meta().namespace));
    if is_all {
        root.claim(dump, |_, _| Extent::Complete, LISTED);
    } else {
        root.claim(
            dump,
            |kind, _| {
                if kind == Kind::Node {
                    Extent::Complete
                } else {
                    Extent::Partial
                }
            },
            &[],
        );
    }
}
