//! `hipward serve` answers before PyTorch is found or installed.

mod support;

use hipward_protocol::JobState;
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process,
    thread::sleep,
    time::{Duration, Instant},
};
use support::{MEASURES, SYSTEM_PYTHON, Server, cache, problem};

#[test]
fn a_server_answers_while_pytorch_is_installed_and_runs_jobs_afterwards() {
    let environment = tempfile::tempdir().expect("a temporary folder");
    let python = environment.path().join("python");
    let installing = |data: &Path| {
        fs::create_dir(cache(data)).expect("a cache folder");
        let marker = cache(data).join("python-installing");
        fs::write(marker, process::id().to_string()).expect("is written");
    };
    let flags = ["--python", python.to_str().expect("text")];
    let server = Server::start_prepared(installing, &flags);

    assert_eq!(server.get("/").0, 200);
    assert_eq!(server.get("/playground/").0, 200);
    // The first state is a search; this is the state after the marker was found.
    let start = Instant::now();
    while !server.get("/benchmark/").1.contains("still installing") {
        assert!(start.elapsed() < Duration::from_secs(20));
        sleep(Duration::from_millis(50));
    }
    assert_eq!(server.get("/readyz").0, 503);
    let capabilities: Value =
        serde_json::from_str(&server.get("/api/v1/capabilities").1).expect("JSON");
    assert_eq!(capabilities["ready"], false);
    let (status, body) = server.post(&serde_json::json!({ "code": MEASURES }));
    assert_eq!(
        (status, problem(&body).code.as_str()),
        (503, "installing-torch")
    );

    symlink(SYSTEM_PYTHON, &python).expect("is installed");
    fs::remove_file(cache(server.data.path()).join("python-installing")).expect("it was there");
    let start = Instant::now();
    while server.get("/readyz").0 != 200 {
        assert!(start.elapsed() < Duration::from_secs(60));
        sleep(Duration::from_millis(100));
    }
    let job = server.submit(MEASURES);
    let ended = server.wait_for(&job.id, |job| job.state.is_final());
    assert_eq!(ended.state, JobState::Done);
}
