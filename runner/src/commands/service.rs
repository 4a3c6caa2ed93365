//! Commands that run until they are stopped: `hipward serve` and `hipward worker`.

use std::{
    error::Error,
    io::{IsTerminal, stderr},
    process::ExitCode,
};
use tracing_subscriber::filter::LevelFilter;

/// Logs to standard error, runs the service on a new runtime, and prints its error.
pub(super) fn run(service: impl Future<Output = Result<(), Box<dyn Error>>>) -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_max_level(LevelFilter::INFO)
        .with_target(false)
        .with_ansi(stderr().is_terminal())
        .init();
    let ended = tokio::runtime::Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(service));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hipward: {error}");
            ExitCode::FAILURE
        }
    }
}
