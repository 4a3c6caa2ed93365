//! No client can occupy the server: slow requests, bodies without end, and many connections or streams are limited.

mod support;

use serde_json::json;
use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};
use support::{MEASURES, Server, WAITS, agent, problem};

fn connect(server: &Server) -> TcpStream {
    let address = server.url.trim_start_matches("http://");
    let stream = TcpStream::connect(address).expect("connects");
    let patience = Some(Duration::from_secs(60));
    stream.set_read_timeout(patience).expect("is accepted");
    stream
}

/// Everything that the server sends until it closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    match stream.read_to_end(&mut text) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn half_open_and_slow_connections_are_closed_and_others_are_served() {
    let server = Server::start(&["--request-timeout", "1"]);
    let silent: Vec<TcpStream> = (0..50).map(|_| connect(&server)).collect();
    let mut partial = connect(&server);
    partial
        .write_all(b"GET / HTTP/1.1\r\nhost: ")
        .expect("is sent");
    assert_eq!(server.get("/healthz").0, 200);
    let start = Instant::now();
    for stream in silent {
        assert_eq!(rest(stream), "");
    }
    rest(partial);
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn body_that_never_ends_is_answered_with_408() {
    let server = Server::start(&["--request-timeout", "1"]);
    let address = server.url.trim_start_matches("http://").to_owned();
    let token = server.token.as_deref().expect("it prints one");
    let mut slow = connect(&server);
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).expect("is sent");
    let mut reader = slow.try_clone().expect("the same socket");
    let sender = thread::spawn(move || {
        // One byte at a time, until the server closes the connection.
        while slow.write_all(b"1\r\n \r\n").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    let mut answer = vec![0; 4096];
    let read = reader.read(&mut answer).expect("answers");
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("body-timeout"), "{answer}");
    drop(reader);
    drop(server);
    sender.join().expect("ends");
}

#[test]
fn connections_above_the_limit_get_429_until_others_end() {
    let server = Server::start(&["--max-connections", "20", "--request-timeout", "5"]);
    let open: Vec<TcpStream> = (0..20).map(|_| connect(&server)).collect();
    // The server has accepted them when it refuses one more.
    let refused = |server: &Server| {
        let mut more = connect(server);
        more.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            .expect("is sent");
        rest(more)
    };
    let answer = refused(&server);
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(
        answer.contains("retry-after: 10") && answer.contains("too-many-connections"),
        "{answer}"
    );
    let body = answer.split("\r\n\r\n").nth(1).expect("a body");
    assert_eq!(problem(body).status, 429);
    drop(open);
    let start = Instant::now();
    loop {
        let answer = agent().get(format!("{}/healthz", server.url)).call();
        if answer.is_ok_and(|answer| answer.status() == 200) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn streams_are_limited_and_other_requests_are_served() {
    let server = Server::start(&["--max-connections", "40"]);
    let id = server.submit(WAITS).id;
    let path = format!("/api/v1/jobs/{id}/events");
    let mut streams: Vec<_> = (0..30).map(|_| server.follow(&id, 0)).collect();
    for stream in &mut streams {
        assert!(stream.next().is_some());
    }
    let refused = agent()
        .get(format!("{}{path}", server.url))
        .call()
        .expect("answers");
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "10");
    assert_eq!(server.get("/").0, 200);
    let (_, metrics) = server.get("/metrics");
    assert!(metrics.contains("hipward_event_streams 30\n"), "{metrics}");
    server.cancel(&id);
    for stream in streams {
        stream.for_each(drop);
    }
    assert!(
        server
            .get("/metrics")
            .1
            .contains("hipward_event_streams 0\n")
    );
}

#[test]
fn metrics_report_queue_failures_and_latency() {
    let server = Server::start(&[]);
    server.run(MEASURES);
    server.run("raise ValueError('no model')");
    let running = server.submit(WAITS).id;
    server.wait_for(&running, |job| {
        job.state == hipward_protocol::JobState::Running
    });
    server.submit("x = 1");
    thread::sleep(Duration::from_millis(1100));
    let (status, text) = server.get("/metrics");
    assert_eq!(status, 200);
    let value = |name: &str| -> f64 {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name}\n{text}"))
            .parse()
            .expect("a number")
    };
    assert_eq!(value("hipward_jobs{state=\"queued\"}"), 1.0);
    assert_eq!(
        value("hipward_job_failures_total{code=\"forward-error\"}"),
        1.0
    );
    assert_eq!(value("hipward_queue_wait_seconds_count"), 3.0);
    assert!(value("hipward_queue_oldest_seconds") >= 1.0);
    assert!(value("hipward_http_responses_total{status=\"2xx\"}") >= 4.0);
    assert!(value("hipward_store_bytes") > 4096.0);
    assert_eq!(value("hipward_device_busy{device=\"cpu\"}"), 1.0);
    assert_eq!(value("hipward_devices_lost"), 0.0);
    let (status, _) = server.post(&json!({}));
    assert_eq!(status, 400);
    let (_, text) = server.get("/metrics");
    assert!(
        text.contains("hipward_http_responses_total{status=\"4xx\"} 1\n"),
        "{text}"
    );
}
