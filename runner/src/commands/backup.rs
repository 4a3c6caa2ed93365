//! `hipward backup` and `hipward restore`: copies of a server's jobs, results and tokens.

use super::data::DataArgs;
use crate::jobs::{back_up, restore};
use std::{path::PathBuf, process::ExitCode};

/// Arguments of `hipward backup`.
#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// New file for the copy
    file: PathBuf,
    #[command(flatten)]
    data: DataArgs,
}

/// Arguments of `hipward restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// A file that `hipward backup` wrote
    file: PathBuf,
    /// Rename an existing database instead of refusing to replace it
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// Writes a copy, also while a server runs.
pub(crate) fn run_backup(args: BackupArgs) -> ExitCode {
    // The copy contains the code of all users. `prepared_folder` sets the umask.
    let copied = args
        .data
        .prepared_folder()
        .and_then(|data| back_up(&data, &args.file).map_err(|error| error.to_string()));
    exit_code(copied.map(|jobs| format!("{jobs} jobs are in {}", args.file.display())))
}

/// Puts a copy in place of the database. No server may run.
pub(crate) fn run_restore(args: RestoreArgs) -> ExitCode {
    let restored = args.data.prepared_folder().and_then(|data| {
        restore(&data, &args.file, args.replace).map_err(|error| error.to_string())
    });
    exit_code(restored.map(|(jobs, former)| match former {
        None => format!("{jobs} jobs are restored"),
        Some(former) => format!(
            "{jobs} jobs are restored; the former database is {}",
            former.display()
        ),
    }))
}

/// Prints the result of a command.
pub(super) fn exit_code(done: Result<String, String>) -> ExitCode {
    match done {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hipward: {error}");
            ExitCode::FAILURE
        }
    }
}
