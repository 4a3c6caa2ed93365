//! `hipward bench`, with its own server and with a running one.

mod support;

use hipward_protocol::JobState;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Lines, Read},
    path::Path,
    process::{Child, ChildStderr, Command, Output, Stdio},
};
use support::{MEASURES, Server, WAITS, hipward, signal};

const REJECTS: &str = "
environment()
for variant in ['eager', 'eager-control']:
    sample(variant, 2.0)
say('precision', variant='model-new', passed=False, outputs=[], seeds=5, reference='float64', reason='It is off.')
";

/// `hipward bench` on a snippet, with the scripted measuring package for its own server.
fn bench(folder: &Path, snippet: &str, flags: &[&str]) -> Command {
    let file = folder.join("snippet.py");
    fs::write(&file, snippet).expect("a file");
    let mut command = hipward();
    command.arg("bench").arg(&file).args(flags);
    if !flags.contains(&"--host") {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support");
        command.arg("--kernels").arg(kernels);
        command.env("HIPWARD_PYTHON", "python3");
    }
    command.stdin(Stdio::null());
    command
}

/// With the server's token, if it has one, from the environment.
fn authorized(mut bench: Command, server: &Server) -> Command {
    bench.envs(server.token.iter().map(|token| ("HIPWARD_TOKEN", token)));
    bench
}

fn exit_code_and_output(output: &Output) -> (Option<i32>, String, String) {
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Starts the command, and waits until the job prints that it is waiting. Returns the rest of the output.
fn waiting(mut bench: Command) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut child = bench
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("is piped")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("waiting"))));
    (child, lines)
}

fn run(snippet: &str, flags: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    exit_code_and_output(&bench(folder.path(), snippet, flags).output().expect("runs"))
}

#[test]
fn local_job_is_printed_in_each_format() {
    let (code, text, progress) = run(MEASURES, &[]);
    assert_eq!(code, Some(0), "{progress}");
    for part in [
        "Variant compile",
        "FASTER",
        "2.00×",
        "Triton needs a GPU.",
        "Conditions",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Output of the snippet cannot control the terminal.
    assert!(progress.contains("snippet | hello [31m\n"), "{progress}");
    assert!(progress.contains("Variant compile: 1.00"), "{progress}");

    let (code, text, progress) = run(MEASURES, &["--format", "json", "--quiet"]);
    assert_eq!((code, progress.as_str()), (Some(0), ""));
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["job"]["title"], "snippet.py");
    assert_eq!(report["result"]["verdict"]["best"], "compile");

    let (code, text, _) = run(MEASURES, &["--format", "markdown", "--variants", "compile"]);
    assert_eq!(code, Some(0));
    assert!(text.starts_with("# snippet.py\n\n**Done.**"), "{text}");
}

#[test]
fn earlier_result_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("base.json");
    let path = base.to_str().expect("UTF-8");
    let (_, json, _) = run(MEASURES, &["--format", "json", "--quiet"]);
    fs::write(&base, json).expect("a file");

    let (code, text, _) = run(MEASURES, &["--compare", path]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(&format!("Compared with {path}:")), "{text}");
    assert!(text.contains("cannot be told apart"), "{text}");

    let slower = MEASURES.replace("('compile', 1.0)", "('compile', 1.5)");
    let (code, text, _) = run(&slower, &["--compare", path, "--format", "markdown"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("| slower |"), "{text}");

    fs::write(&base, "{}").expect("a file");
    let (code, _, errors) = run(MEASURES, &["--compare", path]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("--format json"), "{errors}");
}

#[test]
fn workflow_gets_annotations_and_a_summary() {
    let folder = tempfile::tempdir().expect("a folder");
    let (base, summary) = (
        folder.path().join("base.json"),
        folder.path().join("summary"),
    );
    let (_, json, _) = run(MEASURES, &["--format", "json", "--quiet"]);
    fs::write(&base, json).expect("a file");
    let slower = MEASURES.replace("('compile', 1.0)", "('compile', 1.5)");
    let base = base.to_str().expect("UTF-8");
    let flags = ["--format", "github", "--compare", base, "--label", "main"];
    let mut command = bench(folder.path(), &slower, &flags);
    let output = command.env("GITHUB_STEP_SUMMARY", &summary).output();
    let (code, text, errors) = exit_code_and_output(&output.expect("runs"));
    assert_eq!(code, Some(1), "{text}{errors}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].starts_with("::notice file=") && lines[0].contains("::Variant compile is 1.3"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("::error file=") && lines[1].contains("compile is slower::"),
        "{text}"
    );
    let summary = fs::read_to_string(&summary).expect("a summary");
    assert!(summary.starts_with("# snippet.py\n"), "{summary}");
    assert!(summary.contains("## Compared with"), "{summary}");
}

