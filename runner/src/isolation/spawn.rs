//! The server's side of a supervisor: starts it, sends it commands, reads its reports, and ensures that it and all processes
//! below it end.

use super::{
    orphans::SupervisorHandle,
    process_tree::is_stopped,
    sandbox_spec::SandboxSpec,
    supervisor_protocol::{CONTROL_FD, EVENTS_FD, SupervisorCommand, SupervisorReport},
    syscalls,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    io,
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream as StdUnixStream, process::CommandExt},
    },
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy, sink},
    net::{
        UnixStream,
        unix::{
            OwnedReadHalf, OwnedWriteHalf,
            pipe::{Receiver, pipe},
        },
    },
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{mpsc, watch},
    time::{Instant, timeout},
};

/// A supervisor sends a heartbeat each second. After this long without one it is stopped or hangs, and is killed,
/// because nothing else would end its job.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);
/// The same for a stopped supervisor (SIGSTOP) after [`Sandboxed::kill`], which has continued it once.
const STOPPED_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the age of the last report is checked.
const HEARTBEAT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A worker in its sandbox.
#[derive(Debug)]
pub(crate) struct Sandboxed {
    /// Its standard input.
    pub(crate) stdin: Option<ChildStdin>,
    pipes: Option<Pipes>,
    commands: OwnedWriteHalf,
    /// True once all of its processes have ended.
    ended: watch::Receiver<bool>,
    /// The supervisor's process id.
    supervisor: Option<u32>,
    kill_requested: watch::Sender<bool>,
}

/// The pipes of a worker. They close when all of its processes have ended.
#[derive(Debug)]
pub(crate) struct Pipes {
    /// Its standard output.
    pub(crate) stdout: ChildStdout,
    /// Its standard error.
    pub(crate) stderr: ChildStderr,
    /// Its private pipe for protocol lines.
    pub(crate) events: Receiver,
    /// The reports of its supervisor.
    pub(crate) reports: SupervisorReports,
}

impl Pipes {
    /// The pipe for protocol lines. The output is discarded, because a full pipe would block the worker.
    pub(crate) fn without_output(self) -> Receiver {
        let (mut stdout, mut stderr) = (self.stdout, self.stderr);
        tokio::spawn(async move { copy(&mut stdout, &mut sink()).await });
        tokio::spawn(async move { copy(&mut stderr, &mut sink()).await });
        self.events
    }
}

/// A supervisor's reports.
#[derive(Debug)]
pub(crate) struct SupervisorReports(mpsc::UnboundedReceiver<io::Result<SupervisorReport>>);

/// Starts a supervisor and its worker.
pub(crate) async fn spawn(spec: SandboxSpec) -> io::Result<Sandboxed> {
    let (control, supervisor_control) = StdUnixStream::pair()?;
    control.set_nonblocking(true)?;
    let (events_out, events) = pipe()?;
    let events_out = events_out.into_blocking_fd()?;

    // This path leads to the running program even if its file was replaced.
    let mut command = std::process::Command::new("/proc/self/exe");
    command
        .arg0("hipward")
        .arg("sandbox-exec")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    syscalls::start_new_session(&mut command);
    syscalls::pass_descriptors(
        &mut command,
        (events_out, EVENTS_FD),
        (OwnedFd::from(supervisor_control), CONTROL_FD),
    )?;
    let mut command = Command::from(command);
    let (mut supervisor, handle) = SupervisorHandle::start(&spec, || command.spawn())?;

    let id = supervisor.id();
    let missing = || io::Error::other("a pipe of the supervisor is missing");
    let (reports, commands) = UnixStream::from_std(control)?.into_split();
    let stdin = supervisor.stdin.take().ok_or_else(missing)?;
    let stdout = supervisor.stdout.take().ok_or_else(missing)?;
    let stderr = supervisor.stderr.take().ok_or_else(missing)?;
    let (sender, reported) = mpsc::unbounded_channel();
    let (all_ended, ended) = watch::channel(false);
    let (kill_requested, is_kill_requested) = watch::channel(false);
    tokio::spawn(async move {
        read_reports(&mut supervisor, reports, &sender, &is_kill_requested).await;
        // Only a supervisor that was not killed has killed all the processes below it.
        let status = supervisor.wait().await;
        handle
            .ended(status.is_ok_and(|status| status.success()))
            .await;
        all_ended.send_replace(true);
    });
    let mut sandboxed = Sandboxed {
        stdin: Some(stdin),
        pipes: None,
        commands,
        ended,
        supervisor: id,
        kill_requested,
    };
    let mut reports = SupervisorReports(reported);
    sandboxed
        .send(&SupervisorCommand::Run(Box::new(spec)))
        .await?;
    let first = reports.next().await?;
    sandboxed.pipes = Some(Pipes {
        stdout,
        stderr,
        events,
        reports,
    });
    match first {
        SupervisorReport::Started { .. } => Ok(sandboxed),
        SupervisorReport::NotStarted { message } => Err(io::Error::other(message)),
        SupervisorReport::Ended(exit_reason) => Err(io::Error::other(format!(
            "the worker ended immediately: {exit_reason:?}"
        ))),
        SupervisorReport::Alive => Err(io::Error::other(
            "its supervisor did not report that it runs",
        )),
    }
}

