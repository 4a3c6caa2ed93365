//! The server's side of a supervisor: starts it, gives it orders, reads its reports, and sees that it and all that it
//! ran are gone at the end.

use super::{
    control::{CONTROL_FD, EVENTS_FD, Order, Report},
    orphans::Supervisor,
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
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{
            OwnedReadHalf, OwnedWriteHalf,
            pipe::{Receiver, pipe},
        },
    },
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{mpsc, watch},
    time::timeout,
};

/// A supervisor says each second that it is there. One that says nothing for this long is killed: it is stopped, or
/// hangs, and nothing else would end its job.
const SILENCE: Duration = Duration::from_secs(30);

/// A worker behind its fence.
#[derive(Debug)]
pub(crate) struct Sandboxed {
    /// Its standard input.
    pub(crate) stdin: Option<ChildStdin>,
    pipes: Option<Pipes>,
    orders: OwnedWriteHalf,
    /// True once nothing of it is left.
    gone: watch::Receiver<bool>,
    /// The supervisor's process id.
    supervisor: Option<u32>,
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
pub(crate) struct Reports(mpsc::UnboundedReceiver<io::Result<Report>>);

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
    let user = plan.identity.as_ref().map(|identity| identity.uid);
    let mut command = Command::from(command);
    let (mut supervisor, noted) = Supervisor::start(user, || command.spawn())?;

    let id = supervisor.id();
    let missing = || io::Error::other("a pipe of the supervisor is missing");
    let (reports, orders) = UnixStream::from_std(ours)?.into_split();
    let stdin = supervisor.stdin.take().ok_or_else(missing)?;
    let stdout = supervisor.stdout.take().ok_or_else(missing)?;
    let stderr = supervisor.stderr.take().ok_or_else(missing)?;
    let (tell, reported) = mpsc::unbounded_channel();
    let (all_gone, gone) = watch::channel(false);
    tokio::spawn(async move {
        read_reports(&mut supervisor, reports, &tell).await;
        // Only a supervisor that was not killed has seen to the end of what it ran.
        let ended = supervisor.wait().await;
        noted
            .ended(ended.is_ok_and(|status| status.success()))
            .await;
        all_gone.send_replace(true);
    });
    let mut sandboxed = Sandboxed {
        stdin: Some(stdin),
        pipes: None,
        orders,
        gone,
        supervisor: id,
    };
    let mut reports = Reports(reported);
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
        Report::Alive => Err(io::Error::other("its supervisor did not say that it runs")),
    }
}

/// Passes reports on until the supervisor has closed its end, or was killed because it says nothing any more.
async fn read_reports(
    supervisor: &mut Child,
    reports: OwnedReadHalf,
    tell: &mpsc::UnboundedSender<io::Result<Report>>,
) {
    let mut lines = BufReader::new(reports).lines();
    loop {
        let Ok(line) = timeout(SILENCE, lines.next_line()).await else {
            let seconds = SILENCE.as_secs();
            tracing::warn!("a supervisor did not answer for {seconds} seconds and is killed");
            let _ = tell.send(Err(io::Error::other(format!(
                "its supervisor did not answer for {seconds} seconds and was killed"
            ))));
            // It may have ended by now.
            let _ = supervisor.start_kill();
            return;
        };
        let report = match next_report(line) {
            Ok(Some(Report::Alive)) => continue,
            Ok(Some(report)) => Ok(report),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        // The supervisor is watched even when no receiver is left.
        let _ = tell.send(report);
    }
}

fn next_report(line: io::Result<Option<String>>) -> io::Result<Option<Report>> {
    line?
        .map(|line| serde_json::from_str(&line).map_err(io::Error::other))
        .transpose()
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
        !*self.gone.borrow()
    }

    /// The supervisor's process id, until it was waited for.
    pub(crate) fn supervisor_id(&self) -> Option<u32> {
        let gone = *self.gone.borrow();
        self.supervisor.filter(|_| !gone)
    }

    /// Waits until the supervisor, and so everything it ran, is gone.
    pub(crate) async fn gone(&mut self) -> io::Result<()> {
        let gone = self.gone.wait_for(|&gone| gone).await;
        gone.map(drop).map_err(io::Error::other)
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
        let died = || Err(io::Error::other("its supervisor died"));
        self.0.recv().await.unwrap_or_else(died)
    }
}
