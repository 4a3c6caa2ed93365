//! Requirements, fairness, quotas, drains and maintenance.

use super::*;
use crate::jobs::describe;

/// A GPU of a host with 8 of them.
fn gpu_host() -> FreeDevice {
    FreeDevice {
        host: "gpu7".to_owned(),
        device: Device {
            id: "gpu7/cuda:0".to_owned(),
            name: "AMD Instinct MI300X".to_owned(),
            vendor: Vendor::Amd,
            arch: "gfx942".to_owned(),
            memory_bytes: 192 << 30,
            current_job: None,
        },
        unassigned: true,
        facts: HostFacts {
            torch: Some("2.10.1+rocm7.0".to_owned()),
            rocm: Some("7.0.51831-7c9236b16".to_owned()),
            gpus: 8,
            labels: vec!["nightly".to_owned(), "idle".to_owned(), "rack-a".to_owned()],
        },
    }
}

fn of(owner: &str) -> NewJob {
    NewJob {
        owner: Some(owner.to_owned()),
        ..job()
    }
}

/// The owner of the job that is leased next.
fn next_owner(store: &Store) -> Option<String> {
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    store
        .owner(&lease.job)
        .expect("readable")
        .expect("is there")
}

pub(super) fn job_is_leased_only_to_a_host_that_meets_its_requirements(server: &dyn Server) {
    let store = server.open();
    let cases: [(serde_json::Value, bool); 24] = [
        (serde_json::json!({}), true),
        (serde_json::json!({"vendor": "amd"}), true),
        (serde_json::json!({"vendor": "nvidia"}), false),
        (serde_json::json!({"vendor": "cpu"}), false),
        (serde_json::json!({"arch": "gfx942"}), true),
        (serde_json::json!({"arch": "gfx950"}), false),
        (serde_json::json!({"arch": "gfx9__"}), false),
        (serde_json::json!({"torch": "2.10"}), true),
        (serde_json::json!({"torch": "2.10.1"}), true),
        (serde_json::json!({"torch": "2"}), true),
        (serde_json::json!({"torch": "2.1"}), false),
        (serde_json::json!({"torch": "2.10.1.3"}), false),
        (serde_json::json!({"rocm": "7.0"}), true),
        (serde_json::json!({"rocm": "7.0.51831"}), true),
        (serde_json::json!({"rocm": "7.05"}), false),
        (serde_json::json!({"rocm": "6.4"}), false),
        (serde_json::json!({"memory_bytes": 192_u64 << 30}), true),
        (serde_json::json!({"memory_bytes": 256_u64 << 30}), false),
        (serde_json::json!({"gpus": 8}), true),
        (serde_json::json!({"gpus": 9}), false),
        (serde_json::json!({"labels": ["rack-a"]}), true),
        (
            serde_json::json!({"labels": ["rack-a", "idle", "nightly"]}),
            true,
        ),
        (serde_json::json!({"labels": ["rack"]}), false),
        (serde_json::json!({"labels": ["rack-a", "other"]}), false),
    ];
    for (required, runs) in cases {
        let require: Requirements = serde_json::from_value(required).expect("requirements");
        let text = describe(&require);
        let with = NewJob {
            require: require.clone(),
            ..job()
        };
        let id = store.submit(&with, 100).expect("queued").id;
        assert_eq!(
            store.required(&id).expect("readable"),
            Some((require.clone(), None))
        );
        let host = gpu_host();
        assert_eq!(meets(&require, &host.device, &host.facts), runs, "{text}");
        assert_eq!(store.has_work(&host).expect("readable"), runs, "{text}");
        let lease = store.claim_for(&host, None, None).expect("works");
        assert_eq!(lease.is_some(), runs, "{text}");
        store.remove(&id).expect("works");
    }
    // A host without facts meets no requirement of a version.
    let require = Requirements {
        torch: Some("2".to_owned()),
        ..Requirements::default()
    };
    assert!(!meets(&require, &cpu(), &HostFacts::default()));
    store
        .submit(&NewJob { require, ..job() }, 100)
        .expect("queued");
    assert!(store.claim(&cpu(), true).expect("works").is_none());
    // A job that requires a processor runs on that of a host with GPUs, where other jobs do not.
    let require = Requirements {
        vendor: Some(Vendor::Cpu),
        ..Requirements::default()
    };
    let id = store
        .submit(&NewJob { require, ..job() }, 100)
        .expect("queued")
        .id;
    let lease = store.claim(&cpu(), false).expect("works").expect("waits");
    assert_eq!(lease.job, id);
}

