//! Public traces and published results on disk: where they are, and how much of them is read.
//!
//! Files may be compressed by gzip, whatever their name. Invariant: a file is read in full or not
//! at all. Not here: what is in them (that is `berth_sim`), and downloads.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use berth_sim::published::{self, ExpectedTable, Inputs};
use berth_sim::trace::table::ReadError;
use flate2::read::MultiGzDecoder;

use crate::cli::exit::Failure;

/// Names the folder of the data.
const VARIABLE: &str = "BERTH_DATA";
/// Where data are looked for without `BERTH_DATA`.
const DEFAULT_FOLDERS: [&str; 2] = ["../shared/data", "data"];
/// The most bytes of a file, also after decompression: a hundred times the largest public list,
/// and little enough to hold in memory.
pub(crate) const FILE_BYTES_MAX: u64 = 256 << 20;
/// How every gzip file begins (RFC 1952).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Folders that hold the data.
#[derive(Debug)]
pub(crate) struct Data {
    folders: Vec<PathBuf>,
}

/// A file in memory, with its path for messages.
#[derive(Debug)]
pub(crate) struct Content {
    /// Its path.
    pub(crate) name: String,
    /// Its bytes, decompressed.
    pub(crate) bytes: Vec<u8>,
}

/// Who published a file.
#[derive(Debug, Clone, Copy)]
enum Source {
    Openb,
    Expected,
    GoRand,
}

impl Data {
    /// The folder that `BERTH_DATA` names, or else the default ones.
    pub(crate) fn locate() -> Self {
        let folders = match env::var_os(VARIABLE) {
            Some(folder) if !folder.is_empty() => vec![PathBuf::from(folder)],
            _ => DEFAULT_FOLDERS.iter().map(PathBuf::from).collect(),
        };
        Self { folders }
    }

    /// The published experiment on a pod list, by its name.
    pub(crate) fn openb(&self, trace: &str) -> Result<Inputs, Failure> {
        let [nodes, pods] = self.openb_files(trace)?;
        Inputs::read(
            trace,
            (&nodes.name, &nodes.bytes),
            (&pods.name, &pods.bytes),
        )
        .map_err(unreadable)
    }

    /// The node list of the published experiment and a pod list, by its name.
    pub(crate) fn openb_files(&self, trace: &str) -> Result<[Content; 2], Failure> {
        let nodes = self.read("openb/openb_node_list_gpu_node.csv", Source::Openb)?;
        let path = format!("openb/openb_pod_list_{trace}.csv");
        let pods = self
            .read(&path, Source::Openb)
            .map_err(|failure| self.suggest(failure))?;
        Ok([nodes, pods])
    }

    /// The published allocation and fragmentation.
    pub(crate) fn expected(&self) -> Result<ExpectedTable, Failure> {
        let read = |name| self.read(name, Source::Expected);
        let allocation = read("openb-expected/analysis_allo_discrete.csv")?;
        let fragmentation = read("openb-expected/analysis_frag_discrete.csv")?;
        published::expected(
            (&allocation.name, &allocation.bytes),
            (&fragmentation.name, &fragmentation.bytes),
        )
        .map_err(unreadable)
    }

    /// The first outputs of Go's generator for a seed.
    pub(crate) fn go_rand(&self, seed: u64) -> Result<Vec<u8>, Failure> {
        Ok(self
            .read(&format!("go-rand/seed-{seed}.u64le"), Source::GoRand)?
            .bytes)
    }

    /// Reads a file, or the same file with `.gz` behind its name.
    fn read(&self, path: &str, source: Source) -> Result<Content, Failure> {
        for folder in &self.folders {
            for name in [path.to_owned(), format!("{path}.gz")] {
                let path = folder.join(name);
                if path.is_file() {
                    return read_file(&path);
                }
            }
        }
        let looked: Vec<String> = self
            .folders
            .iter()
            .map(|folder| folder.join(path).display().to_string())
            .collect();
        Err(Failure::unreadable(format!("there is no {path}"))
            .because(format!("looked for {}", looked.join(" and ")))
            .next(source.advice()))
    }

    /// Adds the pod lists that are there to the failure to find one.
    fn suggest(&self, failure: Failure) -> Failure {
        let mut names: Vec<String> = self
            .folders
            .iter()
            .filter_map(|folder| folder.join("openb").read_dir().ok())
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter_map(|name| {
                let name = name.strip_prefix("openb_pod_list_")?;
                Some(
                    name.strip_suffix(".gz")
                        .unwrap_or(name)
                        .strip_suffix(".csv")?
                        .to_owned(),
                )
            })
            .collect();
        names.sort();
        names.dedup();
        match names.as_slice() {
            [] => failure,
            names => failure.next(format!("take one of {}", names.join(", "))),
        }
    }
}

impl Source {
    fn advice(self) -> String {
        let origin = match self {
            Self::Openb => {
                "the lists are public: `data/csv` of hkust-adsl/kubernetes-scheduler-simulator, or \
                 cluster-trace-gpu-v2023 of alibaba/clusterdata; put them into a folder `openb`"
            }
            Self::Expected => {
                "the results are public: `experiments/analysis/expected_results` of \
                 hkust-adsl/kubernetes-scheduler-simulator; put them into a folder `openb-expected`"
            }
            Self::GoRand => {
                "the published seeds are 42 to 51; for another one write the first 607 `Uint64` of \
                 Go's `rand.New(rand.NewSource(SEED))`, little-endian, into a folder `go-rand`"
            }
        };
        format!("{origin}, and set {VARIABLE} to the folder above it")
    }
}

/// Reads a file that the user named.
pub(crate) fn read_file(path: &Path) -> Result<Content, Failure> {
    let failed = |error: io::Error| {
        Failure::unreadable(format!("unable to read {}", path.display()))
            .because(error)
            .next("check the path and its permissions")
    };
    let bytes = File::open(path).and_then(bounded).map_err(failed)?;
    let bytes = match bytes.strip_prefix(&GZIP_MAGIC) {
        Some(_) => bounded(MultiGzDecoder::new(bytes.as_slice())).map_err(failed)?,
        None => bytes,
    };
    Ok(Content {
        name: path.display().to_string(),
        bytes,
    })
}

/// What is wrong with the content of a file.
pub(crate) fn unreadable(error: ReadError) -> Failure {
    let place = match (error.line, error.column.as_str()) {
        (0, _) => String::new(),
        (line, "") => format!(":{line}"),
        (line, column) => format!(":{line}, column `{column}`"),
    };
    Failure::unreadable(format!("unable to understand {}{place}", error.file))
        .because(format!(
            "expected {}, found {}",
            error.expected, error.found
        ))
        .next(error.hint)
}

fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let bound = format!(
            "it holds more than {} MiB, the bound for a trace",
            FILE_BYTES_MAX >> 20
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, bound));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_bound_is_refused() {
        let error = bounded(io::repeat(b'x')).unwrap_err();
        assert!(error.to_string().contains("256 MiB"), "{error}");
        assert_eq!(bounded(io::repeat(b'x').take(7)).unwrap(), b"xxxxxxx");
    }
}
