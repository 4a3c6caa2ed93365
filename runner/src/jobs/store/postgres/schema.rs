//! The tables in PostgreSQL, and the migrations from older versions of them. The columns are those of the embedded database.

use crate::jobs::store::{
    error::{Result, StoreError},
    sql::{Sql, values},
};

/// The statements that lead from each version to the next, the first from an empty database to version 1. Released entries
/// never change: a change of the tables is a new entry.
const MIGRATIONS: &[&[&str]] = &[VERSION_1, VERSION_2, VERSION_3];

/// Texts that are compared by `<` have the order of their bytes, whatever the database's locale is.
const VERSION_1: &[&str] = &[
    "create table jobs (
        number      bigint generated always as identity primary key,
        id          text not null unique,
        title       text,
        code        text not null,
        code_sha256 text not null,
        variants    text not null,
        device      text,
        state       text not null,
        attempt     bigint not null default 0,
        last_seq    bigint not null default 0,
        created_at  text collate \"C\" not null,
        begun       bigint not null default 0,
        crashes     bigint not null default 0,
        owner       text,
        ended_at    text collate \"C\",
        lease_until double precision,
        received    bigint not null default 0,
        holder      text
    )",
    "create index jobs_by_state on jobs (state, number)",
    "create index jobs_by_place on jobs (state, number, device)",
    "create index jobs_by_end on jobs (ended_at) where ended_at is not null",
    "create table events (
        job     text not null references jobs (id),
        seq     bigint not null,
        attempt bigint not null,
        at      text collate \"C\" not null,
        body    text not null,
        primary key (job, seq)
    )",
    "create table tokens (
        name       text primary key,
        hash       text not null unique,
        cookie     text not null unique,
        role       text not null,
        created_at text collate \"C\" not null,
        expires_at text collate \"C\"
    )",
    "create table hosts (
        name         text primary key,
        token        text not null,
        capabilities text not null,
        seen_at      double precision not null
    )",
    "create table approvals (
        number      bigint generated always as identity primary key,
        code_sha256 text not null unique,
        approved_at text collate \"C\" not null,
        approved_by text
    )",
    "create index jobs_by_code on jobs (code_sha256)",
];

/// Adds requirements, priorities and turns of jobs, the use of devices by each owner, and hosts that are drained.
const VERSION_2: &[&str] = &[
    "alter table jobs
        add column rank        bigint not null default 0,
        add column turn        bigint not null default 0,
        add column require     text,
        add column need_vendor text,
        add column need_arch   text,
        add column need_memory bigint,
        add column need_gpus   bigint,
        add column need_torch  text,
        add column need_rocm   text,
        add column need_labels text,
        add column leased_at   double precision,
        add column on_host     text,
        add column on_device   text",
    "create index jobs_by_turn on jobs (state, rank, turn, number)",
    "create index jobs_by_owner on jobs (state, owner, rank, turn)",
    "create table device_usage (
        owner   text not null,
        day     bigint not null,
        seconds double precision not null,
        primary key (owner, day)
    )",
    "create table drains (
        host   text primary key,
        reason text not null
    )",
];

/// Adds labels and the result of a job, by which lists are filtered as by its device, and deliveries of webhooks.
const VERSION_3: &[&str] = &[
    "alter table jobs add column labels text, add column outcomes text, add column result text",
    r#"update jobs set on_device = (select body::json #>> '{device,id}' from events
        where job = jobs.id and body like '{"type":"leased"%' order by seq desc limit 1)
        where on_device is null"#,
    r#"update jobs set outcomes = (select ' ' || string_agg(distinct compared ->> 'outcome', ' ') || ' '
            from events, json_array_elements(body::json -> 'comparisons') compared
            where job = jobs.id and seq > last_seq - 4 and body like '{"type":"verdict"%'),
        result = (select body::json ->> 'summary' from events
            where job = jobs.id and seq > last_seq - 4 and body like '{"type":"verdict"%')
        where ended_at is not null"#,
    "update jobs set result = (select body::json ->> 'message' from events where job = jobs.id and seq = last_seq)
        where state = 'failed' and result is null",
    "create table deliveries (
        number   bigint generated always as identity primary key,
        url      text not null,
        job      text not null,
        attempts bigint not null default 0,
        next_at  double precision not null
    )",
    "create index deliveries_by_time on deliveries (next_at)",
];

/// Prevents two servers that start at the same time from migrating together. Any number that no other program locks.
const LOCK: i64 = 0x6869_7077_6172_6400;

/// Creates the tables, or changes those of an older version, in one transaction.
pub(super) fn migrate(tx: &dyn Sql) -> Result<()> {
    tx.query("select pg_advisory_xact_lock(?1)", values![LOCK])?;
    tx.execute(
        "create table if not exists meta (key text primary key, value text not null)",
        &[],
    )?;
    let found: Option<String> = tx.value("select value from meta where key = 'schema'", &[])?;
    // Versions are numbers in every release.
    let found = found.map_or(0, |text| text.parse().unwrap_or(usize::MAX));
    if found > MIGRATIONS.len() {
        return Err(StoreError::SharedSchema {
            version: found,
            readable: MIGRATIONS.len(),
        });
    }
    for statements in &MIGRATIONS[found..] {
        for statement in *statements {
            tx.execute(statement, &[])?;
        }
    }
    if found < MIGRATIONS.len() {
        tx.execute(
            "insert into meta values ('schema', ?1) on conflict (key) do update set value = excluded.value",
            values![MIGRATIONS.len().to_string()],
        )?;
    }
    Ok(())
}
