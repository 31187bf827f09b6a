//! The GPU operator's own must-gather: one flat folder.
//!
//! Layout: NVIDIA/gpu-operator `hack/must-gather.sh`. It ends well with a line `FATAL` where no node
//! has a GPU label, so a near-empty bundle is said to be one.

use std::io;

use super::{Format, Root, archive_of, file_name, is_document};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::kinds::Kind;
use crate::dump::text::Text;
use crate::source::document::{self, Expected};
use crate::source::{Entry, Reading, read_text};

pub(crate) const FORMAT: Format = Format {
    name: "gpu-operator must-gather",
    about: "the must-gather of NVIDIA's GPU operator",
    marker,
    take,
    finish,
};

const NAMES: [&str; 5] = [
    "must-gather.log",
    "cluster_policy.yaml",
    "cluster_policy.missing",
    "must-gather.stderr.log",
    "hyperconverged.yaml",
];

fn marker(path: &str) -> Option<usize> {
    let name = file_name(path);
    let is_own =
        NAMES.contains(&name) || name.starts_with("gpu_oper") || name.starts_with("gpu_nodes.");
    let end = path.len() - name.len();
    is_own.then_some(end.max(archive_of(path).len()))
}

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    let name = file_name(entry.path).to_owned();
    if is_document(&name) {
        document::read(reading, prefix, entry, Expected::default());
    } else if name.ends_with(".log") {
        let (text, _) = read_text(entry.body, 1 << 20)?;
        let fatal = (1..)
            .zip(text.lines())
            .find(|(_, line)| line.contains("FATAL"));
        if let Some((line, text)) = fatal.filter(|_| name.starts_with("must-gather")) {
            let place = crate::dump::place::Place {
                line,
                ..entry.place()
            };
            reading
                .dump
                .coverage
                .gap("bundle", place, format!("the collector gave up: {text}"));
        }
    } else if name == "cluster_policy.missing" {
        reading
            .dump
            .coverage
            .claim(Kind::ClusterPolicy, Extent::Complete, FORMAT.name);
    }
    Ok(())
}

fn finish(dump: &mut Dump, root: &Root) {
    root.claim(
        dump,
        |kind, _| {
            if kind == Kind::ClusterPolicy {
                Extent::Complete
            } else {
                Extent::Partial
            }
        },
        &[],
    );
}
