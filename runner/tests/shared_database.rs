//! Servers that share a PostgreSQL database: each serves every job, and none is lost when a server or the database ends.

#[path = "support/postgres.rs"]
mod postgres;
mod support;

use hipward_protocol::{EventBody, JobState, JobSummary};
use postgres::PostgresServer;
use serde_json::json;
use std::{thread::sleep, time::Duration};
use support::{MEASURES, Server, WAITS, hipward, printed, state, whole_log};

/// A job that prints for some seconds.
const COUNTS: &str = "import time
for n in range(60):
  print(n, flush=True)
  time.sleep(0.1)";

#[test]
fn servers_share_jobs_and_lose_none() {
    let mut postgres = PostgresServer::start();
    let url = postgres.database("hipward");
    let database = ["--database", &url, "--lease-time", "10"];
    let serves = Server::start(&[&database[..], &["--no-runner"]].concat());
    // The server without a runner accepts jobs for others, and there are none.
    assert_eq!(serves.get("/readyz").0, 503);
    let mut runs = Server::start(&database);
    assert_eq!(runs.get("/readyz").0, 200);
    while serves.get("/readyz").0 == 503 {
        sleep(Duration::from_millis(50));
    }
    let waits = json!({ "code": MEASURES, "require": { "arch": "gfx942" } });
    let (status, body) = serves.post(&waits);
    assert_eq!(status, 202, "{body}");
    let waits: JobSummary = serde_json::from_str(&body).expect("a summary");
    let page = |server: &Server| server.get(&format!("/jobs/{}/", waits.id)).1;
    for server in [&serves, &runs] {
        assert!(
            page(server).contains("no host has arch=gfx942"),
            "the reason is stated"
        );
    }

    // A job of one server is streamed by the other.
    let id = runs.submit(MEASURES).id;
    let events = serves.events(&id, 0);
    assert_eq!(state(&events), JobState::Done);
    assert_eq!(runs.events(&id, 0), events);
    assert_eq!(serves.get(&format!("/jobs/{id}/")).0, 200);

    // The database ends and starts again while a job runs.
    let id = runs.submit(COUNTS).id;
    let begun = |server: &Server, id: &str, attempt: u32| {
        let mut events = server.follow(id, 0);
        events.any(|event| event.attempt == attempt && matches!(event.body, EventBody::Log { .. }))
    };
    assert!(begun(&serves, &id, 1));
    postgres.kill();
    sleep(Duration::from_secs(1));
    postgres.restart();
    wait_for_state(&serves, &id, JobState::Done);
    let events = whole_log(&serves, &id);
    let expected: String = (0..60).map(|n| format!("{n}\n")).collect();
    assert_eq!(printed(&events), expected);
    assert_eq!(events.last().expect("is there").attempt, 1);

    // A server that is killed loses its lease, and another attempt follows.
    let id = runs.submit(WAITS).id;
    assert!(begun(&serves, &id, 1));
    runs.kill();
    runs.restart(&database);
    assert!(begun(&serves, &id, 2));
    // A cancellation by one server stops the job on another.
    assert_eq!(serves.cancel(&id).0, 200);
    let next = runs.submit("print('next')").id;
    wait_for_state(&serves, &next, JobState::Done);
}

/// Waits for a state, also while the database does not answer.
fn wait_for_state(server: &Server, id: &str, expected: JobState) {
    for _ in 0..1200 {
        let (status, body) = server.get(&format!("/api/v1/jobs/{id}"));
        if status == 200 {
            let job: hipward_protocol::JobSummary = serde_json::from_str(&body).expect("a job");
            if job.state == expected {
                return;
            }
            assert!(!job.state.is_final(), "{job:?}");
        }
        sleep(Duration::from_millis(100));
    }
    panic!("the job does not reach {expected:?}");
}

#[test]
fn password_is_not_accepted_on_the_command_line() {
    let refused = hipward()
        .args(["serve", "--database", "postgres://me:secret@db/jobs"])
        .output()
        .expect("runs");
    assert!(!refused.status.success());
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("HIPWARD_DATABASE"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}
