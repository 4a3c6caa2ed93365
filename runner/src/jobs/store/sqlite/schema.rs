//! The tables, and the migrations from older versions of them.

use crate::jobs::store::StoreError;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::time::Duration;

/// The statements that lead from each version to the next, the first from an empty database to version 1. Released entries
/// never change: a change of the tables is a new entry. Each runs in one transaction, together with the new version number.
const MIGRATIONS: &[&str] = &[
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6,
];

/// The version that this program reads and writes.
pub(in crate::jobs::store) const VERSION: usize = MIGRATIONS.len();

const VERSION_1: &str = "
create table jobs (
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
    created_at  text not null,
    begun       integer not null default 0,
    crashes     integer not null default 0
) strict;
create index jobs_by_state on jobs (state, number);
create index jobs_by_place on jobs (state, number, device);

create table events (
    job     text not null references jobs (id),
    seq     integer not null,
    attempt integer not null,
    at      text not null,
    body    text not null,
    primary key (job, seq)
) strict, without rowid;
";

/// Adds who submitted a job and when it ended, and tokens. Positions are no longer stored.
const VERSION_2: &str = "
alter table jobs drop column position;
alter table jobs add column owner text;
alter table jobs add column ended_at text;
update jobs set ended_at = (select at from events where job = id and seq = last_seq)
    where state in ('done', 'failed', 'cancelled');
create index jobs_by_end on jobs (ended_at) where ended_at is not null;

create table tokens (
    name       text primary key,
    hash       text not null unique,
    cookie     text not null unique,
    role       text not null,
    created_at text not null,
    expires_at text
) strict;
";

/// Adds the hashes of approved code.
const VERSION_3: &str = "
create table approvals (
    number      integer primary key autoincrement,
    code_sha256 text not null unique,
    approved_at text not null,
    approved_by text
) strict;
create index jobs_by_code on jobs (code_sha256);
";

/// Adds leases that expire, and hosts that have joined.
const VERSION_4: &str = "
alter table jobs add column lease_until real;
alter table jobs add column received integer not null default 0;
alter table jobs add column holder text;

create table hosts (
    name         text primary key,
    token        text not null,
    capabilities text not null,
    seen_at      real not null
) strict;
";

/// Adds requirements, priorities and turns of jobs, the use of devices by each owner, and hosts that are drained.
const VERSION_5: &str = "
alter table jobs add column rank integer not null default 0;
alter table jobs add column turn integer not null default 0;
alter table jobs add column require text;
alter table jobs add column need_vendor text;
alter table jobs add column need_arch text;
alter table jobs add column need_memory integer;
alter table jobs add column need_gpus integer;
alter table jobs add column need_torch text;
alter table jobs add column need_rocm text;
alter table jobs add column need_labels text;
alter table jobs add column leased_at real;
alter table jobs add column on_host text;
alter table jobs add column on_device text;
create index jobs_by_turn on jobs (state, rank, turn, number);
create index jobs_by_owner on jobs (state, owner, rank, turn);

create table device_usage (
    owner   text not null,
    day     integer not null,
    seconds real not null,
    primary key (owner, day)
) strict, without rowid;

create table drains (
    host   text primary key,
    reason text not null
) strict;
";

/// Adds labels and the result of a job, by which lists are filtered as by its device, and deliveries of webhooks.
const VERSION_6: &str = r#"
alter table jobs add column labels text;
alter table jobs add column outcomes text;
alter table jobs add column result text;
update jobs set on_device = (select json_extract(body, '$.device.id') from events
    where job = jobs.id and body like '{"type":"leased"%' order by seq desc limit 1)
    where on_device is null;
update jobs set outcomes = (select ' ' || group_concat(distinct json_extract(value, '$.outcome')) || ' '
        from events, json_each(body, '$.comparisons')
        where job = jobs.id and seq > last_seq - 4 and body like '{"type":"verdict"%'),
    result = (select json_extract(body, '$.summary') from events
        where job = jobs.id and seq > last_seq - 4 and body like '{"type":"verdict"%')
    where ended_at is not null;
