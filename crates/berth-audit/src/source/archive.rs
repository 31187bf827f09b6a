//! Archives: tar, gzip and zip, inside each other, in a stream.
//!
//! Told by their first bytes. Invariants: no path leads out of an archive, no link is followed, and
//! nesting ends at [`NESTING_MAX`].

use std::io::{self, Cursor, Read};

use super::guard::{Counted, Guard};
use super::{ReadSeek, Reading, safe_path, unreadable};
use crate::limits::{NESTING_MAX, PATH_BYTES_MAX, TOTAL_BYTES_MAX, ZIP_IN_MEMORY_BYTES_MAX};

/// What a file holds.
pub(super) enum Body<'a> {
    /// A stream.
    Stream(&'a mut dyn Read),
    /// Something that can be positioned.
    Seekable(&'a mut dyn ReadSeek),
}

/// What the first bytes say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Magic {
    Gzip,
    Zip,
    Tar,
    /// A compression that is not read, by name.
    Other(&'static str),
    Plain,
}

/// First bytes that are looked at: a tar header says what it is at offset 257.
const HEAD_BYTES: usize = 512;

/// Reads a file, whatever it is.
pub(super) fn open(reading: &mut Reading, path: &str, body: Body<'_>, depth: u32) {
    if depth > NESTING_MAX {
        reading.gap(
            path,
            "archive",
            "archives are nested too deep; this one is not opened",
        );
        return;
    }
    match body {
        Body::Seekable(body) => {
            let head = match head_of(body).and_then(|head| body.rewind().map(|()| head)) {
                Ok(head) => head,
                Err(error) => return reading.gap(path, "file", unreadable(&error)),
            };
            if magic(&head) == Magic::Zip {
                unzip(reading, path, body, depth);
            } else {
                stream(reading, path, body, depth);
            }
        }
        Body::Stream(body) => stream(reading, path, body, depth),
    }
}

fn stream(reading: &mut Reading, path: &str, body: &mut dyn Read, depth: u32) {
    let head = match head_of(body) {
        Ok(head) => head,
        Err(error) => return reading.gap(path, "file", unreadable(&error)),
    };
    let kind = magic(&head);
    let mut body = Cursor::new(head).chain(body);
    match kind {
        Magic::Gzip => {
            let (counted, count) = Counted::new(&mut body);
            let mut guard = Guard::new(flate2::read::MultiGzDecoder::new(counted), count);
            // `a.tar.gz` becomes `a.tar.gz!` inside; a single compressed log keeps its path.
            open(reading, path, Body::Stream(&mut guard), depth + 1);
        }
        Magic::Zip => zip_in_stream(reading, path, &mut body, depth),
        Magic::Tar => untar(reading, path, &mut body, depth),
        Magic::Other(name) => {
            reading.gap(
                path,
                "archive",
                format!("it is compressed with {name}; unpack it and hand in the folder"),
            );
        }
        Magic::Plain => {
            let mut counted = Total {
                inner: &mut body,
                reading_bytes: reading.dump.coverage.n_bytes,
                n: 0,
            };
            reading.entry(path, &mut counted);
            reading.dump.coverage.n_bytes += counted.n;
        }
    }
}

/// Reads the first bytes; fewer where the file is shorter or breaks off.
fn head_of(body: &mut (impl Read + ?Sized)) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD_BYTES];
    let mut filled = 0;
    while filled < HEAD_BYTES {
        match body.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if filled == 0 => return Err(error),
            Err(_) => break, // the same error comes again where the rest is read
        }
    }
    head.truncate(filled);
    Ok(head)
}

