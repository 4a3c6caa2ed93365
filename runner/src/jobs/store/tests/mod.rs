//! Tests of the store that pass on every database, and for each database those of its own. A suite of functions gets a
//! [`Server`], which opens a store on an empty database, and again after the store was dropped.

mod approval;
mod fleet;
mod postgres;
mod sqlite;

use self::approval::{
    author_can_withdraw_a_job_that_waits_for_approval,
    job_waits_for_approval_and_the_same_code_runs_without_it_afterwards,
    jobs_that_wait_for_approval_are_limited_and_do_not_fill_the_queue,
    pending_job_is_compared_with_the_code_that_was_approved_last,
    rejected_job_fails_with_the_reason_and_its_code_stays_unapproved,
};
use self::fleet::{
    device_time_of_one_token_is_limited, drained_host_and_maintenance_start_no_jobs,
    job_is_leased_only_to_a_host_that_meets_its_requirements, jobs_of_a_higher_priority_run_first,
    owners_take_turns, running_jobs_of_one_token_are_limited,
};
use super::*;
use crate::jobs::{HostFacts, HostReport, meets};
use hipward_protocol::{Capabilities, FailureCode, JobView, LogStream, Outcome, Vendor};

/// A database for one test.
trait Server {
    /// Opens the store. The one that was opened before must have been dropped.
    fn open(&self) -> Store;
}

/// The suite: one `#[test]` per function on SQLite, and the list `SUITE` for PostgreSQL.
macro_rules! suite {
    ($($name:ident),* $(,)?) => {
        const SUITE: &[(&str, fn(&dyn Server))] = &[$((stringify!($name), $name)),*];

        mod on_sqlite {
            $(
                #[test]
                fn $name() {
                    super::$name(&super::sqlite::Folder::new());
                }
            )*
        }
    };
}

suite! {
    queue_is_first_in_first_out_and_positions_are_current,
    job_for_another_device_is_not_claimed_and_does_not_block,
    only_the_current_attempt_may_write_and_nothing_follows_the_final_event,
    batch_with_events_after_the_final_one_is_rejected,
    event_of_a_newer_version_is_replaced_with_a_note,
    cancelling_twice_has_no_effect_and_the_worker_is_fenced_off,
    job_fails_after_two_server_crashes_and_queued_jobs_stay,
    watchers_are_notified_after_events_are_stored,
    only_server_crashes_during_running_code_count,
    lost_jobs_are_queued_again_and_others_keep_running,
    full_queue_rejects_jobs,
    one_token_cannot_fill_the_queue,
    changes_of_a_long_queue_write_one_event_each,
    removed_job_leaves_nothing_and_fences_its_worker,
    retention_by_age_removes_only_jobs_that_ended_before,
    found_tokens_have_their_role_and_names_are_unique,
    listed_jobs_have_their_verdict,
    list_of_jobs_is_filtered,
    jobs_of_the_schema_without_results_are_filtered_after_the_upgrade,
    history_has_the_results_of_one_title_in_order,
    ended_job_is_delivered_until_it_is_confirmed,
    repeated_appends_are_stored_once,
    lease_that_is_not_renewed_expires,
    long_queue_is_limited_and_positions_are_counted_up_to_a_bound,
    listed_jobs_have_the_positions_that_they_have_alone,
    renewal_of_a_lease_that_has_ended_is_refused,
    lease_of_a_host_belongs_to_its_token,
    null_characters_are_accepted,
    job_waits_for_approval_and_the_same_code_runs_without_it_afterwards,
    rejected_job_fails_with_the_reason_and_its_code_stays_unapproved,
    pending_job_is_compared_with_the_code_that_was_approved_last,
    jobs_that_wait_for_approval_are_limited_and_do_not_fill_the_queue,
    author_can_withdraw_a_job_that_waits_for_approval,
    job_is_leased_only_to_a_host_that_meets_its_requirements,
    owners_take_turns,
    jobs_of_a_higher_priority_run_first,
    running_jobs_of_one_token_are_limited,
    device_time_of_one_token_is_limited,
    drained_host_and_maintenance_start_no_jobs,
}

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

