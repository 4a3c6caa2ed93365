//! Compression and entity tags of responses.

mod support;

use flate2::read::GzDecoder;
use std::{
    fs,
    io::Read,
    thread::sleep,
    time::{Duration, Instant},
};
use support::{Server, WAITS, agent};

/// A response as it was sent, not decompressed.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(key, value)| (key == name).then_some(value.as_str()))
    }

    /// The decompressed body.
    fn decoded(&self) -> Vec<u8> {
        let mut decoded = Vec::new();
        let read = match self.header("content-encoding") {
            Some("br") => brotli::Decompressor::new(&self.body[..], 4096).read_to_end(&mut decoded),
            Some("gzip") => GzDecoder::new(&self.body[..]).read_to_end(&mut decoded),
            Some(other) => panic!("a coding that was not accepted: {other}"),
            None => return self.body.clone(),
        };
        read.expect("a whole stream");
        decoded
    }
}

fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = agent().get(format!("{}{path}", server.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = request.call().expect("answers");
    let body = answer.body_mut().read_to_vec().expect("a body");
    let header = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
        (name.to_string(), value.to_str().expect("text").to_owned())
    };
    Answer {
        status: answer.status().as_u16(),
        headers: answer.headers().iter().map(header).collect(),
        body,
    }
}

/// Paths of every kind of response that a browser loads.
fn paths(server: &Server) -> Vec<String> {
    let home = get(server, "/", &[("accept-encoding", "identity")]);
    let html = String::from_utf8(home.body).expect("text");
    let asset = html
        .split('"')
        .find(|part| part.starts_with("/assets/site-"))
        .expect("a page has a style sheet");
    let fixed = [
        "/",
        "/learn/port/device-abstraction/",
        "/benchmark/",
        "/search.json",
        "/api/v1/capabilities",
        "/api/openapi.json",
    ];
    let mut paths: Vec<String> = fixed.map(str::to_owned).into();
    paths.push(asset.to_owned());
    paths
}

#[test]
fn responses_are_compressed_as_accepted() {
    let server = Server::start(&[]);
    for path in paths(&server) {
        let plain = get(&server, &path, &[("accept-encoding", "identity")]);
        assert_eq!(
            (plain.status, plain.header("content-encoding")),
            (200, None),
            "{path}"
        );
        for (accepted, coding) in [
            ("gzip, deflate, br, zstd", "br"),
            ("gzip, deflate", "gzip"),
            ("br;q=0, gzip", "gzip"),
        ] {
            let sent = get(&server, &path, &[("accept-encoding", accepted)]);
            assert_eq!(sent.header("content-encoding"), Some(coding), "{path}");
            assert_eq!(sent.header("vary"), Some("accept-encoding"), "{path}");
            assert!(
                sent.decoded() == plain.body,
                "{path} is not the same after {coding}"
            );
            assert!(sent.body.len() < plain.body.len(), "{path}");
        }
    }
}

#[test]
fn search_index_is_sent_in_its_smallest_form_once_that_is_made() {
    const MAX_BYTES: usize = 60 * 1024;
    let server = Server::start(&[]);
    let size = || {
        get(&server, "/search.json", &[("accept-encoding", "br")])
            .body
            .len()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while size() > MAX_BYTES {
        assert!(Instant::now() < deadline, "{} bytes", size());
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn known_response_is_not_sent_again() {
    let server = Server::start(&[]);
    for path in paths(&server) {
        let first = get(&server, &path, &[("accept-encoding", "gzip")]);
        let tag = first
            .header("etag")
            .unwrap_or_else(|| panic!("{path} has no ETag"));
        let again = get(
            &server,
            &path,
            &[("accept-encoding", "br"), ("if-none-match", tag)],
        );
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(tag), "{path}");
        let other = get(&server, &path, &[("if-none-match", "W/\"other\"")]);
        assert_eq!(other.status, 200, "{path}");
    }
}

#[test]
fn responses_are_logged_on_request_without_secrets() {
    let log = r#"exec "$@" 2>"$0/log""#;
    let server = Server::start_wrapped(&["sh", "-c", log], &["--log-requests"]);
    let token = server.token.clone().expect("is random");
    server.get(&format!("/rules/?token={token}"));
    server.get("/api/v1/jobs/absent");
    let lines = fs::read_to_string(server.data.path().join("log")).expect("was written");
    for expected in [
        "GET /rules/ 303 peer=127.0.0.1 ms=",
        "GET /api/v1/jobs/absent 404",
    ] {
        assert!(lines.contains(expected), "{lines}");
    }
    assert!(!lines.contains(&token), "{lines}");
}

#[test]
fn event_stream_is_not_delayed_by_compression() {
    let server = Server::start(&[]);
    let id = server.submit(WAITS).id;
    let mut answer = agent()
        .get(format!("{}/api/v1/jobs/{id}/events", server.url))
        .header("accept-encoding", "gzip, br")
        .config()
        .timeout_recv_body(Some(Duration::from_secs(30)))
        .build()
        .call()
        .expect("answers");
    assert!(!answer.headers().contains_key("content-encoding"));
    let mut start = [0; 3];
    let mut body = answer.body_mut().as_reader();
    body.read_exact(&mut start)
        .expect("the first event comes while the job runs");
}