fn magic(head: &[u8]) -> Magic {
    match head {
        [0x1f, 0x8b, 8, ..] => Magic::Gzip,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Magic::Zip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Magic::Other("zstd"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Magic::Other("xz"),
        [b'B', b'Z', b'h', ..] => Magic::Other("bzip2"),
        _ if head.get(257..262) == Some(b"ustar") => Magic::Tar,
        _ => Magic::Plain,
    }
}

fn untar(reading: &mut Reading, path: &str, body: &mut dyn Read, depth: u32) {
    let mut archive = tar::Archive::new(body);
    let entries = match archive.entries() {
        Ok(entries) => entries.raw(true),
        Err(error) => return reading.gap(path, "archive", unreadable(&error)),
    };
    let mut long_name: Option<String> = None;
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return reading.gap(path, "archive", unreadable(&error)),
        };
        let kind = entry.header().entry_type();
        if kind.is_gnu_longname() {
            long_name = text_of(&mut entry, PATH_BYTES_MAX + 1)
                .map(|name| name.trim_end_matches('\0').to_owned());
            continue;
        }
        if kind.is_pax_local_extensions() {
            if let Some(name) = pax_path(&mut entry) {
                long_name = Some(name);
            }
            continue;
        }
        if kind.is_dir() || kind.is_pax_global_extensions() || kind.is_gnu_longlink() {
            long_name = long_name.filter(|_| kind.is_gnu_longlink());
            continue;
        }
        let name = long_name
            .take()
            .unwrap_or_else(|| String::from_utf8_lossy(&entry.path_bytes()).into_owned());
        let inner = match safe_path(&name) {
            Ok(name) => format!("{path}!{name}"),
            Err(why) => {
                reading.gap(path, "file", format!("{why}: `{}`", shown(&name)));
                continue;
            }
        };
        if kind.is_symlink() || kind.is_hard_link() {
            reading.gap(&inner, "link", "it is a link; links are not followed");
        } else if kind.is_file() || kind.is_contiguous() {
            open(reading, &inner, Body::Stream(&mut entry), depth + 1);
        } else {
            reading.gap(&inner, "file", "it is no plain file");
        }
    }
}

/// The path that a pax header gives to the entry behind it.
fn pax_path(entry: &mut dyn Read) -> Option<String> {
    let text = text_of(entry, 16 * PATH_BYTES_MAX)?;
    let extensions = tar::PaxExtensions::new(text.as_bytes());
    let path = extensions
        .filter_map(Result::ok)
        .find(|extension| extension.key() == Ok("path"))?;
    path.value().ok().map(str::to_owned)
}

fn text_of(body: &mut dyn Read, max: usize) -> Option<String> {
    super::read_text(body, max).ok().map(|(text, _)| text)
}

fn zip_in_stream(reading: &mut Reading, path: &str, body: &mut dyn Read, depth: u32) {
    let mut bytes = Vec::new();
    let read = body
        .take(ZIP_IN_MEMORY_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    if bytes.len() as u64 > ZIP_IN_MEMORY_BYTES_MAX {
        let why =
            "a zip archive of this size can't be read in a stream; hand it in as a file of its own";
        return reading.gap(path, "archive", why);
    }
    if let Err(error) = read {
        reading.gap(path, "archive", unreadable(&error));
    }
    unzip(reading, path, &mut Cursor::new(bytes), depth);
}

fn unzip(reading: &mut Reading, path: &str, body: &mut dyn ReadSeek, depth: u32) {
    let mut archive = match zip::ZipArchive::new(body) {
        Ok(archive) => archive,
        Err(error) => {
            return reading.gap(
                path,
                "archive",
                format!("it is no readable zip archive: {error}"),
            );
        }
    };
    for index in 0..archive.len() {
        let mut entry = match archive.by_index(index) {
            Ok(entry) => entry,
            Err(error) => {
                reading.gap(
                    path,
                    "file",
                    format!("entry {index} can't be read: {error}"),
                );
                continue;
            }
        };
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let inner = match safe_path(&name) {
            Ok(name) => format!("{path}!{name}"),
            Err(why) => {
                reading.gap(path, "file", format!("{why}: `{}`", shown(&name)));
                continue;
            }
        };
        if entry.is_symlink() {
            reading.gap(&inner, "link", "it is a link; links are not followed");
        } else if !entry.is_dir() {
            let count = std::rc::Rc::new(std::cell::Cell::new(entry.compressed_size()));
            let mut guard = Guard::new(&mut entry, count);
            open(reading, &inner, Body::Stream(&mut guard), depth + 1);
        }
    }
}

/// A name from outside in a message: short, and without control characters.
fn shown(name: &str) -> String {
    name.chars()
        .take(80)
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

/// Counts plain bytes and stops at [`TOTAL_BYTES_MAX`].
struct Total<'a> {
    inner: &'a mut dyn Read,
    reading_bytes: u64,
    n: u64,
}

impl Read for Total<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.reading_bytes + self.n > TOTAL_BYTES_MAX {
            return Err(io::Error::other(
                "the dump is larger than anything that is read",
            ));
        }
        let n = self.inner.read(buffer)?;
        self.n += n as u64;
        Ok(n)
    }
}
