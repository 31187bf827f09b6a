//! Files that a command writes, and the check before a long run that it will be able to.

use std::fs;
use std::io;
use std::path::Path;

use crate::cli::exit::Failure;

/// Makes a folder where it is missing.
pub(crate) fn make(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))
}

/// Writes files by name into a folder, which is made where it is missing.
pub(crate) fn write_all(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    make(folder)?;
    for (name, content) in files {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|error| unwritable(&path, &error))?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("unable to write {}", path.display()))
        .because(error)
        .next("name a place that you may write to")
}