/// A free device of the host `here`.
pub(super) fn free(device: &Device, unassigned: bool) -> FreeDevice {
    FreeDevice {
        host: "here".to_owned(),
        device: device.clone(),
        unassigned,
        facts: HostFacts::default(),
    }
}

fn job() -> NewJob {
    NewJob {
        code: "x = 1".to_owned(),
        code_sha256: "00".to_owned(),
        title: None,
        variants: vec![VariantId::EAGER],
        device: None,
        labels: Vec::new(),
        owner: None,
        needs_approval: false,
        require: Requirements::default(),
        priority: Priority::Normal,
    }
}

fn remark(text: &str) -> EventBody {
    EventBody::Log {
        stream: LogStream::Runner,
        text: text.to_owned(),
    }
}

/// Changes the database as no method of the store does.
fn execute(store: &Store, statement: &str) {
    let executed = store.change(|tx, _| tx.execute(statement, &[]));
    executed.expect("is written");
}

fn view(store: &Store, id: &str) -> JobView {
    let events = store.events_after(id, 0, 1000).expect("readable");
    let expected: Vec<u64> = (1..=events.len() as u64).collect();
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, expected, "sequence numbers have no gaps");
    JobView::from_events(&events)
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

fn queue_is_first_in_first_out_and_positions_are_current(server: &dyn Server) {
    let store = server.open();
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

fn job_for_another_device_is_not_claimed_and_does_not_block(server: &dyn Server) {
    let store = server.open();
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

fn only_the_current_attempt_may_write_and_nothing_follows_the_final_event(server: &dyn Server) {
    let store = server.open();
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

fn event_of_a_newer_version_is_replaced_with_a_note(server: &dyn Server) {
    let store = server.open();
    let id = ended(&store, "a remark");
    execute(
        &store,
        r#"update events set body = '{"type":"of_tomorrow","x":1}' where body like '%a remark%'"#,
    );
    let view = view(&store, &id);
    assert_eq!(view.state, JobState::Done);
    let log: String = view.log.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        log.contains("of the kind \"of_tomorrow\" is left out"),
        "{log}"
    );
    // Anything else is damage.
    execute(
        &store,
        "update events set body = '{}' where body like '%of_tomorrow%'",
    );
    assert!(store.events_after(&id, 0, 10).is_err());
}

fn batch_with_events_after_the_final_one_is_rejected(server: &dyn Server) {
    let store = server.open();
    store.submit(&job(), 10_000).expect("queued");
    let lease = store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    let result = store.append(&lease, &[remark("a"), EventBody::Done, remark("b")]);
    assert!(matches!(result, Err(StoreError::Fenced)), "{result:?}");
    assert_eq!(view(&store, &lease.job).state, JobState::Running);
}

fn cancelling_twice_has_no_effect_and_the_worker_is_fenced_off(server: &dyn Server) {
    let store = server.open();
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

fn job_fails_after_two_server_crashes_and_queued_jobs_stay(server: &dyn Server) {
    let store = server.open();
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
        let reopened = server.open();
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

fn watchers_are_notified_after_events_are_stored(server: &dyn Server) {
    let store = server.open();
    let id = store.submit(&job(), 10_000).expect("queued").id;
    let mut signal = store.watch(&id);
    store
        .claim(&cpu(), true)
        .expect("works")
        .expect("a job waits");
    assert!(signal.has_changed().expect("the store lives"));
    let newest = signal.borrow_and_update().clone();
    let stored = store.events_after(&id, 1, 10).expect("readable");
    assert!(matches!(stored[0].body, EventBody::Leased { .. }));
    // A watcher who has the first event need not read the second.
    assert_eq!(newest.after(1), Some(stored));
    assert_eq!(newest.after(0), None, "the first event must be read");
    assert_eq!(newest.after(2), None);
}

fn only_server_crashes_during_running_code_count(server: &dyn Server) {
    let store = server.open();
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
        store = server.open();
        assert_eq!(store.recover().expect("works").queued, 1);
    }
    for failed in [0, 1] {
        store.mark_begun(&lease(&store)).expect("is current");
        drop(store);
        store = server.open();
        assert_eq!(store.recover().expect("works").failed, failed);
    }
    let why = view(&store, &id).failure.expect("it says why");
    assert!(why.message.starts_with("It was tried 2 times"), "{why:?}");
}

fn lost_jobs_are_queued_again_and_others_keep_running(server: &dyn Server) {
    let store = server.open();
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

fn full_queue_rejects_jobs(server: &dyn Server) {
    let store = server.open();
    store.submit(&job(), 1).expect("queued");
    let refused = store.submit(&job(), 1);
    assert!(
        matches!(refused, Err(StoreError::QueueFull { waiting: 1 })),
        "{refused:?}"
    );
    store.claim(&cpu(), true).expect("works").expect("waits");
    store.submit(&job(), 1).expect("there is room again");
}

fn one_token_cannot_fill_the_queue(server: &dyn Server) {
    let store = server.open();
    let limits = QueueLimits {
        total: 5,
        per_owner: 2,
        device_time_per_day: None,
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

fn changes_of_a_long_queue_write_one_event_each(server: &dyn Server) {
    const WAITING: usize = 5000;
    let store = server.open();
    execute(
        &store,
        &format!(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < {WAITING})
             insert into jobs (id, code, code_sha256, variants, state, created_at)
             select 'job-' || i, 'x', '00', '[\"eager\"]', 'queued', '' from n"
        ),
    );
    let events = |store: &Store| -> usize {
        let counted = store.read(|tx| tx.one("select count(*) from events", &[]));
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

fn removed_job_leaves_nothing_and_fences_its_worker(server: &dyn Server) {
    let store = server.open();
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

fn retention_by_age_removes_only_jobs_that_ended_before(server: &dyn Server) {
    let store = server.open();
    let [old, new] = ["old", "new"].map(|text| ended(&store, text));
    let waiting = store.submit(&job(), 10).expect("queued").id;
    execute(
        &store,
        &format!(
            "update jobs set ended_at = '2020-01-01T00:00:00.000Z', created_at = '2020' where id = '{old}'"
        ),
    );
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

fn found_tokens_have_their_role_and_names_are_unique(server: &dyn Server) {
    let store = server.open();
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
    assert_eq!(store.tokens().expect("readable").len(), 1);
    assert!(store.remove_token("ann").expect("works"));
    assert!(!store.remove_token("ann").expect("works"));
    assert_eq!(store.find_token(&secret).expect("readable"), None);
}

fn listed_jobs_have_their_verdict(server: &dyn Server) {
    let store = server.open();
    let id = store.submit(&job(), 10).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    let verdict: EventBody = serde_json::from_value(serde_json::json!({
        "type": "verdict", "summary": "It is faster.", "comparisons": []
    }))
    .expect("a verdict");
    store
        .append(&lease, &[verdict, EventBody::Done])
        .expect("is current");
    let waiting = store.submit(&job(), 10).expect("queued").id;
    let listed = store.list(&JobFilter::default(), 10).expect("readable");
    let headlines: Vec<(&str, Option<&str>)> = listed
        .iter()
        .map(|listed| (listed.job.id.as_str(), listed.headline.as_deref()))
        .collect();
    assert_eq!(
        headlines,
        [
            (waiting.as_str(), None),
            (id.as_str(), Some("It is faster."))
        ]
    );
    let mut counts = store.counts().expect("readable");
    counts.sort_by_key(|(state, _)| state.is_final());
    assert_eq!(counts, [(JobState::Queued, 1), (JobState::Done, 1)]);
    let metrics = store.queue_metrics().expect("readable");
    assert!((0.0..60.0).contains(&metrics.oldest_seconds), "{metrics:?}");
    assert_eq!(metrics.started, 1);
    store.check().expect("can be written");
}

/// Runs a job to its end with a verdict.
fn measured(store: &Store, job: &NewJob, outcome: &str, summary: &str) -> String {
    let id = store.submit(job, 10).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    let events = [remark("output"), verdict(outcome, summary), EventBody::Done];
    store.append(&lease, &events).expect("is current");
    id
}

fn verdict(outcome: &str, summary: &str) -> EventBody {
    serde_json::from_value(serde_json::json!({
        "type": "verdict", "summary": summary, "comparisons": [{
            "variant": "compile", "speedup": 1.0, "ci_low": 1.0, "ci_high": 1.0, "outcome": outcome
        }]
    }))
    .expect("a verdict")
}

fn list_of_jobs_is_filtered(server: &dyn Server) {
    let store = server.open();
    let first = NewJob {
        title: Some("RMSNorm 100%".to_owned()),
        labels: vec!["main".to_owned(), "llama/7b".to_owned()],
        owner: Some("ann".to_owned()),
        ..job()
    };
    let fast = measured(
        &store,
        &first,
        "FASTER",
        "Variant compile is 2.0 times as fast.",
    );
    let slow = measured(&store, &job(), "SLOWER", "Variant compile is slower.");
    let waiting = NewJob {
        labels: vec!["main-2".to_owned()],
        ..job()
    };
    let waiting = store.submit(&waiting, 10).expect("queued").id;
    let list = |filter: JobFilter| -> Vec<String> {
        let listed = store.list(&filter, 10).expect("readable");
        listed.into_iter().map(|listed| listed.job.id).collect()
    };
    let all = JobFilter::default;
    let search = |text: &str| {
        list(JobFilter {
            search: text.to_owned(),
            ..all()
        })
    };
    assert_eq!(list(all()), [&waiting, &slow, &fast].map(String::clone));
    // A short word may be part of an id, which is searched too.
    assert_eq!(search("rmsnorm SLOWER"), Vec::<String>::new());
    assert_eq!(search("rmsnorm 2.0 Fast"), [fast.as_str()]);
    assert_eq!(search("100%"), [fast.as_str()]);
    assert_eq!(search("1_0"), Vec::<String>::new(), "no wildcards");
    assert_eq!(search(&slow[..12]), [slow.as_str()]);
    let outcome = Some(Outcome::Slower);
    assert_eq!(list(JobFilter { outcome, ..all() }), [slow.as_str()]);
    let state = Some(JobState::Queued);
    assert_eq!(list(JobFilter { state, ..all() }), [waiting.as_str()]);
    let device = Some("cpu".to_owned());
    assert_eq!(
        list(JobFilter { device, ..all() }),
        [&slow, &fast].map(String::clone)
    );
    let label = |name: &str| {
        list(JobFilter {
            label: Some(name.to_owned()),
            ..all()
        })
    };
    assert_eq!(label("main"), [fast.as_str()]);
    assert_eq!(label("MAIN"), Vec::<String>::new());
    let owner = Some(Some("ann".to_owned()));
    assert_eq!(list(JobFilter { owner, ..all() }), [fast.as_str()]);
    let owner = Some(None);
    assert_eq!(
        list(JobFilter { owner, ..all() }),
        [&waiting, &slow].map(String::clone)
    );
    assert_eq!(store.used_devices().expect("readable"), ["cpu"]);

    let filter = JobFilter {
        label: Some("llama/7b".to_owned()),
        ..all()
    };
    let listed = store.list(&filter, 10).expect("readable");
    assert_eq!(listed[0].job.labels, ["main", "llama/7b"]);
    assert_eq!(listed[0].device.as_deref(), Some("cpu"));
    assert_eq!(listed[0].owner.as_deref(), Some("ann"));
}

/// Removes what the last schema added, and compares what the upgrade writes with what the running store wrote.
fn jobs_of_the_schema_without_results_are_filtered_after_the_upgrade(server: &dyn Server) {
    let store = server.open();
    measured(&store, &job(), "FASTER", "Variant compile is faster.");
    measured(&store, &job(), "SLOWER", "Variant compile is slower.");
    let fail = |before: Vec<EventBody>| {
        store.submit(&job(), 10).expect("queued");
        let lease = store.claim(&cpu(), true).expect("works").expect("waits");
        let failed: EventBody = serde_json::from_value(serde_json::json!({
            "type": "failed", "code": "timeout", "message": "It was stopped.", "help": "Use a smaller input."
        }))
        .expect("a failure");
        let events: Vec<EventBody> = before.into_iter().chain([failed]).collect();
        store.append(&lease, &events).expect("is current");
    };
    fail(vec![remark("output")]);
    fail(vec![verdict("FASTER", "Until then, compile was faster.")]);
    store.submit(&job(), 10).expect("queued");

    let list = |store: &Store| {
        [None, Some(Outcome::Faster), Some(Outcome::Slower)].map(|outcome| {
            let filter = JobFilter {
                outcome,
                ..JobFilter::default()
            };
            let listed = store.list(&filter, 10).expect("readable");
            let columns = listed
                .into_iter()
                .map(|listed| (listed.job.id, listed.headline, listed.device));
            columns.collect::<Vec<_>>()
        })
    };
    let before = list(&store);
    assert_eq!(before.each_ref().map(Vec::len), [5, 2, 1]);
    let version: usize = store
        .read(|tx| tx.one::<String>("select value from meta where key = 'schema'", &[]))
        .expect("readable")
        .parse()
        .expect("a number");
    for column in ["labels", "outcomes", "result"] {
        execute(&store, &format!("alter table jobs drop column {column}"));
    }
    execute(&store, "drop table deliveries");
    execute(&store, "update jobs set on_device = null");
    let downgrade = format!(
        "update meta set value = '{}' where key = 'schema'",
        version - 1
    );
    execute(&store, &downgrade);
    drop(store);

    assert_eq!(list(&server.open()), before);
}

fn history_has_the_results_of_one_title_in_order(server: &dyn Server) {
    let store = server.open();
    let named = NewJob {
        title: Some("RMSNorm".to_owned()),
        ..job()
    };
    let ids = ["SAME", "FASTER"].map(|outcome| measured(&store, &named, outcome, outcome));
    measured(&store, &job(), "SAME", "Another title");
    store.submit(&named, 10).expect("queued");
    let filter = JobFilter {
        title: named.title,
        ..JobFilter::default()
    };
    let runs = store.history(&filter).expect("readable");
    let found: Vec<&str> = runs.iter().map(|run| run.job.id.as_str()).collect();
    assert_eq!(found, ids);
    let verdict = runs[1].view.verdict.as_ref().expect("has a verdict");
    assert_eq!(verdict.summary, "FASTER");
    assert_eq!(runs[1].view.device, Some(cpu()));
    assert!(runs[1].view.log.is_empty(), "output is left out");
}

fn ended_job_is_delivered_until_it_is_confirmed(server: &dyn Server) {
    const URL: &str = "https://chat.example/hook";
    let open = || {
        let store = server.open();
        store.set_webhooks(vec![URL.to_owned()]);
        store
    };
    let store = open();
    assert_eq!(store.claim_delivery().expect("works"), None);
    let id = ended(&store, "output");
    let waiting = store.submit(&job(), 10).expect("queued").id;
    let delivery = store.claim_delivery().expect("works").expect("is due");
    assert_eq!(
        (delivery.url.as_str(), &delivery.job, delivery.attempt),
        (URL, &id, 1)
    );
    assert_eq!(store.claim_delivery().expect("works"), None, "is claimed");
    let delay = store.retry_delivery(&delivery).expect("works");
    assert!(delay.is_some());
    assert_eq!(store.claim_delivery().expect("works"), None, "is not due");

    // The next server sends it.
    drop(store);
    let store = open();
    assert_eq!(store.open_deliveries().expect("readable"), 1);
    execute(&store, "update deliveries set next_at = 0");
    let repeated = store.claim_delivery().expect("works").expect("is due");
    assert_eq!((repeated.number, repeated.attempt), (delivery.number, 2));
    store.end_delivery(&repeated).expect("works");
    assert_eq!(store.open_deliveries().expect("readable"), 0);
    store.cancel(&waiting).expect("works");
    let last = store.claim_delivery().expect("works").expect("is due");
    assert_eq!(last.job, waiting);
    let given_up = Delivery {
        attempt: 99,
        ..last
    };
    assert_eq!(store.retry_delivery(&given_up).expect("works"), None);
    assert_eq!(store.open_deliveries().expect("readable"), 0);
}

fn repeated_appends_are_stored_once(server: &dyn Server) {
    let store = server.open();
    let id = store.submit(&job(), 10).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    let [a, b, c] = ["a", "b", "c"].map(remark);
    let append = |after, bodies: &[EventBody]| store.append_after(&lease, after, bodies);
    append(0, &[a.clone(), b.clone()]).expect("is current");
    append(0, &[a.clone(), b.clone()]).expect("is repeated");
    // The answer was lost, and another event is sent with the first ones.
    append(0, &[a, b, c]).expect("is repeated");
    append(3, &[EventBody::Done]).expect("is current");
    let events = store.events_after(&id, 2, 10).expect("readable");
    let texts: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Log { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["a", "b", "c"]);
    assert_eq!(view(&store, &id).state, JobState::Done);
}

fn lease_that_is_not_renewed_expires(server: &dyn Server) {
    let store = server.open();
    let ids: Vec<String> = (0..3)
        .map(|_| store.submit(&job(), 10).expect("queued").id)
        .collect();
    let lease = |valid| {
        let lease = store
            .claim_for(&free(&cpu(), true), valid, None)
            .expect("works");
        lease.expect("a job waits")
    };
    let own = lease(None);
    let renewed = lease(Some(Duration::ZERO));
    let lost = lease(Some(Duration::ZERO));
    let hour = Some(Duration::from_secs(3600));
    store.renew(&renewed, hour).expect("is current");
    std::thread::sleep(Duration::from_millis(20));
    let leases = store.inspect_leases().expect("readable");
    assert_eq!((leases.expired, leases.too_long), (1, 1));
    assert_eq!(store.running().expect("readable"), [own.job]);
    assert_eq!(
        store.end_expired("it stopped").expect("works"),
        [lost.job.as_str()]
    );
    store.shorten_leases().expect("works");
    let leases = store.inspect_leases().expect("readable");
    assert_eq!((leases.expired, leases.too_long), (0, 0));
    assert_eq!(
        view(&store, &ids[2]).requeue_reason.as_deref(),
        Some("it stopped")
    );
    let late = store.append_after(&lost, 0, &[EventBody::Done]);
    assert!(matches!(late, Err(StoreError::Fenced)), "{late:?}");
    let again = lease(hour);
    assert_eq!((again.job, again.attempt), (lost.job, 2));
}

fn long_queue_is_limited_and_positions_are_counted_up_to_a_bound(server: &dyn Server) {
    let store = server.open();
    let first = store.submit(&job(), 10).expect("queued");
    execute(
        &store,
        "insert into jobs (id, code, code_sha256, variants, state, created_at, turn)
         with recursive numbers (n) as (select 2 union all select n + 1 from numbers where n < 10003)
         select 'job' || n, '', '', '[]', 'queued', '', n from numbers",
    );
    let limit = 10_004;
    let last = store.submit(&job(), limit).expect("queued");
    assert_eq!((first.position, last.position), (Some(0), Some(10_000)));
    let full = store.submit(&job(), limit);
    assert!(
        matches!(full, Err(StoreError::QueueFull { waiting }) if waiting == limit),
        "{full:?}"
    );
}

fn listed_jobs_have_the_positions_that_they_have_alone(server: &dyn Server) {
    let store = server.open();
    // Jobs of each priority, for any device and for two devices, in no order of their places.
    execute(
        &store,
        "insert into jobs (id, code, code_sha256, variants, state, created_at, rank, turn, device)
         with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 12000)
         select 'job' || n, '', '', '[]', case n % 11 when 0 then 'done' else 'queued' end, '', n % 3, n * 7 % 12000,
             case n % 5 when 1 then 'cuda:0' when 2 then 'cuda:1' end
         from numbers",
    );
    let listed = store.list(&JobFilter::default(), 300).expect("readable");
    assert_eq!(listed.len(), 300);
    let begin = std::time::Instant::now();
    let alone: Vec<Option<usize>> = listed
        .iter()
        .map(|listed| store.position(&listed.job.id).expect("readable"))
        .collect();
    let each = begin.elapsed();
    let in_the_list: Vec<_> = listed.iter().map(|listed| listed.job.position).collect();
    assert_eq!(in_the_list, alone);
    let none = alone.iter().filter(|position| position.is_none()).count();
    let limit = alone.iter().flatten().filter(|&&ahead| ahead == 10_000);
    assert!(none > 20 && limit.clone().count() > 2, "{alone:?}");
    assert!(
        alone.iter().flatten().any(|&ahead| ahead < 100),
        "{alone:?}"
    );
    // Where the queue was counted for each job, a list took 300 times as long as one position, now 3 times and its own queries.
    let time = |act: &dyn Fn()| {
        let times = (0..5).map(|_| {
            let begin = std::time::Instant::now();
            act();
            begin.elapsed()
        });
        times.min().expect("five times")
    };
    let last = listed
        .iter()
        .max_by_key(|listed| listed.job.position)
        .expect("has jobs");
    let one = time(&|| drop(store.position(&last.job.id)));
    let all = time(&|| drop(store.list(&JobFilter::default(), 300)));
    println!("one position {one:?}, each of 300 positions {each:?}, a list of 300 jobs {all:?}");
    assert!(
        all < one * 100,
        "{all:?} for a list, {one:?} for a position"
    );
}

fn renewal_of_a_lease_that_has_ended_is_refused(server: &dyn Server) {
    let store = server.open();
    for valid in [None, Some(Duration::from_secs(60))] {
        let id = store.submit(&job(), 10).expect("queued").id;
        let lease = store
            .claim_for(&free(&cpu(), true), valid, None)
            .expect("works");
        let lease = lease.expect("a job waits");
        store.renew(&lease, valid).expect("is current");
        store.cancel(&id).expect("works");
        let refused = store.renew(&lease, valid);
        assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
    }
}

fn lease_of_a_host_belongs_to_its_token(server: &dyn Server) {
    let store = server.open();
    let report: HostReport = serde_json::from_value(serde_json::json!({
        "version": "1", "ready": true, "devices": [], "isolation": {"level": "files", "mechanisms": []},
        "wall_limit_s": 1, "memory_limit_bytes": 1, "code_limit_bytes": 1
    }))
    .expect("capabilities");
    let seen = |token| store.host_seen("gpu1", token, &report).expect("works");
    assert!(seen("ann") && seen("ann"));
    assert!(!seen("bob"), "the name is taken");
    let hosts = || {
        let recent = store.recent_reports("", Duration::from_hours(1));
        recent.expect("readable").hosts
    };
    assert_eq!(*hosts(), [Arc::new(report.clone())]);
    let other = HostReport {
        facts: HostFacts::default(),
        capabilities: Capabilities {
            version: "2".to_owned(),
            ..report.capabilities.clone()
        },
    };
    assert!(store.host_seen("gpu1", "ann", &other).expect("works"));
    assert_eq!(
        *hosts(),
        [Arc::new(other)],
        "a changed report counts at once"
    );

    let id = store.submit(&job(), 10).expect("queued").id;
    let hour = Some(Duration::from_secs(3600));
    let lease = store.claim_for(&free(&cpu(), true), hour, Some("ann"));
    let lease = lease.expect("works").expect("a job waits");
    let of = |attempt, holder| store.lease_of(&id, attempt, holder);
    assert_eq!(of(1, "ann").expect("is current").job, lease.job);
    for refused in [of(1, "bob"), of(1, ""), of(2, "ann")] {
        assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
    }
    store.requeue(&lease, "the host stops").expect("is current");
    store.claim(&cpu(), true).expect("works").expect("waits");
    let ended = of(1, "ann");
    assert!(matches!(ended, Err(StoreError::Fenced)), "{ended:?}");
}

fn null_characters_are_accepted(server: &dyn Server) {
    let store = server.open();
    assert!(store.summary("\0").expect("readable").is_none());
    let strange = NewJob {
        code: "x = '\0'".to_owned(),
        title: Some("\0".to_owned()),
        ..job()
    };
    let id = store.submit(&strange, 10).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    let events = [remark("a\0b"), EventBody::Done];
    store.append(&lease, &events).expect("is current");
    let stored = store.events_after(&id, 2, 10).expect("readable");
    assert_eq!(stored[0].body, events[0]);
}
