//! Runs one launch: reads a description as JSON from standard input, and writes the report as JSON to standard output.

use std::process::ExitCode;

fn main() -> ExitCode {
    hipward_emulator::run_command()
}
