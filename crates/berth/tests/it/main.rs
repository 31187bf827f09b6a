//! The command line as its users see it: what it prints, and how it ends.

// A helper's panic is the test's report.
#![allow(clippy::unwrap_used)]

mod command_line;
mod pages;
mod played;
mod published;
mod quality;
mod scenario;
mod support;
mod up;
