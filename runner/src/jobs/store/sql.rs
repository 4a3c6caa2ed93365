//! The database under the store, as traits: [`Database`] runs transactions, and [`Sql`] runs the statements of one. The store's
//! logic is written once, in SQL that SQLite and PostgreSQL both accept, with parameters `?1`, `?2`, …

use super::{
    error::{Result, StoreError},
    log::Log,
};
use std::fmt::Debug;

/// A database that contains the tables of the store.
pub(super) trait Database: Debug + Send + Sync {
    /// Runs one transaction that reads: all of its statements see the same state.
    fn read(&self, act: &mut dyn FnMut(&dyn Sql) -> Result<()>) -> Result<()>;

    /// Runs one transaction that writes. It is rolled back if `act` fails.
    fn write(&self, act: &mut dyn FnMut(&dyn Sql) -> Result<()>) -> Result<()>;

    /// Sends the changes of a transaction that was committed to the other servers that use this database.
    fn announce(&self, _log: &Log) {}

    /// Whether other servers can use the database at the same time.
    fn is_shared(&self) -> bool;

    /// Reads the whole database and returns the damage that was found.
    fn damage(&self) -> Result<Option<String>>;

    /// The size of the database without free pages, bytes.
    fn live_bytes(&self) -> Result<u64>;

    /// Returns free pages to the file system.
    fn shrink(&self) -> Result<()>;
}

/// What differs between the SQL of the databases.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The current time of the database, seconds since 1970.
    pub(super) now: &'static str,
    /// The end of a query whose rows are locked until the transaction ends.
    pub(super) for_update: &'static str,
    /// The same, but rows that another transaction has locked are left out.
    pub(super) skip_locked: &'static str,
    /// Locks a text until the transaction ends, so that another transaction that locks it waits. None where transactions that
    /// write never overlap.
    pub(super) lock: Option<&'static str>,
}

/// Runs statements within a transaction.
pub(super) trait Sql {
    /// The dialect of the database.
    fn dialect(&self) -> &'static Dialect;

    /// Runs a statement. Returns the number of changed rows.
    fn execute(&self, statement: &str, params: &[Value]) -> Result<u64>;

    /// Runs a query, or a statement that returns rows.
    fn query(&self, statement: &str, params: &[Value]) -> Result<Vec<Row>>;
}

impl dyn Sql + '_ {
    /// The first row of a query, if it has rows.
    pub(super) fn first(&self, statement: &str, params: &[Value]) -> Result<Option<Row>> {
        Ok(self.query(statement, params)?.into_iter().next())
    }

    /// The first column of the first row of a query, if it has rows.
    pub(super) fn value<T: FromValue>(
        &self,
        statement: &str,
        params: &[Value],
    ) -> Result<Option<T>> {
        self.first(statement, params)?
            .map(|row| row.get(0))
            .transpose()
    }

    /// The first column of a query that has exactly one row.
    pub(super) fn one<T: FromValue>(&self, statement: &str, params: &[Value]) -> Result<T> {
        self.value(statement, params)?
            .ok_or(StoreError::UnexpectedValue)
    }

    /// Locks a text until the transaction ends, against other transactions that lock it. A statement after that sees the
    /// changes of those that had it before.
    pub(super) fn lock(&self, text: &str) -> Result<()> {
        match self.dialect().lock {
            Some(lock) => self.query(lock, values![text]).map(drop),
            None => Ok(()),
        }
    }

    /// Whether a query has rows.
    pub(super) fn exists(&self, statement: &str, params: &[Value]) -> Result<bool> {
        Ok(!self.query(statement, params)?.is_empty())
    }
}

/// A value of a column or parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// No value.
    Null,
    /// An integer, or a truth value.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(String),
}

/// A row of a result.
#[derive(Clone, Debug)]
pub(super) struct Row(pub(super) Vec<Value>);

impl Row {
    /// A column, counted from 0.
    pub(super) fn get<T: FromValue>(&self, column: usize) -> Result<T> {
        let value = self.0.get(column).cloned();
        T::from_value(value.ok_or(StoreError::UnexpectedValue)?)
    }
}

/// A type of a column.
pub(super) trait FromValue: Sized {
    /// Converts a value of the database. Fails if it has another type.
    fn from_value(value: Value) -> Result<Self>;
}

impl FromValue for i64 {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Integer(number) => Ok(number),
            _ => Err(StoreError::UnexpectedValue),
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: Value) -> Result<Self> {
        u32::try_from(i64::from_value(value)?).map_err(|_| StoreError::UnexpectedValue)
    }
}

impl FromValue for u64 {
    fn from_value(value: Value) -> Result<Self> {
        u64::try_from(i64::from_value(value)?).map_err(|_| StoreError::UnexpectedValue)
    }
}

impl FromValue for usize {
    fn from_value(value: Value) -> Result<Self> {
        usize::try_from(i64::from_value(value)?).map_err(|_| StoreError::UnexpectedValue)
    }
}

impl FromValue for f64 {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Real(number) => Ok(number),
            Value::Integer(number) => Ok(number as f64),
            _ => Err(StoreError::UnexpectedValue),
        }
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Text(text) => Ok(text),
            _ => Err(StoreError::UnexpectedValue),
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::Text(text.clone())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Integer(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Integer(value.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Real(number)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl From<&Option<String>> for Value {
    fn from(value: &Option<String>) -> Self {
        value.clone().into()
    }
}

/// The parameters of a statement: a slice of [`Value`]s.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::jobs::store::sql::Value::from($value)),*]
    };
}
pub(super) use values;
