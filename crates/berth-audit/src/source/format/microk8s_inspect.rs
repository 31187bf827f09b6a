//! The tarball of `microk8s inspect`, of all versions since 2019: one host, and what its API server
//! could say. Many of them make a cluster; hosts are joined by name and address afterwards.
//!
//! Layout: canonical/microk8s `scripts/inspect.sh`, and its history.

use std::io;

use super::{Format, Root, folder_end};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::host::HostText;
use crate::dump::host::files::HostFile;
use crate::dump::place::Place;
use crate::dump::text::Text;
use crate::limits::HOST_FILE_BYTES_MAX;
use crate::source::document::{self, Expected, TextIs};
use crate::source::window::Window;
use crate::source::{Entry, Reading, read_text, unreadable};

pub(crate) const FORMAT: Format = Format {
    name: "microk8s inspect",
    about: "the tarball of `microk8s inspect`, one a node",
    marker: |path| folder_end(path, FOLDER).map(|at| at + FOLDER.len()),
    take,
    finish,
};

const FOLDER: &str = "inspection-report/";

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    let inner = entry.path[prefix.len()..].to_owned();
    if inner == "k8s/cluster-info-dump" {
        document::read(
            reading,
            prefix,
            entry,
            Expected {
                kind: None,
                text: TextIs::Logs,
            },
        );
    } else if inner == "kubeflow/pods.yaml" {
        document::read(reading, prefix, entry, Expected::default());
    } else if let Some(file) = HostFile::of(&inner) {
        let place = entry.place();
        let (text, is_cut) = read_text(entry.body, HOST_FILE_BYTES_MAX)?;
        if is_cut {
            reading.dump.coverage.gap(
                file.path(),
                place,
                "it is longer than is kept; its end is missing",
            );
        }
        reading.host(prefix).insert(
            file,
            HostText {
                text: file.redact(text),
                place,
            },
        );
    } else if inner.ends_with("journal.log") || inner == "apparmor/dmesg" {
        journal(reading, prefix, entry);
    }
    Ok(())
}

/// Looks for telling lines, and for the host's name, which stands in no other file.
fn journal(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) {
    let file = entry.file;
    let host = reading.host(prefix);
    let mut window = Window::new(entry.body);
    let mut line = 0;
    while window.keep_line() {
        line += 1;
        let Some(bytes) = window
            .kept(0)
            .filter(|bytes| bytes.len() <= crate::limits::LINE_BYTES_MAX)
        else {
            continue;
        };
        if host.name.is_empty() {
            let text = String::from_utf8_lossy(bytes);
            if text.contains("]: ") {
                // `Jan 31 10:00:00 host unit[1]: text`
                host.name = text.split_whitespace().nth(3).unwrap_or_default().into();
            }
        }
        host.journal.look(bytes, Place { file, line });
    }
    if let Some(error) = window.take_error() {
        reading
            .dump
            .coverage
            .gap("journal", Place { file, line }, unreadable(&error));
    }
}

fn finish(dump: &mut Dump, root: &Root) {
    // `cluster-info dump -A` lists every namespace; without a Node in it the API did not answer.
    if root.seen.contains_key(&crate::dump::kinds::Kind::Node) {
        root.claim(dump, |_, _| Extent::Complete, super::cluster_info::LISTED);
    }
}
