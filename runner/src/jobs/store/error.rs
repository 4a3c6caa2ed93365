//! Errors of the store.

use super::sqlite;
use rusqlite::{ErrorCode, ffi};
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
    /// The database was written by a newer version.
    #[error(
        "the job database has schema {version}, and this version of Hipward reads up to {}; install the newer version again, or \
         choose another folder with --data",
        sqlite::VERSION
    )]
    Schema {
        /// The schema version that was found.
        version: usize,
    },
    /// The database of a running server has another schema than this program.
    #[error("the server that uses this data folder has another version of Hipward; stop it first")]
    OtherVersion,
    /// The folder has been used, and its database is missing.
    #[error(
        "the job database {} is missing, although this data folder was used before; restore a backup with `hipward restore`, or \
         delete the file {} to start with an empty database",
        database.display(), marker.display()
    )]
    Missing {
        /// The path of the database.
        database: PathBuf,
        /// The file that shows that the folder was used.
        marker: PathBuf,
    },
    /// The database file is damaged.
    #[error(
        "the job database{} is damaged ({reason}); stop the server, and restore a backup with `hipward restore BACKUP --replace`",
        database.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default()
    )]
    Damaged {
        /// The path of the database, if known.
        database: Option<PathBuf>,
        /// What SQLite reports.
        reason: String,
    },
    /// The disk is full.
    #[error("the disk of the job database is full; free space on the disk of the data folder")]
    DiskFull,
    /// The database cannot be written.
    #[error(
        "the job database cannot be written; check that the data folder's disk is not mounted read-only, and the permissions of \
         its files"
    )]
    ReadOnly,
    /// Another attempt has the job, or it has ended.
    #[error("the lease of the job has ended")]
    Fenced,
    /// A file that would be overwritten exists.
    #[error("{} already exists; choose another name, or for `hipward restore` use --replace, which renames it", path.display())]
    TargetExists {
        /// The file.
        path: PathBuf,
    },
    /// A token has this name already.
    #[error(
        "there is already a token named {name}; remove it first with `hipward token remove {name}`"
    )]
    TokenExists {
        /// The name.
        name: String,
    },
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
    Database(rusqlite::Error),
    /// The shared database was changed by a newer version.
    #[error(
        "the job database has schema {version}, and this version of Hipward reads up to {readable}; install the version of the \
         other servers"
    )]
    SharedSchema {
        /// The schema version that was found.
        version: usize,
        /// The newest version that this program reads.
        readable: usize,
    },
    /// The address of the shared database is invalid.
    #[error(
        "the address of the job database is invalid ({reason}); use postgres://USER@HOST/DATABASE"
    )]
    DatabaseUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The certificates for the shared database cannot be used.
    #[error("the certificates in {} cannot be used ({reason}); pass a PEM file with --database-ca", path.display())]
    DatabaseCertificates {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The database, or the server that has it, does not answer at present.
    #[error("{peer} cannot be reached: {reason}; check that it runs, and its address")]
    Unreachable {
        /// The database or server.
        peer: String,
        /// What the connection reports.
        reason: String,
    },
    /// PostgreSQL reports an error.
    #[error("the job database reports: {0}")]
    Postgres(String),
    /// A stored value has another type than expected, or is missing.
    #[error("a value in the job database has an unexpected type")]
    UnexpectedValue,
    /// A stored value cannot be parsed.
    #[error("a value in the job database cannot be parsed: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// Too many jobs are queued.
    #[error("the queue is full: {waiting} jobs are waiting")]
    QueueFull {
        /// The number of queued jobs.
        waiting: usize,
    },
    /// Too many jobs of one token are queued.
    #[error("the queue is full for this token: {waiting} of its jobs are waiting")]
    OwnerQueueFull {
        /// The number of its queued jobs.
        waiting: usize,
    },
    /// The jobs of one token have used devices for as long as it may on a day.
    #[error("the jobs of this token have used devices for {} minutes today", limit.as_secs() / 60)]
    DeviceTimeSpent {
        /// The permitted time.
        limit: std::time::Duration,
        /// Time until the next day begins.
        retry_after: std::time::Duration,
    },
    /// The system returned no random numbers.
    #[error("the system returned no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

impl StoreError {
    /// Damage that a check of the database has reported.
    pub(super) fn damaged(reason: String) -> Self {
        StoreError::Damaged {
            database: None,
            reason,
        }
    }

    /// Adds the path of the database to an error that is about the file.
    pub(super) fn at(self, path: PathBuf) -> Self {
        match self {
            StoreError::Damaged { reason, .. } => StoreError::Damaged {
                database: Some(path),
                reason,
            },
            other => other,
        }
    }
}

impl StoreError {
    /// Whether the same change may succeed later, once the database is reachable or has space again.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(
            self,
            StoreError::Unreachable { .. } | StoreError::DiskFull | StoreError::ReadOnly
        )
    }

    /// The address of a database cannot be parsed.
    pub(super) fn database_url(error: tokio_postgres::Error) -> Self {
        StoreError::DatabaseUrl {
            reason: with_causes(&error),
        }
    }

    /// The connections to the database report an error.
    pub(super) fn disconnected(error: &dyn std::error::Error) -> Self {
        Self::unreachable(&with_causes(error))
    }

    /// The database does not answer.
    pub(super) fn unreachable(reason: &impl std::fmt::Display) -> Self {
        StoreError::Unreachable {
            peer: "the job database".to_owned(),
            reason: reason.to_string(),
        }
    }

    /// A server elsewhere does not answer, or reports an error.
    pub(in crate::jobs) fn remote(url: &str, reason: &str) -> Self {
        StoreError::Unreachable {
            peer: format!("the server {url}"),
            reason: reason.to_owned(),
        }
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(reported) = error.as_db_error() else {
            return if error.is_closed() || is_io(&error) {
                StoreError::unreachable(&with_causes(&error))
            } else {
                StoreError::Postgres(with_causes(&error))
            };
        };
        let code = reported.code();
        match code.code() {
            "53100" => StoreError::DiskFull,
            // The server stops or starts, has too many connections, or asks to repeat a transaction.
            "57P01" | "57P02" | "57P03" | "53300" | "40001" | "40P01" => {
                StoreError::unreachable(&reported.message())
            }
            // A standby after a failover.
            "25006" => StoreError::unreachable(&reported.message()),
            _ => StoreError::Postgres(reported.message().to_owned()),
        }
    }
}

/// Whether the connection is the cause of an error.
fn is_io(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>())
}

/// An error with its causes, which its own text leaves out.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::damaged(error.to_string())
            }
            Some(ErrorCode::DiskFull) => StoreError::DiskFull,
            // The index of the write-ahead log could not grow.
            Some(ErrorCode::SystemIoFailure)
                if error
                    .sqlite_error()
                    .is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE) =>
            {
                StoreError::DiskFull
            }
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly,
            _ => StoreError::Database(error),
        }
    }
}

/// The result of a store call.
pub(super) type Result<T> = std::result::Result<T, StoreError>;
