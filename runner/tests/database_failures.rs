//! Failures around a shared database: a standby takes over, the network to a host is cut, the disk fills, clocks are set. No
//! accepted job is lost, none has two verdicts, and no event log has a gap.

#[path = "support/clock.rs"]
mod clock;
#[path = "support/postgres.rs"]
mod postgres;
#[path = "support/proxy.rs"]
mod proxy;
mod support;
#[path = "support/worker.rs"]
mod worker;

use clock::Clock;
use hipward_protocol::{Event, EventBody, JobState, JobSummary};
use postgres::PostgresServer;
use proxy::Proxy;
use serde_json::json;
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, sleep},
    time::{Duration, Instant},
};
use support::{MEASURES, Server, printed, problem, state, token_in, whole_log};
use worker::{Worker, wait_for_devices};

/// A job that prints a number every 100 ms.
fn counts(numbers: u32) -> String {
    format!("import time\nfor n in range({numbers}):\n  print(n, flush=True)\n  time.sleep(0.1)")
}

/// What [`counts`] prints.
fn counted(numbers: u32) -> String {
    (0..numbers).map(|n| format!("{n}\n")).collect()
}

/// Submits a job for hosts with a label.
fn submit_for(server: &Server, label: &str, code: &str) -> String {
    let (status, body) = server.post(&json!({ "code": code, "require": { "labels": [label] } }));
    assert_eq!(status, 202, "{body}");
    let job: JobSummary = serde_json::from_str(&body).expect("a summary");
    job.id
}

/// Waits until an attempt of a job has printed something.
fn await_output(server: &Server, id: &str, attempt: u32) {
    let is_output =
        |event: Event| event.attempt == attempt && matches!(event.body, EventBody::Log { .. });
    assert!(
        server.follow(id, 0).any(is_output),
        "{:?}",
        server.summary(id)
    );
}

/// Waits for the end of a job, also while the database does not answer. Returns its log.
fn await_end(server: &Server, id: &str) -> Vec<Event> {
    let begin = Instant::now();
    loop {
        let (status, body) = server.get(&format!("/api/v1/jobs/{id}"));
        if status == 200 {
            let job: JobSummary = serde_json::from_str(&body).expect("a summary");
            if job.state.is_final() {
                return whole_log(server, id);
            }
        }
        assert_ne!(status, 404, "{id} is lost");
        assert!(
            begin.elapsed() < Duration::from_secs(240),
            "{status} {body}"
        );
        sleep(Duration::from_millis(100));
    }
}

fn attempts(events: &[Event]) -> u32 {
    events.last().expect("a log is never empty").attempt
}

#[test]
fn standby_that_is_promoted_under_load_has_every_accepted_job() {
    const JOBS: usize = 24;
    let mut primary = PostgresServer::start();
    let standby = primary.start_standby();
    let url = primary.database_with(&standby, "hipward");
    let servers = [(), ()].map(|()| Server::start(&["--database", &url, "--lease-time", "10"]));
    let accepted = Mutex::new(Vec::new());
    let is_promoted = AtomicBool::new(false);
    thread::scope(|scope| {
        for server in &servers {
            let (accepted, is_promoted) = (&accepted, &is_promoted);
            scope.spawn(move || {
                let begin = Instant::now();
                loop {
                    let before = is_promoted.load(Relaxed);
                    let (status, body) = server.post(&json!({ "code": MEASURES }));
                    let mut accepted = accepted.lock().expect("is consistent");
                    if status == 202 {
                        let job: JobSummary = serde_json::from_str(&body).expect("a summary");
                        accepted.push(job.id);
                        // The new server has accepted jobs too.
                        if before && accepted.len() >= JOBS {
                            return;
                        }
                    } else {
                        let code = problem(&body).code;
                        assert_eq!((status, code.as_str()), (503, "store-unavailable"));
                    }
                    drop(accepted);
                    assert!(begin.elapsed() < Duration::from_secs(200), "{body}");
                    sleep(Duration::from_millis(150));
                }
            });
        }
        while accepted.lock().expect("is consistent").len() < JOBS / 3 {
            sleep(Duration::from_millis(10));
        }
        primary.kill();
        sleep(Duration::from_millis(500));
        standby.promote();
        is_promoted.store(true, Relaxed);
    });
    let accepted = accepted.into_inner().expect("is consistent");
    for id in &accepted {
        let events = await_end(&servers[0], id);
        assert_eq!(state(&events), JobState::Done, "{events:?}");
        assert_eq!(servers[1].events(id, 0), events);
    }
}

