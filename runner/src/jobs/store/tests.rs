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
fn changes_of_a_long_queue_write_one_event_each() {
    const WAITING: usize = 5000;
    let (_folder, store) = open();
    store
        .connection()
        .execute_batch(&format!(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < {WAITING})
             insert into jobs (id, code, code_sha256, variants, state, created_at)
             select 'job-' || i, 'x', '00', '[\"eager\"]', 'queued', '' from n"
        ))
        .expect("a long queue");
    let events = |store: &Store| -> i64 {
        let counted = store
            .connection()
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

#[test]
fn database_of_an_older_server_is_opened() {
    let folder = TempDir::new().expect("a temporary folder");
    let old = rusqlite::Connection::open(folder.path().join("jobs.sqlite")).expect("opens");
    old.execute_batch(
        "create table meta (key text primary key, value text not null) strict;
         insert into meta values ('schema', '1');
         create table jobs (number integer primary key autoincrement, id text not null unique, title text,
             code text not null, code_sha256 text not null, variants text not null, device text, state text not null,
             attempt integer not null default 0, position integer not null default 0,
             last_seq integer not null default 0, created_at text not null) strict;
         insert into jobs (id, code, code_sha256, variants, state, attempt, created_at)
             values ('old', 'x', '00', '[\"eager\"]', 'running', 1, '');",
    )
    .expect("an old database");
    drop(old);
    let store = Store::open(folder.path()).expect("opens");
    assert_eq!(store.recover().expect("works").queued, 1);
    store.check().expect("can be written");
}
