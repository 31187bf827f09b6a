//! Dumps that are damaged in ways nobody thought of: what a seed makes of the clean examples.
//!
//! The tests read a few of them; the example `fuzz` reads as many as it is asked to.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use berth_core::stream::Stream;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Paths with their bytes.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// The clean examples, one of each source kind, by their folders.
pub(crate) fn samples() -> Vec<Files> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clean");
    let mut folders: Vec<_> = fs::read_dir(root)
        .expect("clean examples are there")
        .filter_map(Result::ok)
        .collect();
    folders.sort_by_key(fs::DirEntry::file_name);
    let mut samples = Vec::new();
    for folder in folders {
        let mut files = Files::new();
        let name = folder.file_name().to_string_lossy().into_owned();
        gather(&folder.path(), &name, &mut files);
        samples.push(files);
    }
    samples
}

fn gather(path: &Path, name: &str, files: &mut Files) {
    let listed = fs::read_dir(path).expect("an example can be listed");
    let mut entries: Vec<_> = listed.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            gather(&entry.path(), &inner, files);
        } else {
            let bytes = fs::read(entry.path()).expect("an example can be read");
            files.push((inner, bytes));
        }
    }
}

/// What a seed makes of the samples: each in turn, as files or inside an archive, damaged before or
/// after it is packed.
pub(crate) fn damaged(samples: &[Files], seed: u64) -> Files {
    let mut draws = Stream::from_seed(seed).child("damage");
    let n_samples = u64::try_from(samples.len()).expect("few samples");
    let at = usize::try_from(seed % n_samples).expect("it is an index");
    let mut files = samples[at].clone();
    let other = pick_index(&mut draws, samples.len());
    let donor = pick(&mut draws, &samples[other]).1.clone();
    let packing = draws.below(5);
    if packing < 4 || draws.below(2) == 0 {
        for _ in 0..=draws.below(3) {
            let at = pick_index(&mut draws, files.len());
            damage(&mut draws, &mut files[at].1, &donor);
        }
    }
    let mut packed = match packing {
        0 => ("x.tar".to_owned(), tar(&files)),
        1 => ("x.tar.gz".to_owned(), gzip(&tar(&files))),
        2 => ("x.zip".to_owned(), zip(&files)),
        _ => return files,
    };
    if draws.below(2) == 0 {
        damage(&mut draws, &mut packed.1, &donor);
    }
    vec![packed]
}

/// What readers could stumble over.
const TOKENS: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\n- ",
    b"\n---\n",
    b": ",
    b"|",
    b"&a ",
    b"*a",
    b"!!binary ",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"null",
    b"-1",
    b"99999999999999999999",
    b"1e999",
    b"\\u0000",
    b"\r\n",
    b"==== START logs ====\n",
    b"\nkind: List\nitems:\n",
    b"\t",
];

/// One to four changes of bytes.
fn damage(draws: &mut Stream, bytes: &mut Vec<u8>, donor: &[u8]) {
    for _ in 0..=draws.below(4) {
        let at = pick_index(draws, bytes.len() + 1);
        let end = (at + pick_index(draws, 200)).min(bytes.len());
        match draws.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece.repeat(1 + pick_index(draws, 40)));
            }
            3 => {
                let from = pick_index(draws, donor.len() + 1);
                let to = (from + pick_index(draws, 400)).min(donor.len());
                bytes.splice(at..end, donor[from..to].iter().copied());
            }
            4 | 5 => {
                let token = pick(draws, &TOKENS);
                let n = if draws.below(20) == 0 { 5000 } else { 1 };
                bytes.splice(at..at, token.repeat(n));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = draws.next_u64().to_le_bytes()[0];
                }
            }
        }
    }
}

fn pick<'a, T>(draws: &mut Stream, from: &'a [T]) -> &'a T {
    &from[pick_index(draws, from.len())]
}

fn pick_index(draws: &mut Stream, below: usize) -> usize {
    let n = u64::try_from(below).expect("a length is a u64");
    usize::try_from(draws.below(n)).expect("it is below a usize")
}

fn tar(files: &Files) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive
            .append_data(&mut header, path, bytes.as_slice())
            .expect("memory can be written");
    }
    archive.into_inner().expect("memory can be written")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

fn zip(files: &Files) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        archive
            .start_file(path.as_str(), zip::write::SimpleFileOptions::default())
            .expect("memory can be written");
        archive.write_all(bytes).expect("memory can be written");
    }
    archive
        .finish()
        .expect("memory can be written")
        .into_inner()
}

/// Reads files, runs every rule and writes every form; nothing of it may panic.
pub(crate) fn audited(files: &Files) {
    use berth_audit::engine::baseline::Baseline;
    use berth_audit::render::text::{Detail, Paint};
    use berth_audit::render::{html, junit, markdown, sarif, text};

    let mut reader = berth_audit::source::Reader::new();
    for (path, bytes) in files {
        reader.file(path, &mut bytes.as_slice());
    }
    let rules = berth_audit::rules::all();
    let settings = berth_audit::settings::Settings::default();
    let report = berth_audit::engine::audit(
        &reader.finish(),
        &rules,
        &settings,
        &Baseline::default(),
        None,
    );
    let _ = text::render(&report, Detail::All, Paint::Ansi);
    let _ = html::render(&report);
    let _ = markdown::render(&report);
    let _ = junit::render(&report, berth_audit::finding::Severity::Warning);
    let _ = sarif::render(&report, &rules, "0");
}