update jobs set outcomes = replace(outcomes, ',', ' ') where outcomes is not null;
update jobs set result = (select json_extract(body, '$.message') from events where job = jobs.id and seq = last_seq)
    where state = 'failed' and result is null;
create table deliveries (
    number   integer primary key autoincrement,
    url      text not null,
    job      text not null,
    attempts integer not null default 0,
    next_at  real not null
) strict;
create index deliveries_by_time on deliveries (next_at);
"#;

// The columns of `jobs`: `number` is the order of the queue. `attempt` counts leases and fences off earlier ones. `begun` is the
// last attempt whose code ran. `crashes` counts how often the server ended meanwhile. `owner` is the name of the token that
// submitted the job, and null for the operator's own token. `lease_until` is when the lease of a running job expires, seconds
// since 1970, and null for a lease that ends with the server. `received` counts the events of the current attempt. `holder` is
// the name of the token whose host has the lease, empty for the operator's, and null for this server. `rank` orders priorities,
// the highest first, and `turn` the jobs of one priority, so that owners take turns. `require` are the requirements as JSON, and
// `need_…` the same for the claim; versions and labels are patterns of `like`. `leased_at` is when the running attempt was
// leased, seconds since 1970, and `on_host` and `on_device` are where the last attempt ran. `labels` is a JSON array.
// `outcomes` are those of the verdict, each between spaces, and `result` is the sentence of the
// verdict or of the failure. Rows of `events` are only added, and removed together with their job. A row of `device_usage` is the
// time for which an owner's jobs ran on a day, counted from 1970.

/// Configures a connection that may write. Fails if the database is newer than this program, before it changes anything.
pub(super) fn configure(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let found = version(connection)?;
    if found > VERSION {
        return Err(StoreError::Schema { version: found });
    }
    // Takes effect in a new database only. Removed jobs then make the file smaller.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // With a write-ahead log nothing is lost when a process is killed. A power failure may
    // lose the last transactions.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The write-ahead log of a long transaction becomes small again.
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(())
}

/// How long a connection waits for another one that writes.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates the tables, or changes those of an older version.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(
        "create table if not exists meta (key text primary key, value text not null) strict",
    )?;
    let found = version(&tx)?;
    if found == 1 {
        tx.execute_batch(
            "create index if not exists jobs_by_place on jobs (state, number, device)",
        )?;
        for column in ["begun", "crashes"] {
            add_column(&tx, column)?;
        }
    }
    for statements in MIGRATIONS.iter().skip(found) {
        tx.execute_batch(statements)?;
    }
    if found < VERSION {
        tx.execute(
            "insert into meta values ('schema', ?1) on conflict do update set value = excluded.value",
            [VERSION.to_string()],
        )?;
    }
    tx.commit()?;
    if found > 0 && found < VERSION {
        tracing::info!("the job database was upgraded from schema {found} to {VERSION}");
        // Rewrites the file, for which the disk may have no space. Without it the file stays as large as it once was.
        if let Err(error) = connection.execute_batch("vacuum") {
            tracing::warn!("the job database could not be rewritten: {error}");
        }
    }
    Ok(())
}

/// The version of a database, 0 for an empty one.
pub(super) fn version(connection: &Connection) -> Result<usize, StoreError> {
    let has_meta = connection
        .prepare("select 1 from sqlite_schema where name = 'meta'")?
        .exists([])?;
    if !has_meta {
        return Ok(0);
    }
    let found: Option<String> = connection
        .query_row("select value from meta where key = 'schema'", [], |row| {
            row.get(0)
        })
        .optional()?;
    // Versions are numbers in every release.
    Ok(found.map_or(0, |text| text.parse().unwrap_or(usize::MAX)))
}

/// Adds a column that the first databases of version 1 lack.
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
