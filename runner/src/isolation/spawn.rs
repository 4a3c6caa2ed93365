//! The server's side of a supervisor: starts it, gives it orders, reads its reports.

use super::{
    control::{CONTROL_FD, EVENTS_FD, Order, Report},
    plan::Plan,
    sys,
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
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{
            OwnedReadHalf, OwnedWriteHalf,
            pipe::{Receiver, pipe},
        },
    },
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
};

/// A worker behind its fence.
#[derive(Debug)]
pub(crate) struct Sandboxed {
    /// Its standard input.
    pub(crate) stdin: Option<ChildStdin>,
    pipes: Option<Pipes>,
    orders: OwnedWriteHalf,
    supervisor: Child,
}

/// All that is to be read from it. The pipes close when no process of it is left.
#[derive(Debug)]
pub(crate) struct Pipes {
    /// Its standard output.
    pub(crate) stdout: ChildStdout,
    /// Its standard error.
    pub(crate) stderr: ChildStderr,
    /// Its private pipe.
    pub(crate) events: Receiver,
    /// What the supervisor says about it.
    pub(crate) reports: Reports,
}

/// A supervisor's reports.
#[derive(Debug)]
pub(crate) struct Reports(Lines<BufReader<OwnedReadHalf>>);

/// Starts a supervisor and has it start the plan.
pub(crate) async fn spawn(plan: Plan) -> io::Result<Sandboxed> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let (events_out, events) = pipe()?;
    let events_out = events_out.into_blocking_fd()?;

    // By this name the kernel finds our own program even when its file was replaced meanwhile.
    let mut command = std::process::Command::new("/proc/self/exe");
    command
        .arg0("hipward")
        .arg("sandbox-exec")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    sys::in_its_own_session(&mut command);
    sys::pass_descriptors(
        &mut command,
        (events_out, EVENTS_FD),
        (OwnedFd::from(theirs), CONTROL_FD),
    )?;
    let mut supervisor = Command::from(command).spawn()?;

    let missing = || io::Error::other("a pipe of the supervisor is missing");
    let (reports, orders) = UnixStream::from_std(ours)?.into_split();
    let mut reports = Reports(BufReader::new(reports).lines());
    let stdout = supervisor.stdout.take().ok_or_else(missing)?;
    let stderr = supervisor.stderr.take().ok_or_else(missing)?;
    let mut sandboxed = Sandboxed {
        stdin: Some(supervisor.stdin.take().ok_or_else(missing)?),
        pipes: None,
        orders,
        supervisor,
    };
    sandboxed.order(&Order::Run(Box::new(plan))).await?;
    let first = reports.next().await?;
    sandboxed.pipes = Some(Pipes {
        stdout,
        stderr,
        events,
        reports,
    });
    match first {
        Report::Started { .. } => Ok(sandboxed),
        Report::NotStarted { message } => Err(io::Error::other(message)),
        Report::Ended(ending) => Err(io::Error::other(format!("ended at once: {ending:?}"))),
    }
}

impl Sandboxed {
    /// Starts the job's clock.
    pub(crate) async fn begin(&mut self, wall_limit: Duration) -> io::Result<()> {
        let wall_limit_ms = u64::try_from(wall_limit.as_millis()).unwrap_or(u64::MAX);
        self.order(&Order::Begin { wall_limit_ms }).await
    }

    /// Has everything killed. An error means that it is dead or dying already.
    pub(crate) async fn kill(&mut self) {
        let _ = self.order(&Order::Kill).await;
    }

    /// Its pipes; once.
    pub(crate) fn take_pipes(&mut self) -> io::Result<Pipes> {
        let pipes = self.pipes.take();
        pipes.ok_or_else(|| io::Error::other("the pipes are taken already"))
    }

    /// Whether it still runs, as far as we know.
    pub(crate) fn is_there(&mut self) -> bool {
        matches!(self.supervisor.try_wait(), Ok(None))
    }

    /// The supervisor's process id, until it was waited for.
    pub(crate) fn supervisor_id(&self) -> Option<u32> {
        self.supervisor.id()
    }

    /// Waits until the supervisor, and so everything it ran, is gone.
    pub(crate) async fn gone(&mut self) -> io::Result<()> {
        self.supervisor.wait().await.map(drop)
    }

    async fn order(&mut self, order: &Order) -> io::Result<()> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.orders.write_all(&line).await
    }
}

impl Reports {
    /// The next report.
    pub(crate) async fn next(&mut self) -> io::Result<Report> {
        match self.0.next_line().await? {
            Some(line) => serde_json::from_str(&line).map_err(io::Error::other),
            None => Err(io::Error::other("its supervisor died")),
        }
    }
}
