//! A real `hipward serve` with a scripted measuring package, and its client.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use hipward_protocol::{
    Capabilities, Event, EventBody, FailureCode, IsolationLevel, JobState, JobSummary, Problem,
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Timeout of every wait, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// Python that tries a call which must be refused, and prints `ALLOWED` if it is not.
pub(crate) const ATTEMPT: &str = "
def attempt(what, act):
    try:
        act()
        print('ALLOWED', what)
    except OSError:
        pass
";

/// A job that measures: `torch.compile` is twice as fast.
pub(crate) const MEASURES: &str = "
environment()
for variant, ms in [('eager', 2.0), ('eager-control', 2.0), ('compile', 1.0)]:
    sample(variant, ms)
if 'fused-ops' in job['variants']:
    say('unavailable', variant='fused-ops', reason='Triton needs a GPU.')
print('hello \\x1b[31m')
";

/// A job that runs until it is stopped.
pub(crate) const WAITS: &str = "import time\nprint('waiting', flush=True)\ntime.sleep(600)";

/// A server with a data folder of its own.
pub(crate) struct Server {
    child: Option<Child>,
    pub(crate) url: String,
    /// The random token, if the server created one.
    pub(crate) token: Option<String>,
    pub(crate) data: TempDir,
    /// Program and package, where the build folder is closed to the server's user.
    _copies: Option<TempDir>,
}

impl Server {
    /// Starts one with the scripted package.
    pub(crate) fn start(flags: &[&str]) -> Self {
        Server::start_prepared(|_| (), flags)
    }

    /// Starts one after `prepare` was called with its data folder.
    pub(crate) fn start_prepared(prepare: impl FnOnce(&Path), flags: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        prepare(data.path());
        Server::started(launch(data.path(), flags), data, None)
    }

