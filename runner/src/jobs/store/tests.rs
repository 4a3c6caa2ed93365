//! Tests of the store on a real database.

use super::*;
use hipward_protocol::FailureCode;
use hipward_protocol::{JobView, LogStream, Vendor};
use tempfile::TempDir;

fn cpu() -> Device {
    Device {
        id: "cpu".to_owned(),
        name: "A processor".to_owned(),
        vendor: Vendor::Cpu,
        arch: "x86_64".to_owned(),
        memory_bytes: 1,
        current_job: None,
    }
}

fn job() -> NewJob {
    NewJob {
        code: "x = 1".to_owned(),
        code_sha256: "00".to_owned(),
        title: None,
        variants: vec![VariantId::EAGER],
        device: None,
        owner: None,
        needs_approval: false,
    }
}

fn remark(text: &str) -> EventBody {
    EventBody::Log {
        stream: LogStream::Runner,
        text: text.to_owned(),
    }
}

fn open() -> (TempDir, Store) {
    let folder = TempDir::new().expect("a temporary folder");
    let store = Store::open(folder.path()).expect("an empty folder opens");
    (folder, store)
}

fn view(store: &Store, id: &str) -> JobView {
    let events = store.events_after(id, 0, 1000).expect("readable");
    let expected: Vec<u64> = (1..=events.len() as u64).collect();
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, expected, "sequence numbers have no gaps");
    JobView::from_events(&events)
}

#[test]
fn queue_is_first_in_first_out_and_positions_are_current() {
    let (_folder, store) = open();
    let ids: Vec<String> = (0..3)
        .map(|_| store.submit(&job(), 10_000).expect("queued").id)
        .collect();
    let position = |id: &str| store.position(id).expect("readable");
    assert_eq!(position(&ids[2]), Some(2));

    let lease = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    assert_eq!(lease.job, ids[0]);
    assert_eq!(position(&ids[2]), Some(1));
    assert_eq!(position(&ids[0]), None);

    assert_eq!(
        store.cancel(&ids[1]).expect("works"),
        CancelOutcome::Cancelled
    );
    assert_eq!(position(&ids[2]), Some(0));
    assert_eq!(view(&store, &ids[2]).last_seq, 1, "nothing is stored of it");
}

#[test]
fn job_for_another_device_is_not_claimed_and_does_not_block() {
    let (_folder, store) = open();
    let for_gpu = NewJob {
        device: Some("cuda:0".to_owned()),
        ..job()
    };
    store.submit(&for_gpu, 10_000).expect("queued");
    assert!(store.claim(&cpu(), true).expect("works").is_none());
    let for_any = store.submit(&job(), 10_000).expect("queued").id;
    assert!(store.claim(&cpu(), false).expect("works").is_none());
    let lease = store.claim(&cpu(), true).expect("works");
    assert_eq!(lease.map(|lease| lease.job), Some(for_any));
    let for_cpu = NewJob {
        device: Some("cpu".to_owned()),
        ..job()
    };
    let id = store.submit(&for_cpu, 10_000).expect("queued").id;
    assert_eq!(view(&store, &id).position, 0);
}

#[test]
fn only_the_current_attempt_may_write_and_nothing_follows_the_final_event() {
    let (_folder, store) = open();
    store.submit(&job(), 10_000).expect("queued");
    let first = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    store
        .requeue(&first, "the runner was stopped")
        .expect("works");
    let second = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("it waits again");
    assert_eq!(second.attempt, 2);

    let stale = store.append(&first, &[remark("late")]);
    assert!(matches!(stale, Err(StoreError::Fenced)), "{stale:?}");
    store
        .append(&second, &[EventBody::Done])
        .expect("is current");
    let after_end = store.append(&second, &[remark("late")]);
    assert!(
        matches!(after_end, Err(StoreError::Fenced)),
        "{after_end:?}"
    );
    assert_eq!(view(&store, &second.job).state, JobState::Done);
}

#[test]
fn batch_with_events_after_the_final_one_is_rejected() {
    let (_folder, store) = open();
    store.submit(&job(), 10_000).expect("queued");
    let lease = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    let result = store.append(&lease, &[remark("a"), EventBody::Done, remark("b")]);
    assert!(matches!(result, Err(StoreError::Fenced)), "{result:?}");
    assert_eq!(view(&store, &lease.job).state, JobState::Running);
}

#[test]
fn cancelling_twice_has_no_effect_and_the_worker_is_fenced_off() {
    let (_folder, store) = open();
    let id = store.submit(&job(), 10_000).expect("queued").id;
    let lease = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    assert_eq!(store.cancel(&id).expect("works"), CancelOutcome::Cancelled);
    assert_eq!(
        store.cancel(&id).expect("works"),
        CancelOutcome::AlreadyEnded
    );
    assert_eq!(
        store.cancel("unknown").expect("works"),
        CancelOutcome::NotFound
    );
    let late = store.append(&lease, &[EventBody::Done]);
    assert!(matches!(late, Err(StoreError::Fenced)), "{late:?}");
    assert_eq!(view(&store, &id).state, JobState::Cancelled);
}

