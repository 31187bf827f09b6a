//! A trace by its name on the command line, and the workload behind it.
//!
//! Invariant: formats are those of the catalogue in `berth_sim::trace`; here are only their files.

use std::fmt;
use std::path::{Path, PathBuf};

use berth_core::time::Span;
use berth_sim::trace::{
    self, File, Format, Need, Origin, native_csv, native_json, openb_like, openb_replay,
};
use berth_sim::workload::Workload;

use crate::cli::exit::Failure;
use crate::ext::data::{self, Content, Data};

/// Begins the names of made-up sites.
const SITE: &str = "site:";

/// Which workload is run.
#[derive(Debug, Clone)]
pub(crate) enum Trace {
    /// A pod list of the published experiment, by name.
    Openb(String),
    /// A file of one's own, or a folder of tables.
    Native(PathBuf),
    /// Made up from a seed.
    Generated(&'static Format),
}

/// Reads `KIND` or `KIND:NAME`; the presets of a site also stand for themselves.
pub(crate) fn parse(text: &str) -> Result<Trace, String> {
    let name = text.strip_prefix(SITE).unwrap_or(text);
    if let Some(format) = generated().find(|format| format.name == name || full(format) == text) {
        return Ok(Trace::Generated(format));
    }
    match text.split_once(':') {
        Some(("openb", name)) if is_list_name(name) => Ok(Trace::Openb(name.to_owned())),
        Some(("native", path)) if !path.is_empty() => Ok(Trace::Native(path.into())),
        Some(("openb", _)) => Err("name the pod list, such as openb:default".to_owned()),
        Some(("native", _)) => Err("name the file, such as native:work.json".to_owned()),
        _ => {
            let names: Vec<String> = generated().map(full).collect();
            Err(format!(
                "give openb:NAME, native:PATH, {}",
                names.join(" or ")
            ))
        }
    }
}

/// The name of a pod list, without `openb:`.
pub(crate) fn list(text: &str) -> Result<String, String> {
    match is_list_name(text) {
        true => Ok(text.to_owned()),
        false => Err("name the pod list, such as default".to_owned()),
    }
}

impl Trace {
    /// True where each seed makes a workload of its own.
    pub(crate) const fn is_generated(&self) -> bool {
        matches!(self, Self::Generated(_))
    }

    /// The workload; `seed` and `length` matter to generated ones only.
    ///
    /// # Errors
    /// If a file is missing or isn't what it should be.
    pub(crate) fn workload(
        &self,
        seed: u64,
        length: Option<Span>,
        data: &Data,
    ) -> Result<Workload, Failure> {
        match self {
            Self::Openb(list) => read(&openb_replay::FORMAT, &data.openb_files(list)?),
            Self::Native(path) if path.is_dir() => {
                read(&native_csv::FORMAT, &tables(path, &native_csv::FORMAT)?)
            }
            Self::Native(path) => read(&native_json::FORMAT, &[data::read_file(path)?]),
            Self::Generated(format) => match format.origin {
                Origin::Seed(make) => Ok(make(seed, length)),
                Origin::Files { .. } => unreachable!("the parser lets only seeds through"),
            },
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Openb(name) => write!(f, "openb:{name}"),
            Self::Native(path) => write!(f, "native:{}", path.display()),
            Self::Generated(format) => f.write_str(&full(format)),
        }
    }
}

fn generated() -> impl Iterator<Item = &'static Format> {
    let formats = trace::FORMATS.iter().copied();
    formats.filter(|format| matches!(format.origin, Origin::Seed(_)))
}

/// The name with its kind; only sites have one.
fn full(format: &Format) -> String {
    match format.name == openb_like::FORMAT.name {
        true => format.name.to_owned(),
        false => format!("{SITE}{}", format.name),
    }
}

/// A name becomes a part of a file's name, so it must not lead anywhere else.
fn is_list_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn read(format: &Format, contents: &[Content]) -> Result<Workload, Failure> {
    let files: Vec<File<'_>> = contents
        .iter()
        .map(|file| File {
            name: &file.name,
            bytes: &file.bytes,
        })
        .collect();
    match format.origin {
        Origin::Files { read, .. } => read(&files).map_err(data::unreadable),
        Origin::Seed(_) => unreachable!("only formats with files are read"),
    }
}

/// The tables of a folder, one a role; one that may be left out is empty then.
fn tables(folder: &Path, format: &Format) -> Result<Vec<Content>, Failure> {
    let Origin::Files { files, .. } = &format.origin else {
        return Ok(Vec::new());
    };
    let table = |role: &trace::FileRole| {
        let names = [
            format!("{}.csv", role.name),
            format!("{}.csv.gz", role.name),
        ];
        match names
            .iter()
            .map(|name| folder.join(name))
            .find(|path| path.is_file())
        {
            Some(path) => data::read_file(&path),
            None if role.need == Need::Optional => Ok(Content {
                name: folder.join(&names[0]).display().to_string(),
                bytes: Vec::new(),
            }),
            None => Err(Failure::unreadable(format!(
                "there is no {} in {}",
                names[0],
                folder.display()
            ))
            .because(format!("a folder of tables needs {}", role.summary))
            .next("see the format `csv` in the book, or name a file of the format `json`")),
        }
    };
    files.iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_and_printed_alike() {
        let check = |text: &str| assert_eq!(parse(text).unwrap().to_string(), text);
        check("openb:default");
        check("openb-like");
        check("native:a/b:c.json");
        check("site:small");
        assert_eq!(parse("small").unwrap().to_string(), "site:small");
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for wrong in [
            "",
            "openb",
            "openb:",
            "openb:../x",
            "native:",
            "site:",
            "philly:x",
            "default",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
