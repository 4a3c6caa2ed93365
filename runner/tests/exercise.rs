//! Exercises: the route that judges an answer, and `hipward try`.

mod support;

use hipward_protocol::{JobState, JobSummary};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
    thread,
    time::Duration,
};
use support::{Server, WAITS, agent, hipward, problem};
use tempfile::TempDir;

const LESSON: &str = r#"+++
title = "Numbers"
summary = "Doubling."
minutes = 1
goal = "You double a number."
+++
Write a function.

```write
dir = "double"
title = "Double a number"
task = "Fill the hole, so that `double(x)` is twice `x`."
minutes = 1
[[hint]]
text = "What is two times three?"
[[hint]]
text = "Add the number to itself."
[[hint]]
text = "`return x + …`"
```
"#;
const JUDGE: &str = r#""""Doubles numbers."""
from hipward_kernels.exercise import expect

def case_integer(answer, random):
    """An integer"""
    x = random.randint(1, 9)
    expect(answer.double(x) == 2 * x, f"double({x}) is {answer.double(x)}, expected {2 * x}")

def case_text(answer, random):
    """Zero"""
    expect(answer.double(0) == 0, "double(0) is not 0")
"#;
const SOLUTION: &str =
    "def double(x):\n    # hole: product\n    return 2 * x\n    # end: product\n";

/// A content folder with one exercise.
fn content() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let start = SOLUTION.replace("2 * x", "...");
    let same = format!(
        "# fails: case_integer\n# message: The number is returned unchanged.\n{}",
        SOLUTION.replace("2 * x", "x")
    );
    for (path, text) in [
        ("part.toml", "title = \"Part\"\nsummary = \"One.\"\n"),
        ("01-numbers/lesson.md", LESSON),
        ("01-numbers/double/judge.py", JUDGE),
        ("01-numbers/double/start.py", &start),
        ("01-numbers/double/solution.py", SOLUTION),
        ("01-numbers/double/wrong/same.py", &same),
    ] {
        let path = folder.path().join("01-part").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("is created");
        fs::write(path, text).expect("is written");
    }
    folder
}

fn post(server: &Server, path: &str, body: &Value) -> (u16, Value, Option<String>) {
    let url = format!("{}/api/v1/exercises/{path}", server.url);
    let mut answer = server
        .authorized(agent().post(url))
        .send_json(body)
        .expect("answers");
    let retry = answer.headers().get("retry-after");
    let retry = retry.map(|value| value.to_str().expect("text").to_owned());
    let text = answer.body_mut().read_to_string().expect("a body");
    let body = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (answer.status().as_u16(), body, retry)
}

const EXERCISE: &str = "part/numbers/double";

#[test]
fn each_answer_is_judged_in_a_new_worker_with_the_files_of_its_exercise() {
    let content = content();
    let content = content.path().to_str().expect("text");
    let server = Server::start(&["--content", content]);
    let mut workers = Vec::new();
    for _ in 0..4 {
        let (status, body, _) = post(&server, EXERCISE, &json!({"code": "x = 1"}));
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["status"], "not_yet");
        assert_eq!(body["cases"][0]["message"], "1 is not 2");
        assert_eq!(body["seed"], 4_294_967_295_u64);
        assert!(body.get("type").is_none(), "{body}");
        let output = body["output"].as_str().expect("text");
        let (worker, files) = output.split_once(' ').expect("two parts");
        assert_eq!(files, "judge.py solution.py start.py wrong/same.py");
        workers.push(worker.to_owned());
    }
    workers.sort();
    workers.dedup();
    assert_eq!(workers.len(), 4, "a worker answered twice");
    for code in ["silent", "garbled", "refused"] {
        let (status, body, _) = post(&server, EXERCISE, &json!({ "code": code }));
        assert_eq!(
            (status, &body["code"]),
            (422, &json!("exercise-failed")),
            "{body}"
        );
    }
}

#[test]
fn invalid_answers_are_problems_with_code_and_help() {
    let content = content();
    let content = content.path().to_str().expect("text");
    let server = Server::start(&["--content", content]);
    let code = json!({"code": "x = 1"});
    for (path, body, status, expected) in [
        (
            "part/numbers/other",
            code.clone(),
            404,
            "exercise-not-found",
        ),
        ("part/other/double", code.clone(), 404, "exercise-not-found"),
        (EXERCISE, json!({}), 400, "invalid-json"),
        (EXERCISE, json!({"code": 1}), 400, "invalid-json"),
        (EXERCISE, json!({"code": ""}), 400, "code-empty"),
        (
            EXERCISE,
            json!({"code": "", "seed": 1}),
            400,
            "invalid-json",
        ),
        (
            EXERCISE,
            json!({"code": "x".repeat(300_000)}),
            413,
            "code-too-large",
        ),
    ] {
        let (got, answer, _) = post(&server, path, &body);
        assert_eq!(
            (got, &answer["code"]),
            (status, &json!(expected)),
            "{answer}"
        );
        assert!(answer["help"].as_str().is_some_and(|help| !help.is_empty()));
    }
    let url = format!("{}/api/v1/exercises/{EXERCISE}", server.url);
    let mut answer = agent().post(url).send_json(&code).expect("answers");
    let body = answer.body_mut().read_to_string().expect("a body");
    assert_eq!(answer.status().as_u16(), 401);
    assert_eq!(problem(&body).code, "token-required");
}