#[test]
fn job_fails_after_two_server_crashes_and_queued_jobs_stay() {
    let (folder, store) = open();
    let dying = store.submit(&job(), 10_000).expect("queued").id;
    let waiting = store.submit(&job(), 10_000).expect("queued").id;
    let mut store = Some(store);
    for attempt in 1..=2 {
        let open = store.take().expect("open");
        let lease = open.claim(&cpu(), true).expect("works").expect("waits");
        assert_eq!(
            (lease.job.as_str(), lease.attempt),
            (dying.as_str(), attempt)
        );
        open.mark_begun(&lease).expect("is current");
        drop(open);
        let reopened = Store::open(folder.path()).expect("the lock is free again");
        let recovered = reopened.recover().expect("works");
        assert_eq!(recovered.queued, usize::from(attempt == 1));
        assert_eq!(recovered.failed, usize::from(attempt == 2));
        store = Some(reopened);
    }
    let store = store.expect("open");
    let failed = view(&store, &dying);
    assert_eq!(failed.state, JobState::Failed);
    let why = failed.failure.expect("it says why");
    assert_eq!(why.code, FailureCode::Interrupted);
    let summary = store.summary(&dying).expect("readable").expect("is there");
    assert_eq!(summary.failure, Some(why), "the summary says the same");
    let next = store.claim(&cpu(), true).expect("works").expect("waits");
    assert_eq!(next.job, waiting);
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

#[tokio::test]
async fn watchers_are_notified_after_events_are_stored() {
    let (_folder, store) = open();
    let id = store.submit(&job(), 10_000).expect("queued").id;
    let mut signal = store.watch(&id);
    store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    signal.changed().await.expect("the store lives");
    let seq = *signal.borrow();
    let events = store.events_after(&id, seq - 1, 10).expect("readable");
    assert!(matches!(events[0].body, EventBody::Leased { .. }));
}

#[test]
fn only_server_crashes_during_running_code_count() {
    let (folder, store) = open();
    let id = store.submit(&job(), 10).expect("queued").id;
    let lease = |store: &Store| {
        let lease = store.claim(&cpu(), true).expect("works");
        lease.expect("the job waits again")
    };
    for _ in 0..3 {
        let lease = lease(&store);
        store.mark_begun(&lease).expect("is current");
        store
            .requeue(&lease, "the server stops")
            .expect("is current");
    }
    let mut store = store;
    for _ in 0..3 {
        // Leased, and never begun.
        lease(&store);
        drop(store);
        store = Store::open(folder.path()).expect("the lock is free again");
        assert_eq!(store.recover().expect("works").queued, 1);
    }
    for failed in [0, 1] {
        store.mark_begun(&lease(&store)).expect("is current");
        drop(store);
        store = Store::open(folder.path()).expect("the lock is free again");
        assert_eq!(store.recover().expect("works").failed, failed);
    }
    let why = view(&store, &id).failure.expect("it says why");
    assert!(why.message.starts_with("It was tried 2 times"), "{why:?}");
}

#[test]
fn lost_jobs_are_queued_again_and_others_keep_running() {
    let (_folder, store) = open();
    for _ in 0..2 {
        store.submit(&job(), 10).expect("queued");
    }
    let lost = store.claim(&cpu(), true).expect("works").expect("waits");
    let runs = store.claim(&cpu(), true).expect("works").expect("waits");
    let recovered = store.recover_all_but(std::slice::from_ref(&runs.job), "it was lost");
    assert_eq!(recovered.expect("works").queued, 1);
    assert_eq!(store.running().expect("readable"), [runs.job]);
    assert_eq!(
        view(&store, &lost.job).requeue_reason.as_deref(),
        Some("it was lost")
    );
}

#[test]
fn full_queue_rejects_jobs() {
    let (_folder, store) = open();
    store.submit(&job(), 1).expect("queued");
    let refused = store.submit(&job(), 1);
    assert!(
        matches!(refused, Err(StoreError::QueueFull { waiting: 1 })),
        "{refused:?}"
    );
    store.claim(&cpu(), true).expect("works").expect("waits");
    store.submit(&job(), 1).expect("there is room again");
}

#[test]
fn one_token_cannot_fill_the_queue() {
    let (_folder, store) = open();
    let limits = QueueLimits {
        total: 5,
        per_owner: 2,
    };
    let of = |owner: &str| NewJob {
        owner: Some(owner.to_owned()),
        ..job()
    };
    for _ in 0..2 {
        store.submit(&of("ann"), limits).expect("queued");
    }
    let refused = store.submit(&of("ann"), limits);
    assert!(
        matches!(refused, Err(StoreError::OwnerQueueFull { waiting: 2 })),
        "{refused:?}"
    );
    store.submit(&of("bob"), limits).expect("has its own limit");
    for _ in 0..2 {
        store
            .submit(&job(), limits)
            .expect("the operator has no own limit");
    }
    let refused = store.submit(&of("bob"), limits);
    assert!(
        matches!(refused, Err(StoreError::QueueFull { waiting: 5 })),
        "{refused:?}"
    );
}

#[test]
fn changes_of_a_long_queue_write_one_event_each() {
    const WAITING: usize = 5000;
    let (_folder, store) = open();
    lock(&store.0.writer)
        .execute_batch(&format!(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < {WAITING})
             insert into jobs (id, code, code_sha256, variants, state, created_at)
             select 'job-' || i, 'x', '00', '[\"eager\"]', 'queued', '' from n"
        ))
        .expect("a long queue");
    let events = |store: &Store| -> i64 {
        let counted = store
            .reader()
            .query_row("select count(*) from events", [], |row| row.get(0));
        counted.expect("readable")
    };
    let begin = std::time::Instant::now();
    for n in 0..20 {
        let before = events(&store);
        let submitted = store.submit(&job(), 10_000).expect("queued");
        assert_eq!(submitted.position, Some(WAITING - n));
        store.claim(&cpu(), true).expect("works").expect("waits");
        let last = format!("job-{}", WAITING - n);
        assert_eq!(
            store.cancel(&last).expect("works"),
            CancelOutcome::Cancelled
        );
        assert_eq!(events(&store) - before, 3);
    }
    // Storing the positions took 27 seconds for one submission.
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
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
    let folder = database_from(include_str!("../../../tests/fixtures/schema-1.sql"));
    let mut store = Store::open(folder.path()).expect("opens");
    let listed = store.newest(10).expect("readable");
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
    let ended: i64 = store
        .reader()
        .query_row(ended, [], |row| row.get(0))
        .expect("readable");
    assert_eq!(ended, 3);
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    assert_eq!(lease.job, listed[1].job.id, "the interrupted job is first");
}

