//! Tests of the embedded database: its files, versions and copies.

use super::*;
use tempfile::TempDir;

/// A data folder.
pub(super) struct Folder(TempDir);

impl Folder {
    pub(super) fn new() -> Self {
        Folder(TempDir::new().expect("a temporary folder"))
    }
}

impl Server for Folder {
    fn open(&self) -> Store {
        Store::open(self.0.path()).expect("the folder opens")
    }
}

fn open() -> (TempDir, Store) {
    let folder = TempDir::new().expect("a temporary folder");
    let store = Store::open(folder.path()).expect("an empty folder opens");
    (folder, store)
}

#[test]
fn data_folder_is_locked_by_one_server() {
    let (folder, _store) = open();
    let second = Store::open(folder.path());
    assert!(
        matches!(second, Err(StoreError::InUse { .. })),
        "{second:?}"
    );
}

/// Creates a database from SQL in an empty data folder.
fn database_from(sql: &str) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    let old = rusqlite::Connection::open(folder.path().join("jobs.sqlite")).expect("opens");
    old.execute_batch(sql).expect("a database");
    folder
}

#[test]
fn first_database_of_schema_1_is_upgraded() {
    let folder = database_from(
        "create table meta (key text primary key, value text not null) strict;
         insert into meta values ('schema', '1');
         create table jobs (number integer primary key autoincrement, id text not null unique, title text,
             code text not null, code_sha256 text not null, variants text not null, device text, state text not null,
             attempt integer not null default 0, position integer not null default 0,
             last_seq integer not null default 0, created_at text not null) strict;
         create table events (job text not null references jobs (id), seq integer not null, attempt integer not null,
             at text not null, body text not null, primary key (job, seq)) strict, without rowid;
         insert into jobs (id, code, code_sha256, variants, state, attempt, created_at)
             values ('old', 'x', '00', '[\"eager\"]', 'running', 1, '');",
    );
    let store = Store::open(folder.path()).expect("opens");
    assert_eq!(store.recover().expect("works").queued, 1);
    store.check().expect("can be written");
}

/// A dump of a server's database with a job in each state.
#[test]
fn jobs_and_results_of_schema_1_survive_the_upgrade() {
    let folder = database_from(include_str!("../../../../tests/fixtures/schema-1.sql"));
    let mut store = Store::open(folder.path()).expect("opens");
    let listed = store.list(&JobFilter::default(), 10).expect("readable");
    let states: Vec<(Option<&str>, JobState)> = listed
        .iter()
        .map(|listed| (listed.job.title.as_deref(), listed.job.state))
        .collect();
    assert_eq!(
        states,
        [
            (Some("waits"), JobState::Queued),
            (Some("runs"), JobState::Running),
            (Some("cancelled"), JobState::Cancelled),
            (Some("fails"), JobState::Failed),
            (Some("measured"), JobState::Done),
        ]
    );
    let measured = listed.last().expect("is there");
    let headline = measured.headline.as_deref().expect("it has a verdict");
    assert!(headline.contains("2.0"), "{headline}");
    let before = view(&store, &measured.job.id);
    assert!(before.verdict.is_some());
    let failure = listed[3].job.failure.as_ref().expect("it has a reason");
    assert!(failure.message.contains("no model"), "{failure:?}");
    assert_eq!(store.recover().expect("works").queued, 1);

    // A second start changes nothing.
    drop(store);
    store = Store::open(folder.path()).expect("opens");
    assert_eq!(view(&store, &measured.job.id), before);
    let ended = "select count(*) from jobs where ended_at is not null";
    let ended: i64 = store.read(|tx| tx.one(ended, &[])).expect("readable");
    assert_eq!(ended, 3);
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    assert_eq!(lease.job, listed[1].job.id, "the interrupted job is first");
}

#[test]
fn database_of_a_newer_version_is_refused_and_stays_unchanged() {
    let (folder, store) = open();
    execute(&store, "update meta set value = '999' where key = 'schema'");
    drop(store);
    let path = folder.path().join("jobs.sqlite");
    let before = std::fs::read(&path).expect("readable");
    let error = Store::open(folder.path()).expect_err("is newer");
    assert!(
        matches!(error, StoreError::Schema { version: 999 }),
        "{error:?}"
    );
    assert!(error.to_string().contains("schema 999"), "{error}");
    assert!(std::fs::read(&path).expect("readable") == before);
}

#[test]
fn missing_database_is_reported_and_not_replaced_by_an_empty_one() {
    let (folder, store) = open();
    store.submit(&job(), 10).expect("queued");
    drop(store);
    let path = folder.path().join("jobs.sqlite");
    std::fs::remove_file(&path).expect("is ours");
    for is_empty in [false, true] {
        if is_empty {
            std::fs::write(&path, "").expect("is ours");
        }
        let error = Store::open(folder.path()).expect_err("is missing");
        assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
        assert!(error.to_string().contains("hipward restore"), "{error}");
    }
    let _ = std::fs::remove_file(&path);
    std::fs::remove_file(folder.path().join("lock")).expect("is there");
    Store::open(folder.path()).expect("is a new folder now");
}

#[test]
fn damaged_database_is_reported_with_its_path() {
    let (folder, store) = open();
    drop(store);
    let path = folder.path().join("jobs.sqlite");
    std::fs::write(&path, "not a database, but longer than nothing".repeat(50)).expect("is ours");
    let error = Store::open(folder.path()).expect_err("is damaged");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert!(
        error.to_string().contains(&path.display().to_string()),
        "{error}"
    );
    assert!(error.to_string().contains("hipward restore"), "{error}");
}

