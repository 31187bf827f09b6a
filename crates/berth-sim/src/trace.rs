//! The catalogue of trace formats: one file each. Readers take bytes and never touch a disk.

pub mod openb;
pub mod table;