pub(super) fn owners_take_turns(server: &dyn Server) {
    let store = server.open();
    for owner in ["ann", "ann", "ann", "ann"] {
        store.submit(&of(owner), 100).expect("queued");
    }
    let late = store.submit(&of("bob"), 100).expect("queued");
    assert_eq!(late.position, Some(1));
    store.submit(&of("bob"), 100).expect("queued");
    store.submit(&job(), 100).expect("queued");
    let order: Vec<Option<String>> = (0..7).map(|_| next_owner(&store)).collect();
    let order: Vec<&str> = order
        .iter()
        .map(|owner| owner.as_deref().unwrap_or("-"))
        .collect();
    assert_eq!(order, ["ann", "bob", "-", "ann", "bob", "ann", "ann"]);
}

pub(super) fn jobs_of_a_higher_priority_run_first(server: &dyn Server) {
    let store = server.open();
    let ids = [Priority::Low, Priority::Normal, Priority::High].map(|priority| {
        let job = NewJob { priority, ..job() };
        store.submit(&job, 100).expect("queued").id
    });
    assert_eq!(store.position(&ids[0]).expect("readable"), Some(2));
    for expected in ids.iter().rev() {
        let lease = store.claim(&cpu(), true).expect("works").expect("waits");
        assert_eq!(lease.job, *expected);
    }
}

pub(super) fn running_jobs_of_one_token_are_limited(server: &dyn Server) {
    let store = server.open();
    store.limit_running(1);
    for owner in ["ann", "ann", "bob"] {
        store.submit(&of(owner), 100).expect("queued");
    }
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    assert_eq!(next_owner(&store).as_deref(), Some("bob"));
    assert!(!store.has_work(&free(&cpu(), true)).expect("readable"));
    assert!(store.claim(&cpu(), true).expect("works").is_none());
    let mut work = store.watch_work();
    work.mark_unchanged();
    store
        .append(&lease, &[EventBody::Done])
        .expect("is current");
    assert!(work.has_changed().expect("the store lives"));
    assert_eq!(next_owner(&store).as_deref(), Some("ann"));
}

pub(super) fn device_time_of_one_token_is_limited(server: &dyn Server) {
    let store = server.open();
    let limits = QueueLimits {
        device_time_per_day: Some(Duration::from_secs(3600)),
        ..QueueLimits::from(100)
    };
    let spent = |result| matches!(result, Err(StoreError::DeviceTimeSpent { .. }));
    let id = store.submit(&of("ann"), limits).expect("queued").id;
    let lease = store.claim(&cpu(), true).expect("works").expect("waits");
    store.submit(&of("ann"), limits).expect("has time left");
    // Two hours of the running job.
    execute(
        &store,
        "update jobs set leased_at = leased_at - 7200 where leased_at is not null",
    );
    assert!(spent(store.submit(&of("ann"), limits).map(drop)));
    store
        .append(&lease, &[EventBody::Done])
        .expect("is current");
    assert!(spent(store.submit(&of("ann"), limits).map(drop)));
    store.remove(&id).expect("works");
    assert!(
        spent(store.submit(&of("ann"), limits).map(drop)),
        "it counts after its removal"
    );
    store
        .submit(&of("bob"), limits)
        .expect("has time of his own");
    store
        .submit(&job(), limits)
        .expect("the operator has no limit");
    execute(&store, "update device_usage set day = day - 1");
    store.submit(&of("ann"), limits).expect("another day");
}

pub(super) fn drained_host_and_maintenance_start_no_jobs(server: &dyn Server) {
    let store = server.open();
    let id = store.submit(&job(), 100).expect("queued").id;
    let (mut queue, mut work) = (store.watch_queue(), store.watch_work());
    queue.mark_unchanged();
    work.mark_unchanged();
    let here = free(&cpu(), true);
    let idle = |host: &FreeDevice| {
        !store.has_work(host).expect("readable")
            && store.claim_for(host, None, None).expect("works").is_none()
    };
    store.drain("here", "new driver").expect("works");
    assert!(queue.has_changed().expect("the store lives"));
    // Those of a shared database also wake up when their server begins to listen.
    assert!(store.is_shared() || !work.has_changed().expect("the store lives"));
    work.mark_unchanged();
    assert!(idle(&here));
    assert_eq!(store.drains().expect("readable")["here"], "new driver");
    assert!(store.resume("here").expect("works"));
    assert!(work.has_changed().expect("the store lives"));
    work.mark_unchanged();
    assert!(!store.resume("here").expect("works"));
    store
        .set_maintenance(Some("database moves"))
        .expect("works");
    assert_eq!(
        store.maintenance().expect("readable").as_deref(),
        Some("database moves")
    );
    assert!(idle(&here) && idle(&gpu_host()));
    store.set_maintenance(None).expect("works");
    assert_eq!(store.maintenance().expect("readable"), None);
    store.drain("gpu7", "").expect("works");
    assert!(idle(&gpu_host()));
    assert!(store.claim_for(&here, None, None).expect("works").is_some());
    let running = store.running_jobs().expect("readable");
    let places: Vec<(&str, &str, &str)> = running
        .iter()
        .map(|running| (&*running.host, &*running.device, &*running.job.id))
        .collect();
    assert_eq!(places, [("here", "cpu", &*id)]);
}
