//! What the store promises, on a real database.

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
        busy_with: None,
    }
}

fn job() -> NewJob {
    NewJob {
        code: "x = 1".to_owned(),
        code_sha256: "00".to_owned(),
        title: None,
        variants: vec![Variant::EAGER],
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
fn the_queue_is_first_come_first_served_and_positions_are_told() {
    let (_folder, store) = open();
    let ids: Vec<String> = (0..3)
        .map(|_| store.submit(&job()).expect("queued").id)
        .collect();
    assert_eq!(view(&store, &ids[2]).position, 2);

    let lease = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    assert_eq!(lease.job, ids[0]);
    assert_eq!(view(&store, &ids[2]).position, 1);

    assert_eq!(store.cancel(&ids[1]).expect("works"), Cancelled::Now);
    assert_eq!(view(&store, &ids[2]).position, 0);
}

#[test]
fn a_job_for_another_device_is_neither_claimed_nor_in_the_way() {
    let (_folder, store) = open();
    let for_gpu = NewJob {
        device: Some("cuda:0".to_owned()),
        ..job()
    };
    store.submit(&for_gpu).expect("queued");
    assert!(store.claim(&cpu(), true).expect("works").is_none());
    let for_any = store.submit(&job()).expect("queued").id;
    assert!(store.claim(&cpu(), false).expect("works").is_none());
    let lease = store.claim(&cpu(), true).expect("works");
    assert_eq!(lease.map(|lease| lease.job), Some(for_any));
    let for_cpu = NewJob {
        device: Some("cpu".to_owned()),
        ..job()
    };
    let id = store.submit(&for_cpu).expect("queued").id;
    assert_eq!(view(&store, &id).position, 0);
}

#[test]
fn only_the_current_attempt_may_write_and_nothing_follows_the_end() {
    let (_folder, store) = open();
    store.submit(&job()).expect("queued");
    let first = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    store
        .interrupt(&first, "the runner was stopped")
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
fn a_batch_that_passes_the_end_is_refused_whole() {
    let (_folder, store) = open();
    store.submit(&job()).expect("queued");
    let lease = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    let result = store.append(&lease, &[remark("a"), EventBody::Done, remark("b")]);
    assert!(matches!(result, Err(StoreError::Fenced)), "{result:?}");
    assert_eq!(view(&store, &lease.job).state, JobState::Running);
}

#[test]
fn a_cancelled_job_can_be_cancelled_again_and_its_worker_is_fenced_off() {
    let (_folder, store) = open();
    let id = store.submit(&job()).expect("queued").id;
    let lease = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    assert_eq!(store.cancel(&id).expect("works"), Cancelled::Now);
    assert_eq!(store.cancel(&id).expect("works"), Cancelled::HadEnded);
    assert_eq!(store.cancel("nobody").expect("works"), Cancelled::Unknown);
    let late = store.append(&lease, &[EventBody::Done]);
    assert!(matches!(late, Err(StoreError::Fenced)), "{late:?}");
    assert_eq!(view(&store, &id).state, JobState::Cancelled);
}

#[test]
fn a_job_that_dies_with_the_server_twice_fails_and_waiting_ones_stay() {
    let (folder, store) = open();
    let dying = store.submit(&job()).expect("queued").id;
    let waiting = store.submit(&job()).expect("queued").id;
    let mut store = Some(store);
    for attempt in 1..=2 {
        let open = store.take().expect("open");
        let lease = open.claim(&cpu(), true).expect("works").expect("waits");
        assert_eq!(
            (lease.job.as_str(), lease.attempt),
            (dying.as_str(), attempt)
        );
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
fn a_data_folder_has_one_server() {
    let (folder, _store) = open();
    let second = Store::open(folder.path());
    assert!(
        matches!(second, Err(StoreError::InUse { .. })),
        "{second:?}"
    );
}

#[tokio::test]
async fn watchers_hear_of_events_once_they_can_be_read() {
    let (_folder, store) = open();
    let id = store.submit(&job()).expect("queued").id;
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
