//! A data folder on a disk that is full or read-only. Mounts need a namespace of their own, which some hosts do not permit; the
//! tests then print that and check nothing.

mod support;

use hipward_protocol::JobState;
use serde_json::json;
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{Server, agent, hipward, printed, problem, state, whole_log};

/// `unshare` with a mount namespace, if the host permits it.
fn mounts() -> Option<Vec<&'static str>> {
    let candidates = [
        vec!["unshare", "--mount"],
        vec!["unshare", "--mount", "--user", "--map-root-user"],
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let found = candidates.into_iter().find(|command| {
        let mut mount = Command::new(command[0]);
        mount.args(&command[1..]);
        mount
            .args(["mount", "-t", "tmpfs", "none"])
            .arg(folder.path());
        mount
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    });
    if found.is_none() {
        println!("this host permits no mounts: nothing is checked");
    }
    found
}

/// Runs a shell script in the mounts of the server.
fn inside(server: &Server, script: &str, folder: &Path) -> Child {
    Command::new("nsenter")
        .args(["--target", &server.pid().to_string(), "--mount"])
        .args(["--", "sh", "-c", script, "sh"])
        .arg(folder)
        .spawn()
        .expect("nsenter runs")
}

#[test]
fn job_that_ends_on_a_full_disk_is_done_once_there_is_space() {
    let Some(mut wrapper) = mounts() else {
        return;
    };
    if wrapper.contains(&"--user") {
        println!("another user's mounts cannot be entered: nothing is checked");
        return;
    }
    wrapper.extend([
        "sh",
        "-c",
        "data=$1; shift; mount -t tmpfs -o size=48m none \"$data\" && chmod 700 \"$data\" && exec \"$@\"",
        "sh",
    ]);
    let server = Server::start_wrapped(&wrapper, &[]);
    assert_eq!(state(&server.run("print('space')")), JobState::Done);
    let until_full = "
import time
print('started', flush=True)
while True:
    try:
        with open('probe', 'ab') as file: file.write(bytes(4096))
    except OSError: break
    time.sleep(0.02)
";
    let id = server.submit(until_full).id;
    server.wait_for(&id, |job| job.state == JobState::Running);
    // Takes all space, also that of removed files.
    let mut filler = inside(
        &server,
        "while :; do head -c 1M /dev/zero >> \"$1/filler\"; sleep 0.02; done 2> /dev/null",
        server.data.path(),
    );
    // The write-ahead log may have space for small changes.
    let large = format!("print('large')\n#{}", "x".repeat(200 * 1024));
    let start = Instant::now();
    let mut accepted = Vec::new();
    loop {
        let (status, body) = server.post(&json!({ "code": large }));
        if status != 202 {
            let problem = problem(&body);
            assert_eq!((status, problem.code.as_str()), (503, "store-unavailable"));
            assert!(problem.detail.contains("is full"), "{problem:?}");
            break;
        }
        let job: hipward_protocol::JobSummary = serde_json::from_str(&body).expect("a job");
        accepted.push(job.id);
        assert!(start.elapsed() < Duration::from_secs(120), "never full");
    }
    assert_eq!(server.get("/").0, 200);
    thread::sleep(Duration::from_secs(1));
    assert_eq!(server.get("/healthz").0, 200, "the server still runs");
    filler.kill().expect("it runs");
    filler.wait().expect("has ended");
    let freed = inside(&server, "rm \"$1/filler\"", server.data.path()).wait();
    assert!(freed.expect("runs").success());
    for job in accepted.iter().chain([&id]) {
        server.wait_for(job, |job| job.state.is_final());
        assert_eq!(state(&whole_log(&server, job)), JobState::Done);
    }
    assert!(printed(&server.events(&id, 0)).contains("started"));
    assert_eq!(state(&server.run("print('space')")), JobState::Done);
}

#[test]
fn server_with_a_read_only_data_folder_states_the_reason_and_changes_nothing() {
    let Some(wrapper) = mounts() else {
        return;
    };
    let mut server = Server::start(&[]);
    let id = server.submit("print('stored')").id;
    server.wait_for(&id, |job| job.state.is_final());
    let events = server.events(&id, 0);
    server.stop();
    let database = server.data.path().join("jobs.sqlite");
    let before = fs::read(&database).expect("is there");
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).args([
        "sh",
        "-c",
        "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && exec \"$2\" serve --bind 127.0.0.1:0 --data \"$1\"",
        "sh",
    ]);
    command.arg(server.data.path()).arg(hipward().get_program());
    let output = command.output().expect("runs");
    assert!(!output.status.success(), "{output:?}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.to_lowercase().contains("read-only") && error.contains("--data"),
        "{error}"
    );
    assert_eq!(fs::read(&database).expect("is there"), before);
    server.restart(&[]);
    assert_eq!(server.events(&id, 0), events);
    let status = agent().get(format!("{}/readyz", server.url)).call();
    assert_eq!(status.expect("answers").status().as_u16(), 200);
}
