//! How fast large dumps are read and audited, and with how much memory.
//!
//! Every case runs in a process of its own, so that its peak of memory is its own: this program
//! starts itself with the case's name. Figures go as JSON to the file that `BERTH_BENCH_JSON` names,
//! or to standard output.
//!
//! `cargo bench -p berth-audit --bench dump [-- CASE]`

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "a bench reads the clock, files and its own memory, and prints"
)]

#[path = "dump/cluster.rs"]
mod cluster;
#[path = "dump/files.rs"]
mod files;
#[path = "dump/text.rs"]
mod text;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use berth_audit::engine::audit;
use berth_audit::engine::baseline::Baseline;
use berth_audit::rules;
use berth_audit::settings::Settings;
use berth_audit::source::Reader;
use serde_json::{Map, Value, json};

/// A dump, and the number of pods that must come out of it.
struct Case {
    name: &'static str,
    n_pods: usize,
    /// Hands the dump to the reader; made beforehand where it is of files.
    read: fn(&mut Reader),
    prepare: fn(),
}

const CASES: [Case; 3] = [
    Case {
        name: "cluster",
        n_pods: 150_000,
        read: |reader| reader.file("dump.json", &mut cluster::Stream::new(5_000, 150_000)),
        prepare: || {},
    },
    Case {
        name: "must_gather",
        n_pods: 10_200,
        read: |reader| folder(reader, &must_gather(), "dump"),
        prepare: || {
            must_gather();
        },
    },
    Case {
        name: "inspect",
        n_pods: 1_500,
        read: |reader| {
            let mut file = File::open(inspect()).expect("the tarball was just made");
            reader.seekable("report.tar.gz", &mut file);
        },
        prepare: || {
            inspect();
        },
    },
];

fn main() {
    let asked = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with("--"));
    if let Some(case) = CASES
        .iter()
        .find(|case| Some(case.name) == asked.as_deref())
    {
        println!("{}", measure(case));
        return;
    }
    let mut figures = Map::new();
    for case in &CASES {
        (case.prepare)();
        let this = std::env::current_exe().expect("this program has a path");
        let output = Command::new(this).arg(case.name).output();
        let output = output.expect("this program runs");
        assert!(output.status.success(), "{}: {output:?}", case.name);
        let measured: Map<String, Value> =
            serde_json::from_slice(&output.stdout).expect("a case prints JSON");
        figures.extend(
            measured
                .into_iter()
                .map(|(key, value)| (format!("{}_{key}", case.name), value)),
        );
    }
    let figures = Value::Object(figures);
    match std::env::var_os("BERTH_BENCH_JSON") {
        Some(path) => fs::write(path, figures.to_string()).expect("figures can be written"),
        None => println!("{figures:#}"),
    }
}

/// Seconds, memory in 10^6 bytes, and how much was read and found.
fn measure(case: &Case) -> Value {
    let begun = Instant::now();
    let mut reader = Reader::new();
    (case.read)(&mut reader);
    let dump = reader.finish();
    let read = begun.elapsed();
    let report = audit(
        &dump,
        &rules::all(),
        &Settings::default(),
        &Baseline::default(),
        None,
    );
    let whole = begun.elapsed();
    assert_eq!(
        dump.objects.pods.len(),
        case.n_pods,
        "every pod is read: {:?}",
        dump.coverage.gaps().first()
    );
    json!({
        "s": whole.as_secs_f64(),
        "read_s": read.as_secs_f64(),
        "cpu_s": cpu_seconds(),
        "mb": peak_mb(),
        "read_mb": dump.coverage.n_bytes as f64 / 1e6,
        "findings": report.flat().len(),
    })
}

/// Every file of a folder in the order of names, as the command line hands them in.
fn folder(reader: &mut Reader, path: &Path, name: &str) {
    let listed = fs::read_dir(path).expect("the dump was just made");
    let mut entries: Vec<_> = listed.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            folder(reader, &entry.path(), &inner);
        } else {
            let mut file = File::open(entry.path()).expect("the dump was just made");
            reader.seekable(&inner, &mut file);
        }
    }
}

fn must_gather() -> std::path::PathBuf {
    files::made("must-gather", files::must_gather).expect("the build folder takes the dump")
}

fn inspect() -> std::path::PathBuf {
    files::made("inspect.tar.gz", files::inspect).expect("the build folder takes the dump")
}

/// Peak resident memory of this process in 10^6 bytes.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap_or_default();
    let kib: f64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .expect("Linux says how much memory was used");
    kib * 1024.0 / 1e6
}

/// User and system time of this process; Linux counts in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields behind the name in brackets are numbers; the 12th and 13th are times.
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}