#[test]
fn too_many_answers_are_refused_with_a_time_to_retry() {
    let content = content();
    let content = content.path().to_str().expect("text");
    let server = Server::start(&["--content", content]);
    let (status, _, _) = post(&server, EXERCISE, &json!({"code": "x = 1"}));
    assert_eq!(status, 200);
    let answers: Vec<_> = thread::scope(|scope| {
        let send = || post(&server, EXERCISE, &json!({"code": "slow"}));
        let sent: Vec<_> = (0..20).map(|_| scope.spawn(send)).collect();
        let answers = sent.into_iter().map(|sent| sent.join().expect("no panic"));
        answers.collect()
    });
    let (accepted, refused): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|(status, _, _)| *status == 200);
    // There are 16 places. The first answer may still hold one, and a place that becomes free meanwhile is used again.
    assert!((15..20).contains(&accepted.len()), "{}", accepted.len());
    for (status, body, retry) in refused {
        assert_eq!(
            (status, &body["code"]),
            (429, &json!("exercise-busy")),
            "{body}"
        );
        assert!(retry.is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
    }
}

// hipward try

#[test]
fn answers_wait_for_a_job_on_the_processor_and_the_job_for_answers() {
    let content = content();
    let content = content.path().to_str().expect("text");
    let server = Server::start(&["--content", content]);
    let is_running = |job: &JobSummary| job.state == JobState::Running;

    let job = server.submit(WAITS).id;
    server.wait_for(&job, is_running);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| post(&server, EXERCISE, &json!({"code": "x = 1"})));
        thread::sleep(Duration::from_secs(3));
        assert!(!waiting.is_finished(), "it disturbs the job's times");
        server.cancel(&job);
        let (status, body, _) = waiting.join().expect("ends");
        assert_eq!(status, 200, "{body}");
    });

    // The next worker is warm, so the answer is judged at once.
    thread::scope(|scope| {
        let answer = scope.spawn(|| post(&server, EXERCISE, &json!({"code": "slow"})));
        thread::sleep(Duration::from_secs(1));
        let job = server.submit(WAITS).id;
        thread::sleep(Duration::from_millis(500));
        assert_eq!(server.summary(&job).state, JobState::Queued);
        let (status, body, _) = answer.join().expect("ends");
        assert_eq!(status, 200, "{body}");
        server.wait_for(&job, is_running);

        // Not for longer than proxies wait for an answer.
        let (status, body, retry) = post(&server, EXERCISE, &json!({"code": "x = 1"}));
        assert_eq!((status, &body["code"]), (503, &json!("processor-in-use")));
        assert_eq!(retry.as_deref(), Some("30"));
        assert_eq!(server.summary(&job).state, JobState::Running);
    });
}

fn run(content: &Path, folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command(content, folder)
        .args(arguments)
        .output()
        .expect("hipward runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

fn command(content: &Path, folder: &Path) -> Command {
    let mut command = hipward();
    command
        .arg("try")
        .arg("--content")
        .arg(content)
        .args(["--python", "python3"])
        .current_dir(folder);
    command
}

#[test]
fn try_writes_the_start_once_and_states_the_next_command() {
    let (content, folder) = (content(), tempfile::tempdir().expect("a folder"));
    let (content, folder) = (content.path(), folder.path());
    let (code, text, _) = run(content, folder, &["numbers"]);
    assert_eq!(code, Some(0));
    assert!(
        text.contains("hipward try part/numbers/double start.py"),
        "{text}"
    );
    assert!(text.contains("Fill the hole"), "{text}");
    let start = fs::read_to_string(folder.join("start.py")).expect("was written");
    assert!(start.contains("return ..."));
    fs::write(folder.join("start.py"), "mine").expect("is written");
    let (code, _, error) = run(content, folder, &["part/numbers/double"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("exists already"), "{error}");
    let kept = fs::read_to_string(folder.join("start.py")).expect("is there");
    assert_eq!(kept, "mine");
}

#[test]
fn try_judges_a_file_and_returns_the_verdict() {
    let (content, folder) = (content(), tempfile::tempdir().expect("a folder"));
    let (content, folder) = (content.path(), folder.path());
    fs::write(folder.join("right.py"), SOLUTION).expect("is written");
    fs::write(folder.join("wrong.py"), SOLUTION.replace("2 * x", "x")).expect("is written");
    let (code, text, error) = run(content, folder, &["double", "right.py"]);
    assert_eq!(code, Some(0), "{text}{error}");
    assert!(text.contains("Solved."), "{text}");
    let (code, text, _) = run(content, folder, &["double", "wrong.py", "--seed", "1"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAIL  An integer"), "{text}");
    assert!(text.contains("expected "), "{text}");
    assert!(text.contains("The number is returned unchanged."), "{text}");
    assert!(text.contains("--hint 1"), "{text}");
    assert_eq!(run(content, folder, &["double", "absent.py"]).0, Some(2));
}

#[test]
fn try_prints_hints_solution_and_list() {
    let (content, folder) = (content(), tempfile::tempdir().expect("a folder"));
    let (content, folder) = (content.path(), folder.path());
    let (code, text, _) = run(content, folder, &["double", "--hint", "2"]);
    assert_eq!(code, Some(0));
    assert!(text.starts_with("Add the number to itself."), "{text}");
    let (code, text, _) = run(content, folder, &["double", "--solution"]);
    assert_eq!((code, text.as_str()), (Some(0), SOLUTION));
    let (code, text, _) = run(content, folder, &[]);
    assert_eq!(code, Some(0));
    assert_eq!(text, "part/numbers/double  Double a number\n");
    for wrong in [
        vec!["double", "--hint", "4"],
        vec!["double", "--hint", "0"],
        vec!["nothing"],
    ] {
        assert_eq!(run(content, folder, &wrong).0, Some(2), "{wrong:?}");
    }
    assert!(fs::read_dir(folder).expect("a folder").next().is_none());
}
