//! Hosts with requirements, priorities, quotas and drains: `/api/v1/fleet`, `/fleet/`, `hipward fleet` and `hipward bench --require`.

mod support;

use hipward_protocol::{EventBody, Fleet, HostState};
use serde_json::{Value, json};
use std::{fs, path::Path};
use support::{MEASURES, Server, hipward, send, token};

/// A free device of a host `gpu7`, as a worker sends it.
fn gpu() -> Value {
    json!({
        "host": "gpu7",
        "device": {
            "id": "gpu7/cuda:0", "name": "AMD Instinct MI300X", "vendor": "amd", "arch": "gfx942",
            "memory_bytes": 192_u64 << 30
        },
        "unassigned": true,
        "wait_s": 0,
        "facts": { "torch": "2.9.1+rocm7.0", "rocm": "7.0.51831-7c9236b16", "gpus": 1, "labels": ["nightly"] }
    })
}

/// Reports a host with devices.
fn report(server: &Server, token: &Path, name: &str, device: &Value, facts: &Value) {
    let capabilities = server.get("/api/v1/capabilities").1;
    let mut report: Value = serde_json::from_str(&capabilities).expect("JSON");
    report["devices"] = json!([device]);
    report["facts"] = facts.clone();
    let variants = ["eager", "eager-control"].map(|id| json!({"id": id, "label": id, "about": id}));
    report["variants"] = json!(variants);
    let reported = send(
        server,
        "PUT",
        &format!("/api/v1/hosts/{name}"),
        token,
        &report,
    );
    assert_eq!(reported.0, 204, "{reported:?}");
}

/// Runs `hipward fleet` with a token. Returns whether it succeeded, and its output.
fn fleet(server: &Server, token: &Path, arguments: &[&str]) -> (bool, String) {
    let output = hipward()
        .arg("fleet")
        .args(arguments)
        .args(["--host", &server.url, "--token-file"])
        .arg(token)
        .output()
        .expect("runs");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8(text).expect("text"),
    )
}

