//! Opens what a site sent and hands it to the reader, file by file in the order of names.
//!
//! Invariant: links in folders are not followed, and a file that can't be opened is a gap, unless it
//! was named on the command line.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use berth_audit::dump::Dump;
use berth_audit::source::Reader;
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::exit::Failure;

/// Folders inside folders; deeper ones are links in a circle or a mistake.
const DEPTH_MAX: usize = 40;

/// Reads every path into one dump.
pub(super) fn read(paths: &[PathBuf]) -> Result<Dump, Failure> {
    let mut reader = Reader::new();
    let bar = progress(paths);
    for path in paths {
        if path.as_os_str() == "-" {
            reader.file("stdin", &mut bar.wrap_read(io::stdin().lock()));
            continue;
        }
        let kind = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if kind.is_dir() {
            folder(&mut reader, path, &name_of(path), 0, &bar);
        } else {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            take(&mut reader, file, &name_of(path), &bar);
        }
    }
    bar.finish_and_clear();
    Ok(reader.finish())
}

fn folder(reader: &mut Reader, path: &Path, name: &str, depth: usize, bar: &ProgressBar) {
    if depth > DEPTH_MAX {
        return reader.refuse(name, "folders are nested too deep");
    }
    let listed = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match listed {
        Ok(entries) => entries,
        Err(error) => return reader.refuse(name, &format!("the folder can't be listed: {error}")),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => {
                reader.refuse(&inner, "it is a link; links are not followed");
            }
            Ok(kind) if kind.is_dir() => folder(reader, &entry.path(), &inner, depth + 1, bar),
            Ok(kind) if kind.is_file() => match File::open(entry.path()) {
                Ok(file) => take(reader, file, &inner, bar),
                Err(error) => reader.refuse(&inner, &format!("it can't be opened: {error}")),
            },
            Ok(_) => reader.refuse(&inner, "it is no plain file"),
            Err(error) => reader.refuse(&inner, &format!("it can't be examined: {error}")),
        }
    }
}

/// A plain file can be positioned, which zip archives need; a pipe can't.
fn take(reader: &mut Reader, file: File, name: &str, bar: &ProgressBar) {
    let is_plain = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut counted = Counted { file, bar };
    if is_plain {
        reader.seekable(name, &mut counted);
    } else {
        reader.file(name, &mut counted);
    }
}

/// Moves the progress bar while it reads.
struct Counted<'a> {
    file: File,
    bar: &'a ProgressBar,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.bar.inc(n as u64);
        Ok(n)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A path as reports name it: without what leads out of the present folder.
fn name_of(path: &Path) -> String {
    let parts = path.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let name = parts.collect::<Vec<_>>().join("/");
    if name.is_empty() {
        ".".to_owned()
    } else {
        name
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(format!("unable to read {}", path.display()))
        .because(error)
        .next("name a file, a folder or an archive of a dump, or `-` for standard input")
}

fn progress(paths: &[PathBuf]) -> ProgressBar {
    // The bar hides itself where nobody watches standard error.
    let sizes = paths.iter().map(|path| {
        fs::metadata(path)
            .ok()
            .filter(fs::Metadata::is_file)
            .map(|file| file.len())
    });
    let style = |template| {
        ProgressStyle::with_template(template).expect("the template is a constant that parses")
    };
    match sizes.sum::<Option<u64>>() {
        Some(total) => ProgressBar::new(total)
            .with_style(style("reading {bar:30} {bytes}/{total_bytes} {eta}")),
        None => ProgressBar::no_length().with_style(style("reading {bytes}")),
    }
}
