//! A file that will be written at the end of a long run.
//!
//! Invariant: whether it can be written is known before the run, and nobody sees half of it: the
//! text goes to a file beside it, which takes its name at the end and is gone if the run fails.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::cli::exit::Failure;

/// A place that will take a file.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    part: PathBuf,
    file: File,
}

impl Target {
    /// Makes sure that `path` can be written.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("unable to write {}", path.display()))
                .because(why)
                .next("name a file in a folder that exists and that you may write to")
        };
        if path.is_dir() {
            return Err(failed(&"it is a folder"));
        }
        let name = path
            .file_name()
            .ok_or_else(|| failed(&"it names no file"))?;
        let mut part = OsString::from(".");
        part.push(name);
        part.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(part);
        let file = File::create_new(&part).map_err(|error| failed(&error))?;
        Ok(Self {
            path: path.to_path_buf(),
            part,
            file,
        })
    }

    /// Writes the text and gives the file its name.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Failure> {
        self.file.write_all(text.as_bytes())?;
        self.file.sync_all()?;
        Ok(fs::rename(&self.part, &self.path)?)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // After `write` there is nothing left to remove; after a failure this is best effort.
        let _ = fs::remove_file(&self.part);
    }
}
