//! The command line, the services and the views of Berth.
//!
//! This crate composes: it reads files and clocks, starts threads and tasks, and shows what the
//! pure crates return. Invariant: no rule of scheduling lives here. Not a library for others: it is
//! one only so that the binary stays thin.

pub mod cli;
mod console;
mod ext;
mod output;
mod runs;
mod service;