/// Forwards reports until the supervisor closes its end. Kills a supervisor whose heartbeats stop.
async fn read_reports(
    supervisor: &mut Child,
    reports: OwnedReadHalf,
    sender: &mpsc::UnboundedSender<io::Result<SupervisorReport>>,
    kill_requested: &watch::Receiver<bool>,
) {
    let mut lines = BufReader::new(reports).lines();
    let mut last_report = Instant::now();
    loop {
        let Ok(line) = timeout(HEARTBEAT_CHECK_INTERVAL, lines.next_line()).await else {
            let limit = match supervisor.id() {
                Some(id) if *kill_requested.borrow() && is_stopped(pid(id)) => STOPPED_TIMEOUT,
                _ => HEARTBEAT_TIMEOUT,
            };
            if last_report.elapsed() < limit {
                continue;
            }
            let seconds = limit.as_secs();
            tracing::warn!("killing a supervisor that sent no heartbeat for {seconds} seconds");
            let _ = sender.send(Err(io::Error::other(format!(
                "its supervisor sent no heartbeat for {seconds} seconds and was killed"
            ))));
            // Fails if it has ended since. Its processes are killed once it was waited for.
            let _ = supervisor.start_kill();
            return;
        };
        last_report = Instant::now();
        let report = match next_report(line) {
            Ok(Some(SupervisorReport::Alive)) => continue,
            Ok(Some(report)) => Ok(report),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        // The supervisor is watched even without a receiver.
        let _ = sender.send(report);
    }
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed())
}

fn next_report(line: io::Result<Option<String>>) -> io::Result<Option<SupervisorReport>> {
    line?
        .map(|line| serde_json::from_str(&line).map_err(io::Error::other))
        .transpose()
}

impl Sandboxed {
    /// Starts the time limit of the job.
    pub(crate) async fn start_clock(&mut self, wall_limit: Duration) -> io::Result<()> {
        let wall_limit_ms = u64::try_from(wall_limit.as_millis()).unwrap_or(u64::MAX);
        self.send(&SupervisorCommand::Begin { wall_limit_ms }).await
    }

    /// Requests the end of all its processes. Continues a stopped supervisor first, which would not read the command.
    pub(crate) async fn kill(&mut self) {
        self.kill_requested.send_replace(true);
        if let Some(id) = self.supervisor_id() {
            let _ = kill(pid(id), Signal::SIGCONT);
        }
        // An error means that the supervisor has ended or is ending.
        let _ = self.send(&SupervisorCommand::Kill).await;
    }

    /// Its pipes. Can be taken once.
    pub(crate) fn take_pipes(&mut self) -> io::Result<Pipes> {
        let pipes = self.pipes.take();
        pipes.ok_or_else(|| io::Error::other("the pipes are taken already"))
    }

    /// Whether it is known to run.
    pub(crate) fn is_running(&mut self) -> bool {
        !*self.ended.borrow()
    }

    /// The supervisor's process id, until it was waited for.
    pub(crate) fn supervisor_id(&self) -> Option<u32> {
        let ended = *self.ended.borrow();
        self.supervisor.filter(|_| !ended)
    }

    /// Waits until the supervisor and all processes of the worker have ended.
    pub(crate) async fn wait(&mut self) -> io::Result<()> {
        let ended = self.ended.wait_for(|&ended| ended).await;
        ended.map(drop).map_err(io::Error::other)
    }

    async fn send(&mut self, command: &SupervisorCommand) -> io::Result<()> {
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        self.commands.write_all(&line).await
    }
}

impl SupervisorReports {
    /// The next report.
    pub(crate) async fn next(&mut self) -> io::Result<SupervisorReport> {
        let ended = || Err(io::Error::other("its supervisor ended unexpectedly"));
        self.0.recv().await.unwrap_or_else(ended)
    }
}
