//! Opens the store of a data folder: the lock, the connections, and the check that its database is there.

use super::{Sqlite, schema};
use crate::jobs::store::{
    Store,
    error::{Result, StoreError},
};
use rusqlite::Connection;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::AtomicUsize},
};

/// The name of the database in a data folder.
const DATABASE: &str = "jobs.sqlite";
/// The content of the lock file of a folder whose database was created.
const MARK: &[u8] = b"jobs.sqlite was created\n";
/// The number of connections for reading.
const READERS: usize = 4;

impl Store {
    /// Opens the store in a data folder and locks it for this process. Creates the database in a new folder, and upgrades
    /// one of an older version.
    pub(crate) fn open(data: &Path) -> Result<Self> {
        let mut lock = lock_folder(data)?;
        let database = database(data);
        check_present(data, &database, &mut lock)?;
        let open = || {
            let mut connection = Connection::open(&database)?;
            schema::configure(&connection)?;
            schema::migrate(&mut connection)?;
            Ok(connection)
        };
        let writer = open().map_err(|error: StoreError| error.at(database.clone()))?;
        mark_created(data, &mut lock)?;
        Store::with_connections(data, writer, Some(lock))
    }

    /// Opens the store for a command. A server may be using it.
    pub(crate) fn open_beside_server(data: &Path) -> Result<Self> {
        match Store::open(data) {
            Err(StoreError::InUse { .. }) => {}
            opened => return opened,
        }
        let database = database(data);
        let open = || {
            let connection = Connection::open(&database)?;
            schema::configure(&connection)?;
            match schema::version(&connection)? {
                schema::VERSION => Ok(connection),
                _ => Err(StoreError::OtherVersion),
            }
        };
        let writer = open().map_err(|error: StoreError| error.at(database.clone()))?;
        Store::with_connections(data, writer, None)
    }

    fn with_connections(data: &Path, writer: Connection, lock: Option<File>) -> Result<Self> {
        let readers = (0..READERS).map(|_| {
            let connection = Connection::open(database(data))?;
            connection.busy_timeout(schema::BUSY_TIMEOUT)?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(Mutex::new(connection))
        });
        let database = Sqlite {
            writer: Mutex::new(writer),
            readers: readers.collect::<Result<_>>()?,
            next_reader: AtomicUsize::new(0),
            _lock: lock,
        };
        Ok(Store::on(Box::new(database), Arc::default()))
    }
}

/// The path of the database in a data folder.
pub(super) fn database(data: &Path) -> PathBuf {
    data.join(DATABASE)
}

fn marker(data: &Path) -> PathBuf {
    data.join("lock")
}

/// Locks a data folder, and creates it if it does not exist.
pub(crate) fn lock_folder(data: &Path) -> Result<File> {
    let file = |path: PathBuf| move |source| StoreError::File { path, source };
    fs::create_dir_all(data).map_err(file(data.to_owned()))?;
    let path = marker(data);
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let lock = options.open(&path).map_err(file(path.clone()))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
            path: data.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(StoreError::File { path, source }),
    }
}

/// Fails if the folder had a database, and it is missing or empty.
fn check_present(data: &Path, database: &Path, lock: &mut File) -> Result<()> {
    let is_there = fs::metadata(database).is_ok_and(|metadata| metadata.len() > 0);
    let mut mark = Vec::new();
    lock.read_to_end(&mut mark)
        .map_err(|source| StoreError::File {
            path: marker(data),
            source,
        })?;
    if is_there || mark.is_empty() {
        return Ok(());
    }
    Err(StoreError::Missing {
        database: database.to_owned(),
        marker: marker(data),
    })
}

/// Records in the lock file that the folder has a database.
pub(super) fn mark_created(data: &Path, lock: &mut File) -> Result<()> {
    let mut mark = || {
        if lock.metadata()?.len() == 0 {
            lock.write_all(MARK)?;
        }
        Ok(())
    };
    mark().map_err(|source| StoreError::File {
        path: marker(data),
        source,
    })
}
