//! The archive of `microk8s dbctl backup`: pairs `N.key` and `N.data` of everything that the cluster
//! stores.
//!
//! Custom resources are JSON and are read. Built-in kinds are protobuf behind `k8s\0`; each is named
//! and counted, and its kind is a gap. The archive holds Secrets in clear: nothing of them is kept.

use std::io::{self, Read as _};

use super::{Format, Root, file_name};
use crate::dump::Dump;
use crate::dump::coverage::Extent;
use crate::dump::kinds::Kind;
use crate::dump::text::Text;
use crate::limits::OBJECT_BYTES_MAX;
use crate::source::{Entry, Reading, document};

pub(crate) const FORMAT: Format = Format {
    name: "dbctl backup",
    about: "the archive of `microk8s dbctl backup`",
    marker,
    take,
    finish,
};

/// Opens objects that the API server stores as protobuf.
const MAGIC: &[u8] = b"k8s\0";

fn marker(path: &str) -> Option<usize> {
    let name = file_name(path);
    let number = name
        .strip_suffix(".key")
        .or_else(|| name.strip_suffix(".data"))?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(path.len() - name.len())
}

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    if entry.path.ends_with(".key") {
        return Ok(()); // the object says its own kind and name
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(OBJECT_BYTES_MAX).unwrap_or(u64::MAX);
    entry.body.take(limit).read_to_end(&mut bytes)?;
    if let Some(rest) = bytes.strip_prefix(MAGIC) {
        let (api_version, name) = type_of(rest);
        match Kind::of(&api_version, &name) {
            Some(kind) => reading.dump.coverage.kind_gap(
                kind,
                entry.place(),
                "it is stored as protobuf, which is not read",
            ),
            None => *reading.dump.coverage.unread.entry(name.into()).or_default() += 1,
        }
    } else if bytes.first() == Some(&b'{') {
        document::read_bytes(reading, prefix, entry.file, &bytes);
    }
    Ok(())
}

/// `apiVersion` and `kind` of the envelope: field 1 of `runtime.Unknown` is a `TypeMeta` with the
/// strings 1 and 2 (apimachinery `pkg/runtime/generated.proto`).
fn type_of(envelope: &[u8]) -> (String, String) {
    let field = |bytes: &[u8], tag: u8| -> Option<(usize, usize)> {
        let length = usize::from(*bytes.get(1)?);
        (bytes.first() == Some(&tag) && length < 128 && bytes.len() >= 2 + length)
            .then_some((2, 2 + length))
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some((from, to)) = field(envelope, 0x0a) else {
        return Default::default();
    };
    let meta = &envelope[from..to];
    let Some((from, to)) = field(meta, 0x0a) else {
        return Default::default();
    };
    let rest = &meta[to..];
    let kind = field(rest, 0x12)
        .map(|(from, to)| text(&rest[from..to]))
        .unwrap_or_default();
    (text(&meta[from..to]), kind)
}

fn finish(dump: &mut Dump, root: &Root) {
    // The archive is the whole store, so what is there as JSON is all there is of it.
    root.claim(dump, |_, _| Extent::Complete, &[]);
}