#[test]
fn exit_code_reflects_the_result() {
    let (code, text, _) = run(REJECTS, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Not timed: It is off."), "{text}");

    let (code, text, _) = run("raise SystemExit(3)", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("Failed."), "{text}");

    for (flags, part) in [
        (vec!["--variants", "warp"], "The variants are: eager"),
        (vec!["--device", "cuda:7"], "cpu"),
        (
            vec!["--host", "http://127.0.0.1:1"],
            "no answer from http://127.0.0.1:1",
        ),
        (vec!["--host", "ftp://gpu-host"], "such as https://"),
        (
            vec!["--host", "http://127.0.0.1:1", "--time-cap", "1"],
            "cannot be used with",
        ),
    ] {
        let (code, _, errors) = run(MEASURES, &flags);
        assert_eq!(code, Some(2), "{flags:?}: {errors}");
        assert!(errors.contains(part), "{flags:?}: {errors}");
    }
    let missing = hipward()
        .args(["bench", "missing.py"])
        .output()
        .expect("runs");
    let (code, _, errors) = exit_code_and_output(&missing);
    assert_eq!(code, Some(2));
    assert!(errors.contains("missing.py: "), "{errors}");
}

#[test]
fn job_runs_on_a_running_server_and_is_stored_there() {
    let server = Server::start(&[]);
    let (code, _, errors) = run(MEASURES, &["--host", &server.url]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("Token required"), "{errors}");

    // From a file, because every user can read a command line.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    fs::write(&file, server.token.as_deref().expect("has one")).expect("a file");
    let file = file.to_str().expect("a path");
    let flags = ["--host", &server.url, "--variants", "compile"];
    let with = |flag, value| run(MEASURES, &[&flags[..], &[flag, value]].concat());
    let (code, _, errors) = with("--token", "secret");
    assert_eq!(code, Some(2));
    assert!(errors.contains("use --token-file FILE"), "{errors}");
    let (code, text, progress) = with("--token-file", file);
    assert_eq!(code, Some(0), "{progress}");
    assert!(text.contains("FASTER"), "{text}");
    let page = progress.lines().last().expect("a last line");
    let page = page.strip_prefix("The result is at ").expect("an address");
    let path = page.strip_prefix(&server.url).expect("of this server");
    let (status, html) = server.get(path);
    assert_eq!(status, 200);
    assert!(html.contains("snippet.py"), "{html}");
}

#[test]
fn job_is_followed_across_a_restart_of_the_server() {
    // An address of its own: at 127.0.0.1 another test may get the port while it is free.
    let mut server = Server::start(&["--bind", "127.0.0.2:0", "--no-token"]);
    let folder = tempfile::tempdir().expect("a folder");
    // Long enough to be interrupted. The second attempt completes.
    let snippet = format!("import time\nprint('waiting', flush=True)\ntime.sleep(3){MEASURES}");
    let port = server.port().to_owned();
    let (child, lines) = waiting(authorized(
        bench(folder.path(), &snippet, &["--host", &server.url]),
        &server,
    ));
    server.kill();
    server.restart(&["--bind", &format!("127.0.0.2:{port}"), "--no-token"]);
    let output = child.wait_with_output().expect("ends");
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert_eq!(output.status.code(), Some(0), "{rest:?}");
}

#[test]
fn ctrl_c_cancels_the_job() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    for flags in [vec!["--host", server.url.as_str()], vec![]] {
        // Not dropped, because the command stops when its output is closed.
        let (mut child, _lines) = waiting(authorized(bench(folder.path(), WAITS, &flags), &server));
        signal(child.id(), "-INT");
        let status = child.wait().expect("ends");
        let mut text = String::new();
        let mut stdout = child.stdout.take().expect("is piped");
        stdout.read_to_string(&mut text).expect("text");
        assert_eq!(status.code(), Some(130), "{text}");
        assert!(text.starts_with("Cancelled."), "{text}");
    }
    // The server is free for the next job.
    let next = server.submit("environment()").id;
    server.wait_for(&next, |job| {
        job.state == JobState::Done || job.state == JobState::Failed
    });
}