#[test]
fn database_of_a_newer_version_is_refused_and_stays_unchanged() {
    let (folder, store) = open();
    lock(&store.0.writer)
        .execute("update meta set value = '999' where key = 'schema'", [])
        .expect("is written");
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
    let _writing = lock(&store.0.writer);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn({
        let store = store.clone();
        move || {
            let found = store.summary(&id).expect("readable").is_some();
            let events = store.events_after(&id, 0, 10).expect("readable");
            sender.send((found, events.len())).expect("is waited for");
        }
    });
    let read = receiver.recv_timeout(std::time::Duration::from_secs(20));
    assert_eq!(read.expect("does not wait"), (true, 1));
}

/// A job that has ended.
fn ended(store: &Store, text: &str) -> String {
    let id = store.submit(&job(), 10_000).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    store
        .append(&lease, &[remark(text), EventBody::Done])
        .expect("is current");
    id
}

#[test]
fn removed_job_leaves_nothing_and_fences_its_worker() {
    let (_folder, store) = open();
    let done = ended(&store, "done");
    let running = store.submit(&job(), 10).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    let mut signal = store.watch(&running);
    for (id, was_active) in [(&done, false), (&running, true)] {
        let removed = store.remove(id).expect("works");
        assert_eq!(removed, RemoveOutcome::Removed { was_active });
        assert!(store.summary(id).expect("readable").is_none());
        assert!(store.events_after(id, 0, 10).expect("readable").is_empty());
        assert_eq!(store.remove(id).expect("works"), RemoveOutcome::NotFound);
    }
    assert!(signal.has_changed().expect("the store lives"));
    signal.mark_unchanged();
    for late in [
        store.append(&lease, &[EventBody::Done]),
        store.mark_begun(&lease),
        store.requeue(&lease, "late"),
    ] {
        assert!(matches!(late, Err(StoreError::Fenced)), "{late:?}");
    }
}

#[test]
fn retention_by_age_removes_only_jobs_that_ended_before() {
    let (_folder, store) = open();
    let [old, new] = ["old", "new"].map(|text| ended(&store, text));
    let waiting = store.submit(&job(), 10).expect("queued").id;
    lock(&store.0.writer)
        .execute(
            "update jobs set ended_at = '2020-01-01T00:00:00.000Z', created_at = '2020' where id = ?1",
            [&old],
        )
        .expect("is written");
    let retention = Retention {
        max_age: Some(std::time::Duration::from_secs(3600)),
        max_bytes: None,
    };
    assert_eq!(store.purge(retention).expect("works"), 1);
    let left = |id: &str| store.summary(id).expect("readable").is_some();
    assert_eq!(
        [left(&old), left(&new), left(&waiting)],
        [false, true, true]
    );
    assert_eq!(store.purge(retention).expect("works"), 0);
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
fn store_contains_no_token_and_names_are_unique() {
    let (folder, store) = open();
    let secret = store.add_token("ann", Role::Submit, None).expect("is new");
    let again = store.add_token("ann", Role::Read, None);
    assert!(
        matches!(again, Err(StoreError::TokenExists { .. })),
        "{again:?}"
    );
    let found = store
        .find_token(&secret)
        .expect("readable")
        .expect("is there");
    assert_eq!((found.name.as_str(), found.role), ("ann", Role::Submit));
    let cookie = cookie_value(&secret);
    assert_eq!(
        store.find_token_by_cookie(&cookie).expect("readable"),
        Some(found)
    );
    assert_eq!(store.find_token(&cookie).expect("readable"), None);
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
