//! Errors of the store.

use std::path::PathBuf;

/// Errors of the store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Another server uses the data folder.
    #[error(
        "another Hipward server uses the data folder {}; stop it, or choose another folder with --data",
        path.display()
    )]
    InUse {
        /// The data folder.
        path: PathBuf,
    },
    /// The database was written by another version.
    #[error(
        "the data folder has a database of schema {version}, which this version cannot read; choose \
         another folder with --data"
    )]
    Schema {
        /// The schema version that was found.
        version: String,
    },
    /// Another attempt has the job, or it has ended.
    #[error("the lease of the job has ended")]
    Fenced,
    /// A file could not be used.
    #[error("cannot use {}: {source}; choose another folder with --data", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The database reports an error.
    #[error("the job database reports: {0}")]
    Database(#[from] rusqlite::Error),
    /// A stored value cannot be parsed.
    #[error("a value in the job database cannot be parsed: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// Too many jobs are queued.
    #[error("the queue is full: {waiting} jobs are waiting")]
    QueueFull {
        /// The number of queued jobs.
        waiting: usize,
    },
    /// The system returned no random numbers.
    #[error("the system returned no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// The result of a store call.
pub(super) type Result<T> = std::result::Result<T, StoreError>;
