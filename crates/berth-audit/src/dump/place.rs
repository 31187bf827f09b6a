//! Where something was read: a file inside the dump, and a line in it.

use serde::Serialize;

use super::text::Text;

/// A file of the dump by its number in [`Files`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u32);

/// A place in a file; line 0 where the whole file is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// 1-based line.
    pub line: u32,
}

/// A place with its path, as reports carry it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct Location {
    /// Path inside the dump; `!` stands before the path inside a nested archive.
    pub file: Text,
    /// 1-based line; 0 where the whole file is meant.
    pub line: u32,
}

/// Paths of the files that something was read from; number 0 is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    paths: Vec<Text>,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            paths: vec![Text::new("")],
        }
    }
}

impl Files {
    /// Enters a path; entering the same one twice in a row gives one number.
    pub(crate) fn enter(&mut self, path: &str) -> FileId {
        if self.paths.last().is_none_or(|last| last != path) {
            self.paths.push(Text::new(path));
        }
        FileId(u32::try_from(self.paths.len() - 1).unwrap_or(0))
    }

    /// The path of a file.
    #[must_use]
    pub fn path(&self, file: FileId) -> &Text {
        self.paths.get(file.0 as usize).unwrap_or(&self.paths[0])
    }

    /// The place with its path; `None` for a place in no file.
    #[must_use]
    pub fn location(&self, place: Place) -> Option<Location> {
        (place.file.0 != 0).then(|| Location {
            file: self.path(place.file).clone(),
            line: place.line,
        })
    }
}
