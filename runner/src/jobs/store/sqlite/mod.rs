//! The embedded database: SQLite, in the data folder of one server.

mod backup;
mod open;
mod schema;

pub(crate) use backup::{back_up, restore};
pub(crate) use open::lock_folder as lock_data_folder;
pub(super) use schema::VERSION;

use super::{
    error::Result,
    lock,
    sql::{Database, Dialect, Row, Sql, Value},
};
use rusqlite::{
    Connection, ToSql, TransactionBehavior, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};
use std::{
    fs::File,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Pages that are returned to the file system at once.
const VACUUM_PAGES: u64 = 4096;

/// One writer at a time, so rows need no locks.
static DIALECT: Dialect = Dialect {
    now: "unixepoch('subsec')",
    for_update: "",
    skip_locked: "",
    lock: None,
};

/// The connections to the database of a data folder.
#[derive(Debug)]
pub(super) struct Sqlite {
    /// The connection that writes.
    writer: Mutex<Connection>,
    /// Connections for reading, which never wait for the writer.
    readers: Vec<Mutex<Connection>>,
    /// The reader to wait for if all are in use.
    next_reader: AtomicUsize,
    /// Locked for as long as the server runs. The system releases it however the server ends. None in a command beside a
    /// running server.
    _lock: Option<File>,
}

impl Sqlite {
    /// A connection for reading.
    fn reader(&self) -> MutexGuard<'_, Connection> {
        let free = self
            .readers
            .iter()
            .find_map(|reader| reader.try_lock().ok());
        free.unwrap_or_else(|| {
            let next = self.next_reader.fetch_add(1, Ordering::Relaxed);
            lock(&self.readers[next % self.readers.len()])
        })
    }
}

impl Database for Sqlite {
    fn read(&self, act: &mut dyn FnMut(&dyn Sql) -> Result<()>) -> Result<()> {
        let connection = self.reader();
        let tx = connection.unchecked_transaction()?;
        act(&Statements(&tx))
    }

    fn write(&self, act: &mut dyn FnMut(&dyn Sql) -> Result<()>) -> Result<()> {
        let mut connection = lock(&self.writer);
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        act(&Statements(&tx))?;
        Ok(tx.commit()?)
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn damage(&self) -> Result<Option<String>> {
        backup::damage(&self.reader())
    }

    fn live_bytes(&self) -> Result<u64> {
        let connection = self.reader();
        let pragma = |name| -> Result<u64> {
            let value: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
            Ok(value.cast_unsigned())
        };
        let used = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
        Ok(used * pragma("page_size")?)
    }

    fn shrink(&self) -> Result<()> {
        loop {
            let connection = lock(&self.writer);
            let free: i64 =
                connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
            connection.execute_batch(&format!("pragma incremental_vacuum({VACUUM_PAGES})"))?;
            let left: i64 =
                connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
            // A database that could not be rewritten for it keeps its free pages.
            if left == 0 || left == free {
                return Ok(());
            }
        }
    }
}

/// The statements of a transaction.
struct Statements<'a>(&'a Connection);

impl Sql for Statements<'_> {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn execute(&self, statement: &str, params: &[Value]) -> Result<u64> {
        let mut statement = self.0.prepare_cached(statement)?;
        Ok(statement.execute(params_from_iter(params))? as u64)
    }

    fn query(&self, statement: &str, params: &[Value]) -> Result<Vec<Row>> {
        let mut statement = self.0.prepare_cached(statement)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params_from_iter(params), |row| {
            let values = (0..columns).map(|column| {
                Ok(match row.get_ref(column)? {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(number) => Value::Integer(number),
                    ValueRef::Real(number) => Value::Real(number),
                    ValueRef::Text(_) | ValueRef::Blob(_) => Value::Text(row.get(column)?),
                })
            });
            Ok(Row(values.collect::<rusqlite::Result<_>>()?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}
