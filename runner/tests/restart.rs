//! No queued job is lost when the server ends for any reason, and streams resume where clients
//! left them.

mod support;

use hipward_protocol::{EventBody, FailureCode, JobState};
use std::{fs, io::Write, net::TcpStream, process::Stdio, thread, time::Duration};
use support::{Server, WAITS, final_body, hipward, printed, signal, state};

#[test]
fn killed_server_loses_no_job_and_no_event() {
    let mut server = Server::start(&["--wall-limit", "60"]);
    let interrupted = server.submit(WAITS).id;
    let queued: Vec<String> = (0..3)
        .map(|n| server.submit(&format!("print('job {n}')")).id)
        .collect();
    let seen = server.stream(&interrupted, 0, 3);
    server.kill();
    server.restart(&["--wall-limit", "5"]);

    // The interrupted job is first in the queue again. The time limit ends it.
    let job = server.wait_for(&interrupted, |job| job.state.is_final());
    assert_eq!(job.attempt, 2);
    let resumed = server.events(&interrupted, seen.last().expect("seen").seq);
    assert_eq!(resumed[0].seq, seen.len() as u64 + 1, "no gap");
    let EventBody::Queued {
        reason: Some(reason),
        ..
    } = &resumed[0].body
    else {
        panic!("{:?}", resumed[0]);
    };
    assert!(reason.contains("restarted"), "{reason}");
    let whole = server.events(&interrupted, 0);
    assert_eq!(whole, [seen, resumed].concat());
    assert_eq!(printed(&whole).matches("waiting").count(), 2);

    for (n, id) in queued.iter().enumerate() {
        server.wait_for(id, |job| job.state.is_final());
        let events = server.events(id, 0);
        assert_eq!(state(&events), JobState::Done);
        assert_eq!(printed(&events).trim(), format!("job {n}"));
    }
}

#[test]
fn job_fails_after_two_server_crashes() {
    let mut server = Server::start(&[]);
    let id = server.submit(WAITS).id;
    for attempt in 1..=2 {
        // Its code runs.
        let ran = server.follow(&id, 0).filter(|event| {
            event.attempt == attempt && matches!(event.body, EventBody::Log { .. })
        });
        assert_eq!(ran.take(1).count(), 1);
        server.kill();
        server.restart(&[]);
    }
    let events = server.events(&id, 0);
    let EventBody::Failed(failure) = final_body(&events) else {
        panic!("{events:?}");
    };
    assert_eq!(failure.code, FailureCode::Interrupted, "{failure:?}");
    assert_eq!(state(&server.run("print('next')")), JobState::Done);
}

#[test]
fn worker_that_dies_before_its_job_loses_no_job() {
    let server = Server::start(&[]);
    for _ in 0..3 {
        assert_eq!(state(&server.run("print('warm')")), JobState::Done);
        let worker = server.idle_worker();
        signal(worker, "-KILL");
        // Dead, even if the server has not noticed yet.
        while fs::read(format!("/proc/{worker}/environ")).is_ok_and(|text| !text.is_empty()) {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(state(&server.run("print('next')")), JobState::Done);
    }
}

#[test]
fn stopping_server_requeues_its_job() {
    let mut server = Server::start(&["--wall-limit", "60"]);
    let id = server.submit(WAITS).id;
    let seen = server.stream(&id, 0, 3);
    server.stop();
    support::assert_nothing_left(server.data.path(), 0);
    server.restart(&["--wall-limit", "5"]);
    server.wait_for(&id, |job| job.attempt == 2 && job.state.is_final());
    let next = &server.events(&id, seen.last().expect("seen").seq)[0];
    let EventBody::Queued {
        reason: Some(reason),
        ..
    } = &next.body
    else {
        panic!("{next:?}");
    };
    assert!(reason.contains("stopped"), "{reason}");
}

#[test]
fn streams_end_when_the_server_stops() {
    let mut server = Server::start(&[]);
    let id = server.submit(WAITS).id;
    server.wait_for(&id, |job| job.state == JobState::Running);
    let mut stream = server.follow(&id, 0);
    // The stream has started and waits for more events.
    assert!(stream.any(|event| matches!(event.body, EventBody::Log { .. })));
    server.stop();
    stream.for_each(drop);
}

#[test]
fn second_server_on_the_same_data_folder_fails_with_a_reason() {
    let server = Server::start(&[]);
    let second = hipward()
        .args(["serve", "--bind", "127.0.0.1:0", "--data"])
        .arg(server.data.path())
        .stdout(Stdio::piped())
        .output()
        .expect("runs");
    assert!(!second.status.success());
    let text = String::from_utf8_lossy(&second.stderr);
    assert!(text.contains("another Hipward server uses"), "{text}");
}

#[test]
fn second_interrupt_does_not_wait_for_clients() {
    let mut server = Server::start(&[]);
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut slow = TcpStream::connect(&address).expect("connects");
    // The rest of the body is never sent.
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 9\r\n\r\n{{",
        token = server.token.as_deref().expect("it prints one"),
    );
    slow.write_all(head.as_bytes()).expect("is sent");
    assert_eq!(
        server.get("/healthz").0,
        200,
        "the server has read the other request by then"
    );
    assert_eq!(server.interrupt(), Some(130));
}
