//! The binary: hands the command line to the library and returns its exit code. Nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    berth::cli::main()
}
