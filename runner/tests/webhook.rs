//! Webhooks with a receiver on a local port.

mod support;

use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
};
use support::{MEASURES, Server, hipward};

/// A request that the receiver got: the headers in lower case, and the body.
type Received = (Vec<String>, String);

/// Answers requests with these statuses in turn, the last of them repeatedly.
fn receiver(statuses: &'static [u16]) -> (String, mpsc::Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "http://{}/hook?key=1",
        listener.local_addr().expect("bound")
    );
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("is open"));
            let mut headers = Vec::new();
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("readable");
                let line = line.trim_end().to_lowercase();
                if line.is_empty() {
                    break;
                }
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a number");
                }
                headers.push(line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("readable");
            let status = statuses[at.min(statuses.len() - 1)];
            let answer =
                format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            // Fails if the server was killed.
            let _ = stream.write_all(answer.as_bytes());
            let body = String::from_utf8(body).expect("UTF-8");
            if sender.send((headers, body)).is_err() {
                return;
            }
        }
    });
    (url, received)
}

fn header<'a>(received: &'a Received, name: &str) -> &'a str {
    let mut values = received.0.iter().filter_map(|line| line.split_once(": "));
    let found = values.find(|(found, _)| *found == name);
    found.unwrap_or_else(|| panic!("{name}: {received:?}")).1
}

#[test]
fn ended_job_is_reported_until_the_receiver_confirms_it() {
    let (url, received) = receiver(&[302, 204]);
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, "a secret of the operator\n").expect("a file");
    let secret = secret.to_str().expect("UTF-8");
    let server = Server::start(&["--webhook", &url, "--webhook-secret", secret]);
    let id = server.submit(MEASURES).id;
    let attempts: Vec<Received> = received.iter().take(2).collect();

    let (_, body) = &attempts[0];
    let event: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(event["event"], "job-ended");
    assert_eq!(event["job"]["id"], id.as_str());
    assert_eq!(event["job"]["state"], "done");
    assert_eq!(event["verdict"]["best"], "compile");
    assert_eq!(event["page"], format!("/jobs/{id}/"));
    assert!(!body.contains("sample("), "the code is not sent: {body}");
    assert!(
        attempts[0].0[0].starts_with("post /hook?key=1 "),
        "{attempts:?}"
    );
    let signature = header(&attempts[0], "hipward-signature-256");
    assert_eq!(signature.len(), "sha256=".len() + 64, "{signature}");
    for repeated in &attempts[1..] {
        assert_eq!(repeated.1, *body);
        assert_eq!(header(repeated, "hipward-signature-256"), signature);
        let number = header(&attempts[0], "hipward-delivery");
        assert_eq!(header(repeated, "hipward-delivery"), number);
    }
    // The last answer confirms it.
    loop {
        let (_, metrics) = server.get("/metrics");
        if metrics.contains("hipward_webhooks_waiting 0") {
            break;
        }
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn webhook_needs_a_secret() {
    let without = hipward()
        .args(["serve", "--webhook", "http://127.0.0.1:9/"])
        .output();
    let without = without.expect("runs");
    assert_eq!(without.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&without.stderr);
    assert!(errors.contains("--webhook-secret"), "{errors}");
}
