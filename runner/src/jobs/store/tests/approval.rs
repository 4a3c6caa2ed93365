//! Jobs whose code must be approved before it runs.

use super::*;

fn submitted(code: &str, owner: &str) -> NewJob {
    NewJob {
        code: code.to_owned(),
        code_sha256: format!("hash of {code}"),
        title: Some("softmax".to_owned()),
        owner: Some(owner.to_owned()),
        needs_approval: true,
        ..job()
    }
}

fn claim(store: &Store) -> Option<String> {
    let lease = store.claim(&cpu(), true).expect("works");
    lease.map(|lease| lease.job)
}

pub(super) fn job_waits_for_approval_and_the_same_code_runs_without_it_afterwards(
    server: &dyn Server,
) {
    let store = server.open();
    let first = store
        .submit(&submitted("x = 1", "ann"), 10)
        .expect("is stored");
    let same = store
        .submit(&submitted("x = 1", "bob"), 10)
        .expect("is stored");
    assert_eq!(
        (first.state, first.position),
        (JobState::AwaitingApproval, None)
    );
    assert_eq!(claim(&store), None);
    let approved = store.approve(&first.id, Some("carl")).expect("works");
    assert_eq!(approved, ApprovalOutcome::Decided);
    assert_eq!(claim(&store), Some(first.id.clone()));
    assert_eq!(claim(&store), Some(same.id), "it has the same code");
    let later = store
        .submit(&submitted("x = 1", "dan"), 10)
        .expect("is queued");
    assert_eq!(later.state, JobState::Queued);
    let again = store.approve(&first.id, None).expect("works");
    assert_eq!(again, ApprovalOutcome::NotWaiting);
    let unknown = store.approve("unknown", None).expect("works");
    assert_eq!(unknown, ApprovalOutcome::NotFound);
    let events = store.events_after(&first.id, 0, 10).expect("readable");
    let approved = events.iter().any(|event| event.body == EventBody::Approved);
    assert!(approved, "{events:?}");
    let by: Option<String> = store
        .read(|tx| tx.one("select approved_by from approvals", &[]))
        .expect("one approval");
    assert_eq!(by.as_deref(), Some("carl"));
}

pub(super) fn rejected_job_fails_with_the_reason_and_its_code_stays_unapproved(
    server: &dyn Server,
) {
    let store = server.open();
    let id = store
        .submit(&submitted("x = 1", "ann"), 10)
        .expect("is stored")
        .id;
    let rejected = store.reject(&id, None, "it reads files").expect("works");
    assert_eq!(rejected, ApprovalOutcome::Decided);
    let view = JobView::from_events(&store.events_after(&id, 0, 10).expect("readable"));
    let failure = view.failure.expect("it failed");
    assert_eq!(failure.code, FailureCode::Rejected);
    assert!(failure.message.contains("it reads files"), "{failure:?}");
    let again = store
        .submit(&submitted("x = 1", "ann"), 10)
        .expect("is stored");
    assert_eq!(again.state, JobState::AwaitingApproval);
}

pub(super) fn pending_job_is_compared_with_the_code_that_was_approved_last(server: &dyn Server) {
    let store = server.open();
    let submit = |code, owner| {
        store
            .submit(&submitted(code, owner), 10)
            .expect("is stored")
            .id
    };
    let approve = |id: &str| store.approve(id, None).expect("works");
    for code in ["x = 1", "x = 2"] {
        approve(&submit(code, "ann"));
    }
    approve(&submit("y = 1", "bob"));
    submit("x = 3", "ann");
    let stranger = NewJob {
        title: None,
        ..submitted("z = 1", "dan")
    };
    store.submit(&stranger, 10).expect("is stored");
    let pending = store.awaiting_approval(10).expect("readable");
    let compared: Vec<_> = pending
        .iter()
        .map(|pending| (pending.code.as_str(), pending.approved_code.as_deref()))
        .collect();
    assert_eq!(compared, [("x = 3", Some("x = 2")), ("z = 1", None)]);
}

pub(super) fn jobs_that_wait_for_approval_are_limited_and_do_not_fill_the_queue(
    server: &dyn Server,
) {
    let store = server.open();
    let limits = QueueLimits {
        device_time_per_day: None,
        total: 2,
        per_owner: 1,
    };
    store
        .submit(&submitted("a", "ann"), limits)
        .expect("is stored");
    let full = store.submit(&submitted("b", "ann"), limits);
    assert!(
        matches!(full, Err(StoreError::OwnerQueueFull { waiting: 1 })),
        "{full:?}"
    );
    let approved = NewJob {
        needs_approval: false,
        ..submitted("c", "ann")
    };
    let queued = store.submit(&approved, limits).expect("the queue is empty");
    assert_eq!(queued.state, JobState::Queued);
}

pub(super) fn author_can_withdraw_a_job_that_waits_for_approval(server: &dyn Server) {
    let store = server.open();
    let id = store
        .submit(&submitted("x = 1", "ann"), 10)
        .expect("is stored")
        .id;
    store.cancel(&id).expect("works");
    let late = store.approve(&id, None).expect("works");
    assert_eq!(late, ApprovalOutcome::NotWaiting);
    assert!(store.awaiting_approval(10).expect("readable").is_empty());
}
