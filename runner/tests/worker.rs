//! `hipward worker`: a host that runs jobs of a server elsewhere, and is lost or loses its server.

mod support;
#[path = "support/worker.rs"]
mod worker;

use hipward_protocol::{EventBody, JobState};
use serde_json::{Value, json};
use std::{path::Path, thread::sleep, time::Duration};
use support::{MEASURES, Server, printed, problem, send, state, token};
use worker::{Worker, wait_for_devices};

/// Joins a host to a server.
fn join(server: &Server, token_file: &Path, flags: &[&str]) -> Worker {
    Worker::join(&server.url, "gpu7", token_file, flags)
}

#[test]
fn worker_runs_one_job_of_a_server_without_devices_and_ends() {
    let server = Server::start(&["--no-runner"]);
    let (status, refused) = server.post(&json!({ "code": MEASURES }));
    assert_eq!(
        (status, problem(&refused).code.as_str()),
        (503, "no-host"),
        "{refused}"
    );
    let token = token(&server, "host", "worker");
    let mut worker = join(&server, &token, &["--once"]);
    let devices = wait_for_devices(&server, 1);
    assert_eq!(devices[0]["id"], "gpu7/cpu");
    let (status, body) = server.post(&json!({ "code": MEASURES, "device": "gpu7/gpu" }));
    assert_eq!(
        (status, problem(&body).code.as_str()),
        (409, "unknown-device")
    );
    let id = server.submit(MEASURES).id;
    let job = server.wait_for(&id, |job| job.state.is_final());
    assert_eq!(job.state, JobState::Done);
    let events = server.events(&id, 0);
    let EventBody::Leased { device } = &events[1].body else {
        panic!("{:?}", events[1]);
    };
    assert_eq!(device.id, "gpu7/cpu");
    assert!(
        events
            .iter()
            .any(|event| matches!(event.body, EventBody::Verdict(_))),
        "{events:?}"
    );
    assert!(worker.wait().success());
}

#[test]
fn token_of_a_worker_permits_nothing_else() {
    let server = Server::start(&["--no-runner"]);
    let host = token(&server, "host", "worker");
    let other = token(&server, "other", "worker");
    let submitter = token(&server, "ann", "submit");
    let jobs = "/api/v1/jobs";
    let snippet = json!({ "code": MEASURES });
    for (method, path) in [("POST", jobs), ("GET", jobs), ("DELETE", "/api/v1/jobs/x")] {
        let refused = send(&server, method, path, &host, &snippet);
        assert_eq!(refused, (403, "role-too-low".to_owned()), "{method} {path}");
    }
    let device = json!({ "id": "a/cpu", "name": "A processor", "vendor": "cpu", "arch": "x86_64", "memory_bytes": 1 });
    let claim =
        |host: &str| json!({ "host": host, "device": device, "unassigned": true, "wait_s": 0 });
    let leases = "/api/v1/leases";
    let refused = send(&server, "POST", leases, &submitter, &claim("a"));
    assert_eq!(refused, (403, "role-too-low".to_owned()));
    let refused = send(&server, "POST", leases, &host, &claim("b"));
    assert_eq!(refused, (409, "invalid-device".to_owned()));
    assert_eq!(send(&server, "POST", leases, &host, &claim("a")).0, 204);
    let wait = "/api/v1/leases/wait";
    let refused = send(&server, "POST", wait, &submitter, &claim("a"));
    assert_eq!(refused, (403, "role-too-low".to_owned()));
    assert_eq!(send(&server, "POST", wait, &host, &claim("a")).0, 204);

    let capabilities = server.get("/api/v1/capabilities").1;
    let mut capabilities: Value = serde_json::from_str(&capabilities).expect("JSON");
    capabilities["devices"] = json!([device]);
    let path = "/api/v1/hosts/a";
    assert_eq!(send(&server, "PUT", path, &host, &capabilities).0, 204);
    let refused = send(&server, "PUT", path, &other, &capabilities);
    assert_eq!(refused, (403, "host-name-taken".to_owned()));

    let id = server.submit(MEASURES).id;
    assert_eq!(send(&server, "POST", wait, &host, &claim("a")).0, 200);
    let (status, leased) = send(&server, "POST", leases, &host, &claim("a"));
    assert_eq!(status, 200, "{leased}");
    let lease = format!("/api/v1/leases/{id}/1");
    let done = json!({ "after": 0, "events": [{ "type": "done" }] });
    let ended = (409, "lease-ended".to_owned());
    let renewal = json!({ "begun": true });
    assert_eq!(send(&server, "PUT", &lease, &other, &renewal), ended);
    let events = format!("{lease}/events");
    assert_eq!(send(&server, "POST", &events, &other, &done), ended);
    for kind in ["cancelled", "approved", "awaiting_approval"] {
        let event = json!({ "after": 0, "events": [{ "type": kind }] });
        let refused = send(&server, "POST", &events, &host, &event);
        assert_eq!(refused, (403, "event-not-permitted".to_owned()));
    }
    assert_eq!(send(&server, "PUT", &lease, &host, &renewal).0, 204);
    assert_eq!(send(&server, "POST", &events, &host, &done).0, 204);
    assert_eq!(server.summary(&id).state, JobState::Done);
}

#[test]
fn worker_finishes_its_job_while_the_server_is_away() {
    let mut server = Server::start(&["--no-runner"]);
    let token = token(&server, "host", "worker");
    let mut worker = join(&server, &token, &[]);
    wait_for_devices(&server, 1);
    let code = "import time\nprint('begins', flush=True)\nfor n in range(40):\n  print(n, flush=True)\n  time.sleep(0.1)";
    let id = server.submit(code).id;
    let log = |body: &EventBody| matches!(body, EventBody::Log { .. });
    let begun = server.follow(&id, 0).any(|event| log(&event.body));
    assert!(begun);
    let port = server.port().to_owned();
    server.kill();
    sleep(Duration::from_secs(2));
    server.restart(&["--no-runner", "--bind", &format!("127.0.0.1:{port}")]);
    let job = server.wait_for(&id, |job| job.state.is_final());
    assert_eq!((job.state, job.attempt), (JobState::Done, 1));
    let events = server.events(&id, 0);
    assert_eq!(state(&events), JobState::Done);
    let expected: String = (0..40).map(|n| format!("{n}\n")).collect();
    assert_eq!(printed(&events), format!("begins\n{expected}"));

    // A cancelled job stops on the host, which then runs the next one.
    let long = server.submit(support::WAITS).id;
    server.wait_for(&long, |job| job.state == JobState::Running);
    assert_eq!(server.cancel(&long).0, 200);
    let next = server.submit("print('next')").id;
    server.wait_for(&next, |job| job.state == JobState::Done);

    // A host that stops returns its job to the queue.
    let last = server.submit(support::WAITS).id;
    let begun = server.follow(&last, 0).any(|event| log(&event.body));
    assert!(begun);
    assert!(worker.stop().success());
    let job = server.wait_for(&last, |job| job.state == JobState::Queued);
    assert_eq!(job.attempt, 1);

    // A host that is killed loses its lease, and another attempt follows.
    let begun = |attempt| {
        let mut events = server.follow(&last, 0);
        events.any(|event| event.attempt == attempt && log(&event.body))
    };
    let killed = join(&server, &token, &[]);
    assert!(begun(2));
    drop(killed);
    let _other = join(&server, &token, &[]);
    assert!(begun(3));
    assert_eq!(server.cancel(&last).0, 200);
}
