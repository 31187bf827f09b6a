//! What lies outside the process: data files that are read, files that are written, the CPU's clock.

pub(crate) mod cpu;
pub(crate) mod data;
pub(crate) mod folder;
pub(crate) mod target;
pub(crate) mod trace;