#[test]
fn job_waits_until_a_host_meets_its_requirements() {
    let server = Server::start(&["--no-runner", "--token-running-limit", "1"]);
    let [host, ann, operator] = [("host", "worker"), ("ann", "submit"), ("op", "operate")]
        .map(|(name, role)| token(&server, name, role));
    let cpu = json!({"id": "a/cpu", "name": "A processor", "vendor": "cpu", "arch": "x86_64", "memory_bytes": 1});
    report(&server, &host, "a", &cpu, &json!({}));

    let submit = |token: &Path, job: &Value| send(&server, "POST", "/api/v1/jobs", token, job);
    for (wrong, code) in [
        (json!({"require": {"arch": "%"}}), "invalid-requirement"),
        (json!({"require": {"torch": "2_9"}}), "invalid-requirement"),
        (json!({"require": {"labels": ["A"]}}), "invalid-requirement"),
        (json!({"require": {"colour": "red"}}), "invalid-json"),
        (json!({"priority": "urgent"}), "invalid-json"),
    ] {
        let mut job = wrong;
        job["code"] = MEASURES.into();
        assert_eq!(submit(&ann, &job), (400, code.to_owned()));
    }
    let urgent = json!({"code": MEASURES, "priority": "high"});
    assert_eq!(
        submit(&ann, &urgent),
        (403, "priority-not-permitted".to_owned())
    );

    let required = json!({"vendor": "amd", "arch": "gfx942", "torch": "2.9", "rocm": "7.0", "memory_bytes": 64_u64 << 30,
        "gpus": 1, "labels": ["nightly"]});
    let job = json!({"code": MEASURES, "title": "waits for a GPU", "require": required});
    let (status, body) = submit(&ann, &job);
    assert_eq!(status, 202, "{body}");
    let id = serde_json::from_str::<Value>(&body).expect("JSON")["id"].clone();
    let id = id.as_str().expect("text").to_owned();
    let reason = "no host has vendor=amd,arch=gfx942,rocm=7.0,torch=2.9,memory=64GiB,gpus=1,label=nightly; \
                  the job starts when one joins";
    let repeated = server.follow(&id, 0).nth(1).expect("an event");
    let EventBody::Queued { reason: stated, .. } = &repeated.body else {
        panic!("{repeated:?}");
    };
    assert_eq!(stated.as_deref(), Some(reason));
    let page = server.get(&format!("/jobs/{id}/")).1;
    assert!(page.contains(reason), "{page}");

    // The host joins, and the operator drains it before it gets the job.
    let gpu = gpu();
    report(&server, &host, "gpu7", &gpu["device"], &gpu["facts"]);
    let wait = || send(&server, "POST", "/api/v1/leases/wait", &host, &gpu).0;
    let page = server.get(&format!("/jobs/{id}/")).1;
    assert!(!page.contains("no host has"), "{page}");
    assert_eq!(wait(), 200);
    let (works, text) = fleet(&server, &ann, &["drain", "gpu7"]);
    assert!(!works && text.contains("operate"), "{text}");
    let (works, text) = fleet(&server, &operator, &["drain", "gpu8"]);
    assert!(!works && text.contains("No host named gpu8"), "{text}");
    let (works, text) = fleet(
        &server,
        &operator,
        &["drain", "gpu7", "--reason", "new driver"],
    );
    assert!(works, "{text}");
    assert_eq!(wait(), 204);
    let (_, text) = fleet(&server, &ann, &[]);
    assert!(
        text.contains("draining") && text.contains("gpu7 is drained: new driver"),
        "{text}"
    );
    assert!(fleet(&server, &operator, &["resume", "gpu7"]).0);
    assert!(
        fleet(
            &server,
            &operator,
            &["maintenance", "on", "--reason", "new disk"]
        )
        .0
    );
    assert_eq!(wait(), 204);
    let page = server.get(&format!("/jobs/{id}/")).1;
    assert!(
        page.contains("maintenance, no host starts a job (new disk)"),
        "{page}"
    );
    assert!(fleet(&server, &operator, &["maintenance", "off"]).0);
    let (status, leased) = send(&server, "POST", "/api/v1/leases", &host, &gpu);
    assert_eq!(status, 200, "{leased}");

    // The fleet as JSON and as a page. The limit of running jobs of a token makes its next job wait.
    let (works, text) = fleet(&server, &ann, &["--format", "json"]);
    assert!(works, "{text}");
    let shown: Fleet = serde_json::from_str(&text).expect("a fleet");
    assert_eq!((shown.queued, shown.running), (0, 1));
    let names: Vec<(&str, HostState)> = shown
        .hosts
        .iter()
        .map(|host| (&*host.name, host.state))
        .collect();
    assert_eq!(names, [("a", HostState::Ready), ("gpu7", HostState::Ready)]);
    let running = shown.hosts[1].devices[0].job.as_ref().expect("a job runs");
    assert_eq!(
        (&*running.id, running.owner.as_deref()),
        (&*id, Some("ann"))
    );
    let (works, text) = fleet(&server, &ann, &[]);
    assert!(
        works && text.contains(&id) && text.contains("gpu7 has the labels: nightly"),
        "{text}"
    );
    let page = server.get("/fleet/").1;
    assert!(
        !page.contains("gpu7") && page.contains("Only users of this server"),
        "{page}"
    );
    let mut answer = support::agent()
        .get(format!("{}/fleet/", server.url))
        .header(
            "authorization",
            format!(
                "Bearer {}",
                fs::read_to_string(&ann).expect("readable").trim()
            ),
        )
        .call()
        .expect("answers");
    let page = answer.body_mut().read_to_string().expect("a body");
    assert!(
        page.contains("gpu7") && page.contains("waits for a GPU"),
        "{page}"
    );

    let job = json!({"code": MEASURES, "require": {"arch": "gfx942"}});
    assert_eq!(submit(&ann, &job).0, 202);
    assert_eq!(wait(), 204);
    let done = json!({ "after": 0, "events": [{ "type": "done" }] });
    let events = format!("/api/v1/leases/{id}/1/events");
    assert_eq!(send(&server, "POST", &events, &host, &done).0, 204);
    assert_eq!(wait(), 200);
}

#[test]
fn device_time_of_a_token_is_limited() {
    let server = Server::start(&["--no-runner", "--token-device-time", "1s"]);
    let [host, ann] =
        [("host", "worker"), ("ann", "submit")].map(|(name, role)| token(&server, name, role));
    let gpu = gpu();
    report(&server, &host, "gpu7", &gpu["device"], &gpu["facts"]);
    let submit = || {
        send(
            &server,
            "POST",
            "/api/v1/jobs",
            &ann,
            &json!({"code": MEASURES}),
        )
    };
    assert_eq!(submit().0, 202);
    assert_eq!(send(&server, "POST", "/api/v1/leases", &host, &gpu).0, 200);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(submit(), (429, "token-device-time-spent".to_owned()));
}

#[test]
fn requirements_on_the_command_line_are_checked() {
    let snippet = tempfile::NamedTempFile::new().expect("a file");
    fs::write(snippet.path(), MEASURES).expect("is ours");
    let bench = |arguments: &[&str]| {
        let output = hipward()
            .arg("bench")
            .arg(snippet.path())
            .args(arguments)
            .output();
        let output = output.expect("runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("text")
    };
    let text = bench(&[
        "--host",
        "127.0.0.1:1",
        "--require",
        "arch=gfx942,color=red",
    ]);
    assert!(
        text.contains("--require color=red: use vendor=amd"),
        "{text}"
    );
    assert!(bench(&["--require", "arch=gfx942"]).contains("--host"));
}
