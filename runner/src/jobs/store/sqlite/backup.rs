//! Copies of the database: `hipward backup` and `hipward restore`.

use super::{
    open::{database, lock_folder, mark_created},
    schema,
};
use crate::jobs::store::error::{Result, StoreError};
use rusqlite::{Connection, OpenFlags};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// The files of a database that SQLite creates beside it.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// Copies the database of a data folder into a new file. A server may be using it: the copy is the state of one moment. Returns
/// the number of jobs in it.
pub(crate) fn back_up(data: &Path, target: &Path) -> Result<usize> {
    if target.exists() {
        return Err(StoreError::TargetExists {
            path: target.to_owned(),
        });
    }
    let source = database(data);
    let partial = beside(target, ".partial");
    let Some(name) = partial.to_str() else {
        let source = io::Error::from(io::ErrorKind::InvalidFilename);
        return Err(StoreError::File {
            path: partial,
            source,
        });
    };
    let connection = read_only(&source)?;
    remove_if_there(&partial)?;
    let copied = (|| {
        connection.execute("vacuum into ?1", [name])?;
        let jobs = verified(&partial)?;
        persist(&partial, target)?;
        Ok(jobs)
    })();
    if copied.is_err() {
        remove_if_there(&partial)?;
    }
    copied.map_err(|error: StoreError| error.at(source))
}

/// Replaces the database of a data folder by a backup. No server may use the folder. With `replace`, an existing database is
/// renamed; without, it is an error. Returns the number of jobs, and the new name of the former database.
pub(crate) fn restore(
    data: &Path,
    backup: &Path,
    replace: bool,
) -> Result<(usize, Option<PathBuf>)> {
    let mut lock = lock_folder(data)?;
    let target = database(data);
    if target.exists() && !replace {
        return Err(StoreError::TargetExists { path: target });
    }
    let partial = beside(&target, ".restored");
    remove_if_there(&partial)?;
    // Before anything is changed: a damaged backup must not replace a database.
    let jobs = verified(backup).map_err(|error| error.at(backup.to_owned()))?;
    fs::copy(backup, &partial).map_err(file(&partial))?;
    let former = if target.exists() {
        let former = free_name(&target);
        for suffix in COMPANIONS {
            rename_if_there(&beside(&target, suffix), &beside(&former, suffix))?;
        }
        fs::rename(&target, &former).map_err(file(&target))?;
        Some(former)
    } else {
        for suffix in COMPANIONS {
            remove_if_there(&beside(&target, suffix))?;
        }
        None
    };
    persist(&partial, &target)?;
    mark_created(data, &mut lock)?;
    Ok((jobs, former))
}

/// The damage of a database, if there is any. Reads all of it.
pub(super) fn damage(connection: &Connection) -> Result<Option<String>> {
    let checked = connection.query_row("pragma quick_check(1)", [], |row| row.get(0));
    match checked.map_err(StoreError::from) {
        Ok(found) => {
            let found: String = found;
            Ok((found != "ok").then_some(found))
        }
        // Damage that prevents the check.
        Err(StoreError::Damaged { reason, .. }) => Ok(Some(reason)),
        Err(error) => Err(error),
    }
}

/// Checks a copy. Returns the number of its jobs.
fn verified(path: &Path) -> Result<usize> {
    let connection = read_only(path)?;
    if let Some(damage) = damage(&connection)? {
        return Err(StoreError::damaged(damage));
    }
    match schema::version(&connection)? {
        0 => Err(StoreError::damaged("it has no jobs".to_owned())),
        version if version > schema::VERSION => Err(StoreError::Schema { version }),
        _ => {
            let jobs: i64 =
                connection.query_row("select count(*) from jobs", [], |row| row.get(0))?;
            Ok(usize::try_from(jobs).unwrap_or(0))
        }
    }
}

/// Opens an existing database.
fn read_only(path: &Path) -> Result<Connection> {
    File::open(path).map_err(file(path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Reading a write-ahead log requires its index, which is written. A backup has no log, and may be read-only.
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(schema::BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Renames a complete file into place, so that a power failure leaves either all of it or nothing.
fn persist(partial: &Path, target: &Path) -> Result<()> {
    let sync = |path: &Path| File::open(path)?.sync_all();
    sync(partial).map_err(file(partial))?;
    fs::rename(partial, target).map_err(file(target))?;
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    sync(folder).map_err(file(folder))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// `jobs.sqlite.replaced-1`, or the next number that is free.
fn free_name(path: &Path) -> PathBuf {
    let name = |number| beside(path, &format!(".replaced-{number}"));
    let mut number = 1;
    while name(number).exists() {
        number += 1;
    }
    name(number)
}

fn remove_if_there(path: &Path) -> Result<()> {
    ignore_missing(fs::remove_file(path)).map_err(file(path))
}

fn rename_if_there(from: &Path, to: &Path) -> Result<()> {
    ignore_missing(fs::rename(from, to)).map_err(file(from))
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::File { path, source }
}
