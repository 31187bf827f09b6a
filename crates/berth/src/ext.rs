//! What lies outside the process: folders and data files.

pub(crate) mod folder;
