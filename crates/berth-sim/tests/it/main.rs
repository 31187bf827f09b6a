//! Integration tests of the simulator: whole runs, and every reader against hostile input.

mod fuzz;
mod readers;
mod runs;
mod scenarios;
