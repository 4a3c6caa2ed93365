//! The tables, and how a database of another version is met.

use super::StoreError;
use rusqlite::{Connection, OptionalExtension};
use std::time::Duration;

/// Raised with every change of the tables.
const VERSION: &str = "1";

const TABLES: &str = "
create table if not exists meta (
    key   text primary key,
    value text not null
) strict;

-- `number` is the order of the queue; `position` is what the last `queued` event said.
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

/// Makes the connection ours and the tables there.
pub(super) fn prepare(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // With a write-ahead log this loses nothing when a process is killed; only a power cut may
    // take the last moments.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.execute_batch(TABLES)?;
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
