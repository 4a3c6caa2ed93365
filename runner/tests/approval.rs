//! Who may run which code: approval by an operator, benchmarks without a token, and users of a proxy.

mod support;

use hipward_protocol::{FailureCode, JobState, JobSummary};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};
use support::{MEASURES, Server, WAITS, agent, hipward, problem};

/// Adds a token and returns it.
fn token(server: &Server, name: &str, role: &str) -> String {
    let mut command = hipward();
    command.args(["token", "add", name, "--role", role]);
    let output = command.arg("--data").arg(server.data.path()).output();
    let output = output.expect("runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A request with these headers. Returns the status and the body.
fn send(
    server: &Server,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, String) {
    let url = format!("{}{path}", server.url);
    let mut answer = match method {
        "POST" => {
            let add = |request: ureq::RequestBuilder<_>, (name, value): &(&str, &str)| {
                request.header(*name, *value)
            };
            headers
                .iter()
                .fold(agent().post(url), add)
                .send_json(body)
                .expect("answers")
        }
        method => {
            let request = match method {
                "DELETE" => agent().delete(url),
                _ => agent().get(url),
            };
            let add = |request: ureq::RequestBuilder<_>, (name, value): &(&str, &str)| {
                request.header(*name, *value)
            };
            headers.iter().fold(request, add).call().expect("answers")
        }
    };
    let body = answer.body_mut().read_to_string().expect("a body");
    (answer.status().as_u16(), body)
}

/// The status and the problem's code of a refused request.
fn refused((status, body): (u16, String)) -> (u16, String) {
    assert!(status >= 400, "{status} {body}");
    (status, problem(&body).code)
}

fn job((status, body): (u16, String)) -> JobSummary {
    assert!(status < 300, "{status} {body}");
    serde_json::from_str(&body).expect("a job")
}

const JOBS: &str = "/api/v1/jobs";

#[test]
fn code_of_a_team_member_waits_until_an_operator_has_approved_it() {
    let server = Server::start(&["--approve"]);
    let operator = format!("Bearer {}", server.token.as_deref().expect("it prints one"));
    let carl = format!("Bearer {}", token(&server, "carl", "operate"));
    let ann = format!("Bearer {}", token(&server, "ann", "submit"));
    let call = |method: &str, path: &str, who: &str, body: Value| {
        send(&server, method, path, &[("authorization", who)], &body)
    };
    let submit = |who: &str, code: &str| {
        job(call(
            "POST",
            JOBS,
            who,
            json!({"code": code, "title": "a softmax"}),
        ))
    };

    let waits = submit(&ann, "print('first')");
    assert_eq!(waits.state, JobState::AwaitingApproval);
    let approve = format!("{JOBS}/{}/approve", waits.id);
    assert_eq!(
        refused(call("POST", &approve, &ann, json!({}))),
        (403, "role-too-low".to_owned())
    );
    assert_eq!(
        refused(call("GET", "/api/v1/approvals", &ann, json!({}))).0,
        403
    );
    let (_, pending) = call("GET", "/api/v1/approvals", &carl, json!({}));
    let pending: Value = serde_json::from_str(&pending).expect("JSON");
    assert_eq!(pending[0]["id"], waits.id);
    assert_eq!(pending[0]["owner"], "ann");
    let (_, page) = call("GET", "/jobs/approvals/", &ann, json!({}));
    assert!(page.contains("Only operators"), "{page}");
    let (_, page) = call("GET", "/jobs/approvals/", &operator, json!({}));
    assert!(
        page.contains("first") && page.contains("a softmax"),
        "{page}"
    );
    let kernel = json!({"language": "triton", "source": "x = 1", "archs": ["gfx942"]});
    assert_eq!(
        refused(call("POST", "/api/v1/compile", &ann, kernel)),
        (403, "approval-required".to_owned())
    );
    let launch = json!({"language": "hip", "source": "x", "launch": "grid = 1"});
    assert_eq!(
        refused(call("POST", "/api/v1/emulate", &ann, launch)),
        (403, "approval-required".to_owned())
    );

    assert_ne!(
        job(call("POST", &approve, &carl, json!({}))).state,
        JobState::AwaitingApproval
    );
    server.wait_for(&waits.id, |job| job.state == JobState::Done);
    assert_ne!(
        submit(&ann, "print('first')").state,
        JobState::AwaitingApproval
    );
    assert_ne!(
        submit(&carl, "print('own')").state,
        JobState::AwaitingApproval
    );

    let changed = submit(&ann, "print('second')");
    assert_eq!(changed.state, JobState::AwaitingApproval);
    let (_, page) = call("GET", "/jobs/approvals/", &operator, json!({}));
    assert!(page.contains("Changes since job"), "{page}");
    let reject = format!("{JOBS}/{}/reject", changed.id);
    assert_eq!(
        refused(call("POST", &reject, &carl, json!({"reason": " "}))),
        (400, "invalid-reason".to_owned())
    );
    let rejected = job(call(
        "POST",
        &reject,
        &carl,
        json!({"reason": "prints too much"}),
    ));
    let failure = rejected.failure.expect("it failed");
    assert_eq!(failure.code, FailureCode::Rejected);
    assert_eq!(failure.message, "carl rejected the code: prints too much");

    let withdrawn = submit(&ann, "print('third')");
    let path = format!("{JOBS}/{}", withdrawn.id);
    assert_eq!(
        job(call("DELETE", &path, &ann, json!({}))).state,
        JobState::Cancelled
    );
    assert_eq!(
        refused(call("POST", &format!("{path}/approve"), &carl, json!({}))),
        (409, "not-awaiting-approval".to_owned())
    );
}

#[test]
fn bench_reports_that_the_job_awaits_approval_and_continues_after_it() {
    let server = Server::start(&["--approve"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("snippet.py");
    fs::write(&file, MEASURES).expect("a file");
    let mut bench: Command = hipward();
    let mut bench = bench
        .arg("bench")
        .arg(&file)
        .args(["--host", &server.url])
        .env("HIPWARD_TOKEN", token(&server, "ann", "submit"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(bench.stderr.take().expect("is piped")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("must approve the code"))));
    let operator = format!("Bearer {}", server.token.as_deref().expect("it prints one"));
    let operator = [("authorization", operator.as_str())];
    let (_, pending) = send(&server, "GET", "/api/v1/approvals", &operator, &json!({}));
    let pending: Value = serde_json::from_str(&pending).expect("JSON");
    let id = pending[0]["id"].as_str().expect("an id");
    job(send(
        &server,
        "POST",
        &format!("{JOBS}/{id}/approve"),
        &operator,
        &json!({}),
    ));
    lines.for_each(drop);
    assert_eq!(bench.wait().expect("ends").code(), Some(0));
}

#[test]
fn without_a_token_only_the_benchmarks_of_the_pages_run() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../content/03-optimize/08-count-the-bytes/rmsnorm.py");
    let known = fs::read_to_string(path).expect("a benchmark of a lesson");
    // Pages show it without the lines for tests and for excerpts.
    let is_marker = |line: &&str| {
        let markers = ["# test:", "# anchor:", "# end:"];
        markers.iter().any(|marker| line.trim().starts_with(marker))
    };
    let lines: Vec<&str> = known.lines().filter(|line| !is_marker(line)).collect();
    let known = lines.join("\n");
    let server = Server::start(&["--anonymous-benchmarks", "--approve"]);
    let post = |code: &str| send(&server, "POST", JOBS, &[], &json!({"code": code}));
    assert_eq!(
        refused(post(&format!("{known}\nprint(1)"))),
        (401, "token-required".to_owned())
    );
    let accepted = job(post(&known));
    assert_eq!(accepted.state, JobState::Queued);
    let path = format!("{JOBS}/{}", accepted.id);
    assert_eq!(
        refused(send(&server, "DELETE", &path, &[], &json!({}))).0,
        401
    );
    assert_eq!(refused(send(&server, "GET", JOBS, &[], &json!({}))).0, 401);
    let strict = Server::start(&[]);
    let refusal = send(&strict, "POST", JOBS, &[], &json!({"code": known}));
    assert_eq!(refused(refusal).0, 401);
}

#[test]
fn users_of_a_proxy_are_owners_with_roles() {
    let flags = ["--auth-header", "X-User", "--auth-operator", "carl"];
    let server = Server::start(&flags);
    let origin = ("origin", server.url.as_str());
    let code = json!({"code": WAITS});
    let user = |name: &'static str| [origin, ("x-user", name)];
    let id = job(send(&server, "POST", JOBS, &user("ann"), &code)).id;
    let path = format!("{JOBS}/{id}");
    let from_another_page = [("x-user", "ann")];
    assert_eq!(
        refused(send(&server, "POST", JOBS, &from_another_page, &code)).0,
        401
    );
    assert_eq!(
        refused(send(&server, "DELETE", &path, &user("bob"), &code)),
        (403, "not-the-owner".to_owned())
    );
    assert_eq!(
        job(send(&server, "DELETE", &path, &user("carl"), &code)).state,
        JobState::Cancelled
    );
    // Another address than the proxy's.
    let strict = Server::start(&[&flags[..], &["--trusted-proxy", "192.0.2.7"]].concat());
    let headers = [("origin", strict.url.as_str()), ("x-user", "carl")];
    assert_eq!(refused(send(&strict, "POST", JOBS, &headers, &code)).0, 401);
}