#[test]
fn damaged_pages_are_found_and_no_job_is_accepted_after_that() {
    let (folder, store) = open();
    let id = store.submit(&job(), 10_000).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    for _ in 0..200 {
        store
            .append(&lease, &[remark(&"text ".repeat(100))])
            .expect("is current");
    }
    store.verify().expect("is well");
    drop(store);
    let path = folder.path().join("jobs.sqlite");
    let mut bytes = std::fs::read(&path).expect("readable");
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 3 * 4096].fill(0xA5);
    std::fs::write(&path, bytes).expect("is ours");
    let store = Store::open(folder.path()).expect("its first pages are well");
    let found = store.verify().expect_err("is damaged");
    assert!(matches!(found, StoreError::Damaged { .. }), "{found:?}");
    for refused in [store.check(), store.submit(&job(), 10).map(drop)] {
        assert!(
            matches!(refused, Err(StoreError::Damaged { .. })),
            "{refused:?}"
        );
    }
    assert!(store.summary(&id).expect("readable").is_some());
}

#[test]
fn readers_do_not_wait_for_a_writer() {
    let (_folder, store) = open();
    let id = store.submit(&job(), 10).expect("queued").id;
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = store.clone();
    let read = store.change(|_, _| {
        std::thread::spawn(move || {
            let found = reader.summary(&id).expect("readable").is_some();
            let events = reader.events_after(&id, 0, 10).expect("readable");
            sender.send((found, events.len())).expect("is waited for");
        });
        Ok(receiver.recv_timeout(std::time::Duration::from_secs(20)))
    });
    assert_eq!(read.expect("works").expect("does not wait"), (true, 1));
}

#[test]
fn retention_by_size_removes_the_oldest_jobs_and_shrinks_the_file() {
    let (folder, store) = open();
    let text = "a line of output\n".repeat(4000);
    let ids: Vec<String> = (0..60).map(|_| ended(&store, &text)).collect();
    let waiting = store.submit(&job(), 10).expect("queued").id;
    let full = store.live_bytes().expect("readable");
    let retention = Retention {
        max_age: None,
        max_bytes: Some(full / 2),
    };
    let removed = store.purge(retention).expect("works");
    assert!((20..50).contains(&removed), "{removed}");
    assert!(store.live_bytes().expect("readable") <= full / 2);
    for (nth, id) in ids.iter().enumerate() {
        let is_left = store.summary(id).expect("readable").is_some();
        assert_eq!(is_left, nth >= removed, "{nth}");
    }
    assert!(store.summary(&waiting).expect("readable").is_some());
    drop(store);
    let size = std::fs::metadata(folder.path().join("jobs.sqlite")).expect("is there");
    assert!(size.len() < full * 3 / 4, "{} of {full}", size.len());
}

#[test]
fn backup_of_a_running_server_is_restored_elsewhere() {
    let (folder, store) = open();
    let id = ended(&store, "done");
    store.add_token("ann", Role::Submit, None).expect("is new");
    let target = folder.path().join("copy");
    assert_eq!(back_up(folder.path(), &target).expect("works"), 1);
    let again = back_up(folder.path(), &target);
    assert!(
        matches!(again, Err(StoreError::TargetExists { .. })),
        "{again:?}"
    );
    let later = ended(&store, "after the backup");

    let elsewhere = TempDir::new().expect("a folder");
    let (jobs, former) = restore(elsewhere.path(), &target, false).expect("works");
    assert_eq!((jobs, former), (1, None));
    let restored = Store::open(elsewhere.path()).expect("opens");
    assert_eq!(view(&restored, &id), view(&store, &id));
    assert_eq!(restored.tokens().expect("readable").len(), 1);
    assert!(restored.summary(&later).expect("readable").is_none());

    let in_use = restore(folder.path(), &target, true);
    assert!(
        matches!(in_use, Err(StoreError::InUse { .. })),
        "{in_use:?}"
    );
    drop(store);
    let refused = restore(folder.path(), &target, false);
    assert!(
        matches!(refused, Err(StoreError::TargetExists { .. })),
        "{refused:?}"
    );
    let (_, former) = restore(folder.path(), &target, true).expect("works");
    assert!(former.expect("is renamed").exists());
    let store = Store::open(folder.path()).expect("opens");
    assert!(store.summary(&later).expect("readable").is_none());
    assert!(store.summary(&id).expect("readable").is_some());
}

#[test]
fn damaged_backup_replaces_nothing() {
    let (folder, store) = open();
    let id = ended(&store, "done");
    drop(store);
    let backup = folder.path().join("copy");
    std::fs::write(&backup, "no database".repeat(100)).expect("is ours");
    let refused = restore(folder.path(), &backup, true);
    assert!(
        matches!(refused, Err(StoreError::Damaged { .. })),
        "{refused:?}"
    );
    let store = Store::open(folder.path()).expect("opens");
    assert!(store.summary(&id).expect("readable").is_some());
}

#[test]
fn store_contains_no_token() {
    let (folder, store) = open();
    let secret = store.add_token("ann", Role::Submit, None).expect("is new");
    let cookie = cookie_value(&secret);
    for file in ["jobs.sqlite", "jobs.sqlite-wal"] {
        let bytes = std::fs::read(folder.path().join(file)).expect("readable");
        for secret in [&secret, &cookie] {
            let is_in = bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!is_in, "{file}");
        }
    }
}