    /// Starts one with additional environment variables.
    pub(crate) fn start_with_environment<Value: AsRef<OsStr>>(
        variables: &[(&str, Value)],
        flags: &[&str],
    ) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let mut command = hipward();
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.arg("serve").arg("--kernels").arg(support());
        Server::started(listening(command, data.path(), flags), data, None)
    }

    /// Starts one through a command, which gets the data folder and then the server's command as arguments.
    pub(crate) fn start_wrapped(wrapper: &[&str], flags: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(data.path());
        command.arg(hipward().get_program()).arg("serve");
        command.arg("--kernels").arg(support());
        Server::started(listening(command, data.path(), flags), data, None)
    }

    /// The same, with a program, a package and a Python that every user can read.
    pub(crate) fn start_wrapped_with_copies(wrapper: &[&str], flags: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let copies = copies_for_everyone();
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(data.path());
        command.arg(copies.path().join("hipward")).arg("serve");
        command.arg("--kernels").arg(copies.path());
        let flags = [flags, &["--python", SYSTEM_PYTHON]].concat();
        let started = listening(command, data.path(), &flags);
        Server::started(started, data, Some(copies))
    }

    /// Starts one as a user without privileges, with a Python that every user can read. Its jobs run as that same user.
    pub(crate) fn start_without_privileges(flags: &[&str]) -> Self {
        Server::start_with_copies(without_privileges(), flags)
    }

    /// Starts one as a user, with a program, a package and a Python that every user can read.
    pub(crate) fn start_with_copies(user: Option<u32>, flags: &[&str]) -> Self {
        let copies = copies_for_everyone();
        let mut server = Server::start_from(copies.path(), user, flags);
        server._copies = Some(copies);
        server
    }

    /// The same with copies of the caller.
    pub(crate) fn start_from(copies: &Path, user: Option<u32>, flags: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        if let Some(user) = user {
            chown(data.path(), Some(user), Some(user)).expect("root can change owners");
        }
        let mut flags = flags.to_vec();
        flags.extend(["--python", SYSTEM_PYTHON]);
        let started = launch_as(data.path(), &flags, user, copies);
        Server::started(started, data, None)
    }

    /// A server that listens.
    fn started(
        (child, url, token): (Child, String, Option<String>),
        data: TempDir,
        copies: Option<TempDir>,
    ) -> Self {
        Server {
            child: Some(child),
            url,
            token,
            data,
            _copies: copies,
        }
    }

    /// Kills the server like a power failure.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it can be killed");
        child.wait().expect("it has ended");
    }

    /// Requests the end of the server and waits for it.
    pub(crate) fn stop(&mut self) {
        let mut child = self.child.take().expect("it runs");
        signal(child.id(), "-TERM");
        let status = child.wait().expect("it has ended");
        assert!(status.success(), "{status}");
    }

    /// Sends Ctrl-C until the server has ended. Returns its exit code.
    pub(crate) fn interrupt(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("it runs");
        loop {
            signal(child.id(), "-INT");
            thread::sleep(Duration::from_millis(100));
            if let Some(status) = child.try_wait().expect("it is ours") {
                return status.code();
            }
        }
    }

    /// Starts it again with the same data.
    pub(crate) fn restart(&mut self, flags: &[&str]) {
        assert!(self.child.is_none(), "it still runs");
        let (child, url, token) = launch(self.data.path(), flags);
        self.child = Some(child);
        self.url = url;
        self.token = token;
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// The processes of all workers.
    pub(crate) fn workers(&self) -> Vec<u32> {
        let folders = fs::read_dir(self.data.path().join("workers"));
        let folders = folders.into_iter().flatten().flatten();
        folders
            .flat_map(|folder| alive(&format!("HOME={}", folder.path().display())))
            .filter_map(|worker| worker.split_once(' ')?.0.parse().ok())
            .collect()
    }

    /// The folders of the workers that run. Each worker has its own, which is its `HOME`.
    pub(crate) fn worker_folders(&self) -> Vec<String> {
        let folders = fs::read_dir(self.data.path().join("workers"));
        let folders = folders.into_iter().flatten().flatten();
        folders
            .map(|folder| folder.path().display().to_string())
            .filter(|folder| !alive(&format!("HOME={folder}")).is_empty())
            .collect()
    }

    /// The process of the only worker, while no job runs.
    pub(crate) fn idle_worker(&self) -> u32 {
        // The search for PyTorch is a process in a worker's folder too; this request waits for its end.
        self.get("/readyz");
        let start = Instant::now();
        loop {
            let workers = self.workers();
            if let [worker] = workers[..]
                && self
                    .get("/metrics")
                    .1
                    .contains("hipward_device_busy{device=\"cpu\"} 0")
            {
                return worker;
            }
            assert!(start.elapsed() < PATIENCE, "{workers:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The supervisor of a process of a job: its ancestor that is a child of the server. Processes of bubblewrap may be between them.
    pub(crate) fn supervisor(&self, process: u32) -> Option<u32> {
        let mut below = process;
        loop {
            match parent(below)? {
                0 => return None,
                above if above == self.pid() => return (below != process).then_some(below),
                above => below = above,
            }
        }
    }

    pub(crate) fn port(&self) -> &str {
        self.url.rsplit(':').next().expect("a port")
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let mut answer = agent()
            .get(format!("{}{path}", self.url))
            .call()
            .expect("answers");
        let body = answer.body_mut().read_to_string().expect("a body");
        (answer.status().as_u16(), body)
    }

    pub(crate) fn post(&self, request: &Value) -> (u16, String) {
        let mut answer = self
            .authorized(agent().post(format!("{}/api/v1/jobs", self.url)))
            .send_json(request)
            .expect("answers");
        let body = answer.body_mut().read_to_string().expect("a body");
        (answer.status().as_u16(), body)
    }

    /// Adds the token, if the server has one.
    pub(crate) fn authorized<B>(
        &self,
        request: ureq::RequestBuilder<B>,
    ) -> ureq::RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    pub(crate) fn submit(&self, code: &str) -> JobSummary {
        let (status, body) = self.post(&json!({ "code": code }));
        assert_eq!(status, 202, "{body}");
        serde_json::from_str(&body).expect("a summary")
    }

    pub(crate) fn cancel(&self, id: &str) -> (u16, String) {
        let mut answer = self
            .authorized(agent().delete(format!("{}/api/v1/jobs/{id}", self.url)))
            .call()
            .expect("answers");
        let body = answer.body_mut().read_to_string().expect("a body");
        (answer.status().as_u16(), body)
    }

    pub(crate) fn summary(&self, id: &str) -> JobSummary {
        let (status, body) = self.get(&format!("/api/v1/jobs/{id}"));
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("a summary")
    }

    /// Whether the host can restrict files. If it cannot, the server must report that.
    pub(crate) fn fences_files(&self) -> bool {
        let (_, body) = self.get("/api/v1/capabilities");
        let capabilities: Capabilities = serde_json::from_str(&body).expect("capabilities");
        let isolation = capabilities.isolation;
        let fenced = isolation.level >= IsolationLevel::Files;
        assert!(fenced || !isolation.missing.is_empty(), "{isolation:?}");
        fenced
    }

    pub(crate) fn wait_for(&self, id: &str, reached: impl Fn(&JobSummary) -> bool) -> JobSummary {
        let start = Instant::now();
        loop {
            let summary = self.summary(id);
            if reached(&summary) {
                return summary;
            }
            assert!(start.elapsed() < PATIENCE, "{summary:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs code as a job to its end. Returns its event log.
    pub(crate) fn run(&self, code: &str) -> Vec<Event> {
        let id = self.submit(code).id;
        self.wait_for(&id, |job| job.state.is_final());
        self.events(&id, 0)
    }

    /// The code and message of a job that must fail.
    pub(crate) fn failure(&self, code: &str) -> (FailureCode, String) {
        match final_body(&self.run(code)) {
            EventBody::Failed(failure) => {
                assert!(!failure.help.is_empty(), "a failure has a help text");
                (failure.code, failure.message)
            }
            other => panic!("it did not fail: {other:?}"),
        }
    }

    /// The events after a position, until the server closes the stream.
    pub(crate) fn events(&self, id: &str, after: u64) -> Vec<Event> {
        self.stream(id, after, usize::MAX)
    }

    /// The same, but disconnects after `count` events.
    pub(crate) fn stream(&self, id: &str, after: u64, count: usize) -> Vec<Event> {
        self.follow(id, after).take(count).collect()
    }

    /// The events after a position, as they arrive.
    pub(crate) fn follow(&self, id: &str, after: u64) -> impl Iterator<Item = Event> + use<> {
        let answer = agent()
            .get(format!(
                "{}/api/v1/jobs/{id}/events?after={after}",
                self.url
            ))
            .call()
            .expect("answers");
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        read_events(answer.into_body())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) fn read_events(body: ureq::Body) -> impl Iterator<Item = Event> {
    BufReader::new(body.into_reader())
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| Some(line.strip_prefix("data:")?.trim().to_owned()))
        .map(|data| serde_json::from_str(&data).expect("an event"))
}

/// A client that returns responses of every status.
pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(PATIENCE))
        .build()
        .into()
}

pub(crate) fn problem(body: &str) -> Problem {
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

pub(crate) fn final_body(events: &[Event]) -> EventBody {
    let last = events.last().expect("a log is never empty");
    assert!(last.body.is_final(), "{last:?}");
    last.body.clone()
}

/// The log of an ended job, in which nothing may be missing or double: no gap, one end, and a verdict only before the end `done`.
pub(crate) fn whole_log(server: &Server, id: &str) -> Vec<Event> {
    let events = server.events(id, 0);
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    assert!(
        seqs.iter().copied().eq(1..=events.len() as u64),
        "a gap in {id}: {seqs:?}"
    );
    let count = |wanted: fn(&EventBody) -> bool| {
        let bodies = events.iter().map(|event| &event.body);
        bodies.filter(|body| wanted(body)).count()
    };
    assert_eq!(count(EventBody::is_final), 1, "{events:?}");
    assert!(final_body(&events).is_final());
    let verdicts = count(|body| matches!(body, EventBody::Verdict(_)));
    let most = usize::from(state(&events) == JobState::Done);
    assert!(verdicts <= most, "{verdicts} verdicts in {events:?}");
    events
}

pub(crate) fn state(events: &[Event]) -> JobState {
    hipward_protocol::JobView::from_events(events).state
}

/// All text of a log.
pub(crate) fn printed(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match &event.body {
        EventBody::Log { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn hipward() -> Command {
    Command::new(env!("CARGO_BIN_EXE_hipward"))
}

fn support() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support")
}

/// A Python outside of all home folders.
pub(crate) const SYSTEM_PYTHON: &str = "/usr/bin/python3";

/// An unprivileged user, if the tests run as root.
pub(crate) fn without_privileges() -> Option<u32> {
    let is_root = fs::metadata("/proc/self").expect("/proc exists").uid() == 0;
    is_root.then_some(65_534)
}

type Launched = (Child, String, Option<String>);

fn launch(data: &Path, flags: &[&str]) -> Launched {
    let mut command = hipward();
    command.arg("serve").arg("--kernels").arg(support());
    listening(command, data, flags)
}

/// The program and the scripted package in a folder that every user can read. Root's home, which contains the build, is
/// closed to others.
pub(crate) fn copies_for_everyone() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("it is ours");
    fs::copy(env!("CARGO_BIN_EXE_hipward"), folder.path().join("hipward")).expect("a copy");
    let copied = Command::new("cp")
        .arg("--recursive")
        .args([support().join("hipward_kernels"), folder.path().into()])
        .status();
    assert!(copied.expect("cp runs").success());
    folder
}

fn launch_as(data: &Path, flags: &[&str], user: Option<u32>, copies: &Path) -> Launched {
    let mut command = Command::new(copies.join("hipward"));
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.arg("serve").arg("--kernels").arg(copies);
    listening(command, data, flags)
}

/// The cache folder of a server, in which `tools/setup` would install Python.
pub(crate) fn cache(data: &Path) -> PathBuf {
    data.join("cache")
}

/// Starts a server and reads its address.
fn listening(mut command: Command, data: &Path, flags: &[&str]) -> Launched {
    let bind: &[&str] = match flags.contains(&"--bind") {
        true => &[],
        false => &["--bind", "127.0.0.1:0"],
    };
    let mut child = command
        .env("HIPWARD_PYTHON", "python3")
        .env("HIPWARD_CACHE", cache(data))
        .args(bind)
        .arg("--data")
        .arg(data)
        .args(flags)
        .stdout(Stdio::piped())
        .spawn()
        .expect("hipward starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("is piped"))
        .read_line(&mut line)
        .expect("hipward prints its address");
    let url = line.trim().strip_prefix("Hipward is at ").expect("a URL");
    let (url, token) = match url.split_once("?token=") {
        Some((url, token)) => (url, Some(token.to_owned())),
        None => (url, None),
    };
    (child, url.trim_end_matches('/').to_owned(), token)
}

pub(crate) fn signal(pid: u32, signal: &str) {
    let status = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(status.expect("kill runs").success());
}

/// The parent of a process, if it still runs.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may contain spaces.
    let fields = stat.rsplit_once(") ")?.1;
    fields.split(' ').nth(1)?.parse().ok()
}

/// Processes whose environment contains `marker`.
pub(crate) fn alive(marker: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc exists").flatten();
    processes
        .filter(|process| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == marker.as_bytes())
        })
        .map(|process| {
            let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            format!("{} {command}", process.file_name().display())
        })
        .collect()
}

/// Waits until no process of these workers runs.
pub(crate) fn assert_nothing_left(data: &Path, but: usize) {
    // Every worker's HOME is its private folder; one idle worker may be waiting for the next job.
    let start = Instant::now();
    loop {
        let folders: Vec<_> = fs::read_dir(data.join("workers"))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        let left: Vec<String> = folders
            .iter()
            .map(|folder| alive(&format!("HOME={}", folder.display())))
            .filter(|processes| processes.len() > 1)
            .flatten()
            .collect();
        if left.is_empty() && folders.len() <= but {
            return;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "still there: {left:?} {folders:?}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// Creates a token and writes it to a file.
pub(crate) fn token(server: &Server, name: &str, role: &str) -> PathBuf {
    token_in(server, name, role, &[])
}

/// The same, with further options such as `--database`.
pub(crate) fn token_in(server: &Server, name: &str, role: &str, flags: &[&str]) -> PathBuf {
    let created = hipward()
        .args(["token", "add", name, "--role", role, "--data"])
        .arg(server.data.path())
        .args(flags)
        .output()
        .expect("runs");
    assert!(created.status.success(), "{created:?}");
    let file = server.data.path().join(name);
    fs::write(&file, created.stdout).expect("is ours");
    file
}

/// Sends a request with the token in a file. Returns the status, and the body or the code of the problem.
pub(crate) fn send(
    server: &Server,
    method: &str,
    path: &str,
    token: &Path,
    body: &Value,
) -> (u16, String) {
    let token = fs::read_to_string(token).expect("readable");
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", token.trim()))
        .body(body.to_string())
        .expect("a request");
    let mut answer = agent().run(request).expect("answers");
    let body = answer.body_mut().read_to_string().expect("a body");
    let status = answer.status().as_u16();
    let code = match status {
        400.. => problem(&body).code,
        _ => body,
    };
    (status, code)
}
