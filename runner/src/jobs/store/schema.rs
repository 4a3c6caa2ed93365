//! The tables, and the check of the schema version.

use super::StoreError;
use rusqlite::{Connection, OptionalExtension};
use std::time::Duration;

/// Incremented with every incompatible change of the tables.
const VERSION: &str = "1";

const TABLES: &str = "
create table if not exists meta (
    key   text primary key,
    value text not null
) strict;

-- `number` is the order of the queue. `attempt` counts leases and fences off earlier ones. `begun` is
-- the last attempt whose code ran. `crashes` counts how often the server ended meanwhile. `position` is unused.
create table if not exists jobs (
    number      integer primary key autoincrement,
    id          text not null unique,
    title       text,
    code        text not null,
    code_sha256 text not null,
    variants    text not null,
    device      text,
    state       text not null,
    attempt     integer not null default 0,
    position    integer not null default 0,
    last_seq    integer not null default 0,
    created_at  text not null
) strict;
create index if not exists jobs_by_state on jobs (state, number);
create index if not exists jobs_by_place on jobs (state, number, device);

-- Rows are only ever added.
create table if not exists events (
    job     text not null references jobs (id),
    seq     integer not null,
    attempt integer not null,
    at      text not null,
    body    text not null,
    primary key (job, seq)
) strict, without rowid;
";

/// Configures the connection and creates the tables.
pub(super) fn prepare(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // With a write-ahead log nothing is lost when a process is killed. A power failure may
    // lose the last transactions.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.execute_batch(TABLES)?;
    for column in ["begun", "crashes"] {
        add_column(connection, column)?;
    }
    let found: Option<String> = connection
        .query_row("select value from meta where key = 'schema'", [], |row| {
            row.get(0)
        })
        .optional()?;
    match found {
        None => {
            connection.execute("insert into meta values ('schema', ?1)", [VERSION])?;
            Ok(())
        }
        Some(version) if version == VERSION => Ok(()),
        Some(version) => Err(StoreError::Schema { version }),
    }
}

/// Adds a column that older databases of this schema lack. It has a default value, so older servers can still use the database.
fn add_column(connection: &Connection, column: &str) -> Result<(), StoreError> {
    let is_there = connection
        .prepare("select 1 from pragma_table_info('jobs') where name = ?1")?
        .exists([column])?;
    if !is_there {
        let add = format!("alter table jobs add column {column} integer not null default 0");
        connection.execute_batch(&add)?;
    }
    Ok(())
}