#[test]
fn cut_network_to_a_host_stops_no_job_and_doubles_no_verdict() {
    let postgres = PostgresServer::start();
    let url = postgres.database("hipward");
    // Requests through the proxy name its port.
    let flags = [
        "--no-runner",
        "--lease-time",
        "15",
        "--allow-host",
        "127.0.0.1",
        "--database",
        &url,
    ];
    let servers = [(), ()].map(|()| Server::start(&flags));
    let join = |proxy: &Proxy, name: &str| {
        let token = token_in(&servers[0], name, "worker", &["--database", &url]);
        Worker::join(proxy.url(), name, &token, &["--label", name])
    };
    // A job that ends while the server cannot be reached, and one that is still running when it can be again.
    let far = Proxy::to(&servers[0].url);
    let _far = join(&far, "far");
    wait_for_devices(&servers[1], 1);
    let measured = format!("import time\nprint('begins', flush=True)\ntime.sleep(3)\n{MEASURES}");
    let ends_during_cut = servers[1].submit(&measured).id;
    await_output(&servers[1], &ends_during_cut, 1);
    far.cut();

    let near = Proxy::to(&servers[1].url);
    let _near = join(&near, "near");
    wait_for_devices(&servers[0], 2);
    let goes_on = submit_for(&servers[0], "near", &counts(140));
    await_output(&servers[0], &goes_on, 1);
    near.cut();
    // A renewal of the lease is lost. The connections stay dead afterwards.
    sleep(Duration::from_secs(6));
    near.heal();
    let events = await_end(&servers[0], &goes_on);
    assert_eq!((state(&events), attempts(&events)), (JobState::Done, 1));
    assert_eq!(printed(&events), counted(140));

    // The other host has the job's verdict once the lease has ended. The late one of the first host is refused.
    let events = await_end(&servers[0], &ends_during_cut);
    assert_eq!((state(&events), attempts(&events)), (JobState::Done, 2));
    far.heal_and_reset();
    let next = submit_for(&servers[0], "far", "print('next')");
    assert_eq!(state(&await_end(&servers[0], &next)), JobState::Done);
    assert_eq!(whole_log(&servers[1], &ends_during_cut), events);
}

#[test]
fn full_disk_of_the_database_loses_no_job() {
    let Some(mut postgres) = PostgresServer::start_on_disk(90) else {
        return;
    };
    let url = postgres.database("hipward");
    let server = Server::start(&["--database", &url]);
    let running = server.submit(&counts(80)).id;
    await_output(&server, &running, 1);
    let mut filler = postgres.fill_disk();
    let large = format!("print('large')\n#{}", "x".repeat(200 * 1024));
    let begin = Instant::now();
    let mut accepted = vec![running.clone()];
    loop {
        let (status, body) = server.post(&json!({ "code": large }));
        if status != 202 {
            let code = problem(&body).code;
            assert_eq!(
                (status, code.as_str()),
                (503, "store-unavailable"),
                "{body}"
            );
            break;
        }
        let job: JobSummary = serde_json::from_str(&body).expect("a summary");
        accepted.push(job.id);
        assert!(begin.elapsed() < Duration::from_secs(60), "never full");
    }
    assert_eq!(server.get("/healthz").0, 200);
    sleep(Duration::from_secs(2));
    filler.kill().expect("it runs");
    filler.wait().expect("has ended");
    postgres.free_disk();
    for id in &accepted {
        assert_eq!(state(&await_end(&server, id)), JobState::Done);
    }
    let events = server.events(&running, 0);
    assert_eq!((printed(&events), attempts(&events)), (counted(80), 1));
    assert_eq!(server.get("/readyz").0, 200);
}

#[test]
fn clocks_that_are_set_lose_no_job_and_delay_none() {
    const HOUR: i64 = 3600;
    let [database_clock, server_clock] = [Clock::new(), Clock::new()];
    let postgres = PostgresServer::start_with_environment(database_clock.environment());
    let url = postgres.database("hipward");
    let start = |clock: &Clock, label: &str| {
        let flags = ["--database", &url, "--lease-time", "8", "--label", label];
        Server::start_with_environment(&clock.environment(), &flags)
    };
    let server = start(&server_clock, "stays");
    let mut killed = start(&database_clock, "killed");
    let goes_on = submit_for(&server, "stays", &counts(160));
    let repeated = submit_for(
        &server,
        "killed",
        &format!("print('begins', flush=True)\n{}", counts(160)),
    );
    await_output(&server, &goes_on, 1);
    await_output(&server, &repeated, 1);

    // The leases of both jobs seem to have expired, and their hosts renew them.
    database_clock.set(5 * HOUR);
    sleep(Duration::from_secs(6));
    // The lease of a killed server ends soon, and not after three hours.
    database_clock.set(2 * HOUR);
    server_clock.set(-24 * HOUR);
    killed.kill();
    sleep(Duration::from_secs(2));
    server_clock.set(48 * HOUR);
    killed.restart(&["--database", &url, "--lease-time", "8", "--label", "killed"]);

    let events = await_end(&server, &goes_on);
    assert_eq!((state(&events), attempts(&events)), (JobState::Done, 1));
    assert_eq!(printed(&events), counted(160));
    await_output(&server, &repeated, 2);
    assert_eq!(server.cancel(&repeated).0, 200);
    assert_eq!(state(&whole_log(&server, &repeated)), JobState::Cancelled);
}
