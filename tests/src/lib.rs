//! A real `hipward serve` in a process of its own, and a small client for its API.
//!
//! Only what several test files share. The tests themselves are in `tests/tests/`.

use hipward_protocol::{Event, EventBody, JobState, JobSummary};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that any single job in these tests may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// The checkout.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Compares a generated file of the checkout with its new text. With the environment variable `update` set, writes it first.
///
/// # Panics
/// If they differ. The message contains the command that updates the file; `test` is the name of the test file.
pub fn assert_up_to_date(file: &str, text: &str, update: &str, test: &str) {
    let path = root().join(file);
    if std::env::var_os(update).is_some() {
        std::fs::write(&path, text).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{file} is not up to date. Run: {update}=1 cargo nextest run -p hipward-tests --test {test}"
    );
}

/// The folder of browser assets that the binary carries.
pub fn assets() -> PathBuf {
    std::env::var_os("HIPWARD_ASSETS").map_or_else(|| root().join("target/assets"), PathBuf::from)
}

/// The `hipward` binary: `$HIPWARD`, or the one that was built beside this test.
///
/// # Panics
/// When it was not built; `make test` does.
pub fn hipward() -> PathBuf {
    if let Some(path) = std::env::var_os("HIPWARD") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    let built = test
        .ancestors()
        .nth(2)
        .expect("target/<profile>/deps/<test>")
        .join("hipward");
    assert!(
        built.is_file(),
        "{} is missing: cargo build --package hipward",
        built.display()
    );
    built
}

/// The Python with PyTorch that benchmarks run on: `$HIPWARD_PYTHON`, or the one that set-up made.
pub fn python() -> PathBuf {
    std::env::var_os("HIPWARD_PYTHON").map_or_else(
        || {
            let home = std::env::var_os("HOME").expect("HOME is set");
            Path::new(&home).join(".cache/hipward/python-current/bin/python")
        },
        PathBuf::from,
    )
}

/// A running server; it is killed when dropped.
pub struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`, without a final slash.
    pub url: String,
    /// What it asks of those who send code.
    pub token: String,
}

impl Server {
    /// Starts a server on a port of the system's choice, with its data in `data`.
    ///
    /// # Panics
    /// When it does not print its address.
    pub fn start(data: &Path, flags: &[&str]) -> Server {
        let mut child = Command::new(hipward())
            .args(["serve", "--bind", "127.0.0.1:0", "--data"])
            .arg(data)
            .arg("--python")
            .arg(python())
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("hipward starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("hipward prints a line");
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap_or_else(|| panic!("no address in {line:?}"));
        let (url, token) = url
            .split_once("/?token=")
            .unwrap_or_else(|| panic!("no token in {line:?}"));
        Server {
            child,
            url: url.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Ends the server as a power cut would: SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("the server can be reaped");
    }

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `GET`: status and body.
    pub fn get(&self, path: &str) -> (u16, String) {
        let mut answer = agent()
            .get(format!("{}{path}", self.url))
            .call()
            .expect("GET is answered");
        let body = answer.body_mut().read_to_string().unwrap_or_default();
        (answer.status().as_u16(), body)
    }

    /// Posts a job and returns its summary.
    ///
    /// # Panics
    /// When it is not accepted.
    pub fn post(&self, request: &Value) -> JobSummary {
        let mut answer = agent()
            .post(format!("{}/api/v1/jobs", self.url))
            .header("authorization", format!("Bearer {}", self.token))
            .send_json(request)
            .expect("POST is answered");
        let body = answer.body_mut().read_to_string().expect("a body");
        assert_eq!(answer.status().as_u16(), 202, "{body}");
        serde_json::from_str(&body).expect("a job summary")
    }

    /// Posts a job and waits for its end: every event of its log.
    pub fn run(&self, request: &Value) -> Vec<Event> {
        let job = self.post(request);
        self.wait(&job.id);
        self.events(&job.id, 0)
    }

    /// Waits for a job to reach a final state.
    ///
    /// # Panics
    /// When it takes too long.
    pub fn wait(&self, id: &str) -> JobState {
        let start = Instant::now();
        loop {
            let (_, body) = self.get(&format!("/api/v1/jobs/{id}"));
            let job: JobSummary = serde_json::from_str(&body).expect("a job summary");
            if job.state.is_final() {
                return job.state;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "job {id} is still {:?}",
                job.state
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The events after `after`, read from the stream until the server closes it.
    pub fn events(&self, id: &str, after: u64) -> Vec<Event> {
        let answer = agent()
            .get(format!(
                "{}/api/v1/jobs/{id}/events?after={after}",
                self.url
            ))
            .call()
            .expect("the stream is answered");
        let (_, body) = answer.into_parts();
        BufReader::new(body.into_reader())
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| {
                line.strip_prefix("data:")
                    .map(|data| data.trim().to_owned())
            })
            .map(|data| serde_json::from_str(&data).unwrap_or_else(|e| panic!("{e}: {data}")))
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last event's body.
///
/// # Panics
/// When there is none.
pub fn end(events: &[Event]) -> &EventBody {
    &events.last().expect("a log is never empty").body
}

/// A client that treats every status as an answer.
pub fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .build()
        .into()
}
