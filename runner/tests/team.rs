//! Features for teams: tokens with roles, deletion, retention, and backups.

mod support;

use hipward_protocol::JobState;
use rusqlite::Connection;
use serde_json::json;
use std::{fs, path::Path, process::Output, thread, time::Duration};
use support::{Server, WAITS, agent, hipward, problem, state};

/// Runs a command on a data folder.
fn on(data: &Path, arguments: &[&str]) -> Output {
    let mut command = hipward();
    command.args(arguments).arg("--data").arg(data);
    command.output().expect("runs")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn error(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// Sends a request without a body with a token, and returns the status and the code of the problem.
fn send(server: &Server, method: &str, path: &str, token: &str) -> (u16, String) {
    let address = format!("{}{path}", server.url);
    let bearer = format!("Bearer {token}");
    let answer = match method {
        "DELETE" => agent()
            .delete(address)
            .header("authorization", bearer)
            .call(),
        "GET" => agent().get(address).header("authorization", bearer).call(),
        _ => agent()
            .post(address)
            .header("authorization", bearer)
            .send_json(json!({ "code": WAITS })),
    };
    let mut answer = answer.expect("answers");
    let body = answer.body_mut().read_to_string().expect("a body");
    let status = answer.status().as_u16();
    let code = match status {
        400.. => problem(&body).code,
        _ => serde_json::from_str::<serde_json::Value>(&body)
            .ok()
            .and_then(|job| Some(job["id"].as_str()?.to_owned()))
            .unwrap_or_default(),
    };
    (status, code)
}

#[test]
fn tokens_have_roles_and_a_running_server_accepts_and_forgets_them_at_once() {
    let server = Server::start(&["--queue-limit", "20"]);
    let data = server.data.path();
    let add = |arguments: &[&str]| text(&on(data, &[&["token", "add"], arguments].concat()));
    let ann = add(&["ann"]);
    let bob = add(&["bob", "--expires", "1d"]);
    let reader = add(&["reader", "--role", "read"]);
    let operator = add(&["carl", "--role", "operate"]);
    let jobs = "/api/v1/jobs";
    let (status, job) = send(&server, "POST", jobs, &ann);
    assert_eq!(status, 202);
    let path = format!("{jobs}/{job}");

    assert_eq!(send(&server, "GET", jobs, &reader).0, 200);
    assert_eq!(
        send(&server, "POST", jobs, &reader),
        (403, "role-too-low".to_owned())
    );
    assert_eq!(
        send(&server, "DELETE", &path, &bob),
        (403, "not-the-owner".to_owned())
    );
    let forever = format!("{path}?permanently=true");
    assert_eq!(send(&server, "DELETE", &forever, &bob).0, 403);
    assert_eq!(send(&server, "DELETE", &path, &ann).0, 200);
    assert_eq!(server.summary(&job).state, JobState::Cancelled);
    assert_eq!(send(&server, "DELETE", &forever, &ann).0, 204);
    assert_eq!(server.get(&path).0, 404);
    assert_eq!(server.get(&format!("/jobs/{job}/")).0, 404);

    let (_, job) = send(&server, "POST", jobs, &bob);
    assert_eq!(
        send(
            &server,
            "DELETE",
            &format!("{jobs}/{job}?permanently=true"),
            &operator
        )
        .0,
        204
    );

    let list = text(&on(data, &["token", "list"]));
    assert_eq!(list.lines().count(), 4, "{list}");
    assert!(
        list.contains("ann") && list.contains("expires 20"),
        "{list}"
    );
    for secret in [&ann, &bob, &reader, &operator] {
        assert!(!list.contains(secret.as_str()), "{list}");
    }
    text(&on(data, &["token", "remove", "ann"]));
    assert_eq!(
        send(&server, "POST", jobs, &ann),
        (401, "token-required".to_owned())
    );
    let missing = error(&on(data, &["token", "remove", "ann"]));
    assert!(missing.contains("no token named ann"), "{missing}");
}

#[test]
fn expired_token_is_refused_with_a_reason() {
    let server = Server::start(&[]);
    let token = text(&on(
        server.data.path(),
        &["token", "add", "ann", "--expires", "1s"],
    ));
    thread::sleep(Duration::from_millis(1100));
    assert_eq!(
        send(&server, "POST", "/api/v1/jobs", &token),
        (401, "token-expired".to_owned())
    );
}

#[test]
fn deleted_job_ends_its_streams_and_its_device_runs_the_next() {
    let server = Server::start(&[]);
    let id = server.submit(WAITS).id;
    server.wait_for(&id, |job| job.state == JobState::Running);
    let stream = server.follow(&id, 0);
    let (status, _) = send(
        &server,
        "DELETE",
        &format!("/api/v1/jobs/{id}?permanently=true"),
        server.token.as_deref().expect("it prints one"),
    );
    assert_eq!(status, 204);
    stream.for_each(drop);
    assert_eq!(state(&server.run("print('next')")), JobState::Done);
}

#[test]
fn retention_deletes_old_jobs_at_start() {
    let mut server = Server::start(&[]);
    let old = server.submit("print('old')").id;
    server.wait_for(&old, |job| job.state.is_final());
    let new = server.submit("print('new')").id;
    server.wait_for(&new, |job| job.state.is_final());
    server.stop();
    let database = Connection::open(server.data.path().join("jobs.sqlite")).expect("opens");
    let aged = database.execute(
        "update jobs set ended_at = '2020-01-01T00:00:00.000Z' where id = ?1",
        [&old],
    );
    assert_eq!(aged.expect("is written"), 1);
    drop(database);
    server.restart(&["--retention", "30d"]);
    let start = std::time::Instant::now();
    while server.get(&format!("/api/v1/jobs/{old}")).0 != 404 {
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.summary(&new).state, JobState::Done);
}

#[test]
fn backup_is_written_while_the_server_runs_and_restored_after_it_stopped() {
    let mut server = Server::start(&[]);
    let id = server.submit("print('measured')").id;
    server.wait_for(&id, |job| job.state.is_final());
    let events = server.events(&id, 0);
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.sqlite");
    let copy = copy.to_str().expect("text");
    let data = server.data.path().to_owned();
    assert!(text(&on(&data, &["backup", copy])).contains("1 jobs"));
    let busy = error(&on(&data, &["restore", copy, "--replace"]));
    assert!(busy.contains("another Hipward server"), "{busy}");

    server.stop();
    for file in ["jobs.sqlite", "jobs.sqlite-wal", "jobs.sqlite-shm"] {
        let _ = fs::remove_file(data.join(file));
    }
    let missing = error(&on(&data, &["serve", "--bind", "127.0.0.1:0"]));
    assert!(
        missing.contains("is missing") && missing.contains("hipward restore"),
        "{missing}"
    );
    text(&on(&data, &["restore", copy]));
    server.restart(&[]);
    assert_eq!(server.events(&id, 0), events);
}

#[test]
fn damaged_database_is_not_ready_and_its_other_results_are_served() {
    let mut server = Server::start(&[]);
    let id = server.submit("print('measured')").id;
    server.wait_for(&id, |job| job.state.is_final());
    let noisy = "for n in range(400):\n    print('x' * 100 * (n % 7))\n";
    let noisy = server.submit(noisy).id;
    server.wait_for(&noisy, |job| job.state.is_final());
    server.stop();
    let path = server.data.path().join("jobs.sqlite");
    let mut bytes = fs::read(&path).expect("readable");
    let end = bytes.len();
    bytes[end - 3 * 4096..].fill(0xA5);
    fs::write(&path, bytes).expect("is ours");
    server.restart(&[]);
    let start = std::time::Instant::now();
    loop {
        let (status, body) = server.get("/readyz");
        if status == 503 && body.contains("damaged") {
            assert!(body.contains("hipward restore"), "{body}");
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{body}");
        thread::sleep(Duration::from_millis(50));
    }
    let (status, body) = server.post(&json!({"code": "x = 1"}));
    assert_eq!(
        (status, problem(&body).code.as_str()),
        (503, "store-unavailable")
    );
    assert_eq!(server.get("/").0, 200);
}

/// The status and the header `access-control-allow-origin` of an answer to a page of `origin`.
fn from_page(server: &Server, method: &str, origin: &str) -> (u16, Option<String>) {
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}/api/v1/capabilities", server.url))
        .header("origin", origin)
        .header("access-control-request-method", "GET")
        .body(())
        .expect("a request");
    let answer = agent().run(request).expect("answers");
    let allowed = answer.headers().get("access-control-allow-origin");
    let allowed = allowed.map(|value| value.to_str().expect("text").to_owned());
    (answer.status().as_u16(), allowed)
}

#[test]
fn only_allowed_origins_may_send_requests() {
    let wiki = "https://wiki.example";
    let server = Server::start(&["--allow-origin", "https://Wiki.Example:443/"]);
    for method in ["GET", "OPTIONS"] {
        assert_eq!(
            from_page(&server, method, wiki),
            (200, Some(wiki.to_owned())),
            "{method}"
        );
        for other in ["https://evil.example", "http://wiki.example", "null"] {
            assert_eq!(
                from_page(&server, method, other),
                (403, None),
                "{method} {other}"
            );
        }
    }
    assert_eq!(
        from_page(&server, "GET", &server.url).0,
        200,
        "its own pages"
    );
    let refused = hipward()
        .args(["serve", "--allow-origin", "*"])
        .output()
        .expect("runs");
    assert!(error(&refused).contains("name each origin"), "{refused:?}");
}
