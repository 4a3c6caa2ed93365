//! `hipward sandbox-exec`: starts one worker in its sandbox, enforces its limits and kills it. A process of
//! its own, so that the limits are enforced even when the server is killed, and so that
//! everything the worker starts, daemons included, can be found and killed.
//!
//! Single-threaded, because the code between fork and exec relies on it.

use super::{
    bubblewrap, cleanup, disk_usage,
    job_cgroup::JobCgroup,
    pre_exec,
    process_filter::Listener,
    process_tree::{Interrupted, descendants, is_memory_over, kill_descendants},
    sandbox_spec::SandboxSpec,
    shared_memory::SharedMemory,
    supervisor_protocol::{CONTROL_FD, ExitReason, Limit, SupervisorCommand, SupervisorReport},
    syscalls,
    unnamed_usage::{UnnamedUsage, unnamed_usage},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl::{set_child_subreaper, set_dumpable},
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, dup2_stdin},
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

/// Interval of the checks of time, memory and processes.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of the heartbeats to the server.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// A worker whose cgroup's memory is full for this long is over its limit.
const FULL_FOR: Duration = Duration::from_secs(3);
/// Interval of the checks of disk usage, which take longer.
const DISK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the supervisor until all processes of its worker have ended.
pub(crate) fn supervise() -> ExitCode {
    match try_supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hipward sandbox-exec: {error}");
            ExitCode::FAILURE
        }
    }
}

fn try_supervise() -> io::Result<()> {
    let control = UnixStream::from(syscalls::take_inherited(CONTROL_FD).map_err(|_| {
        io::Error::other("this command is started by `hipward serve`, not by hand")
    })?);
    set_child_subreaper(true)?;
    set_dumpable(false)?;
    syscalls::raise_priority();

    let mut commands = BufReader::new(control.try_clone()?);
    let mut line = String::new();
    commands.read_line(&mut line)?;
    let Ok(SupervisorCommand::Run(spec)) = serde_json::from_str(&line) else {
        return Err(io::Error::other("the first command must be `Run`"));
    };

    let children = SigSet::from(Signal::SIGCHLD);
    children.thread_block()?;
    let child_signals =
        SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;

    let mut shared_memory = SharedMemory::new(&spec);
    let cgroup = spec.cgroup.as_ref();
    let cgroup = cgroup.map(|group| JobCgroup::create(group, &spec.limits));
    let cgroup = match cgroup.transpose() {
        Ok(cgroup) => cgroup,
        Err(error) => {
            let message = format!("its cgroup could not be created: {error}");
            return send(&control, &SupervisorReport::NotStarted { message });
        }
    };
    let (worker, listener, _folder) = match start(&spec, cgroup.as_ref()) {
        Ok(started) => started,
        Err(message) => {
            if let Some(cgroup) = cgroup {
                cgroup.remove();
            }
            return send(&control, &SupervisorReport::NotStarted { message });
        }
    };
    // Only the worker may have the pipe of its job open, so that writing to it fails once the worker has ended.
    dup2_stdin(File::open("/dev/null")?)?;
    // Fails if the server has ended, which the first read of a command detects.
    let started = SupervisorReport::Started {
        pid: worker.as_raw(),
    };
    let _ = send(&control, &started);

    control.set_nonblocking(true)?;
    let mut heartbeat = Heartbeat {
        control: &control,
        next: Instant::now(),
    };
    let exit_reason = Monitor {
        spec: &spec,
        worker,
        cgroup: cgroup.as_ref(),
        listener,
        deadline: None,
        next_check: Instant::now(),
        next_disk_check: Instant::now() + DISK_CHECK_INTERVAL,
        full_since: None,
        unnamed: UnnamedUsage::default(),
        shared_memory: &mut shared_memory,
        partial_command: String::new(),
    }
    .run(&mut commands, &child_signals, &mut heartbeat);
    // Fails if the server has ended. The processes are killed anyway.
    let _ = send(&control, &SupervisorReport::Ended(exit_reason));
    if let Some(cgroup) = &cgroup {
        cgroup.kill();
    }
    kill_descendants(|| heartbeat.beat());
    if let Some(cgroup) = &cgroup {
        cgroup.remove();
    }
    cleanup::remove(&spec);
    shared_memory.remove();
    Ok(())
}

/// Starts the worker. Returns its process, the listener of its seccomp filter where the kernel has one, and its folder in /proc.
/// A Landlock rule is attached to that folder. It must stay open, or the kernel could drop its inode and the rule with it.
fn start(
    spec: &SandboxSpec,
    cgroup: Option<&JobCgroup>,
) -> Result<(Pid, Option<Listener>, Option<File>), String> {
    if let Some(bubblewrap) = &spec.bubblewrap {
        let (worker, folder) = start_in_namespaces(bubblewrap, spec, cgroup)?;
        return Ok((worker, None, folder));
    }
    let (mut command, listener_socket) =
        pre_exec::command(spec, Pid::this(), cgroup).map_err(|error| error.to_string())?;
    let worker = command.spawn().map_err(|error| error.to_string())?;
    let listener =
        syscalls::receive_descriptor(&listener_socket).map_err(|error| error.to_string())?;
    let worker = Pid::from_raw(worker.id().cast_signed());
    // It may have ended already.
    let folder = File::open(format!("/proc/{worker}")).ok();
    Ok((worker, listener.map(Listener::new), folder))
}

/// The same with bubblewrap. The process is bubblewrap's, which ends with the worker.
fn start_in_namespaces(
    bubblewrap: &Path,
    spec: &SandboxSpec,
    cgroup: Option<&JobCgroup>,
) -> Result<(Pid, Option<File>), String> {
    let text = |error: io::Error| error.to_string();
    let (mut command, mut channels) =
        pre_exec::command_in_namespaces(bubblewrap, spec, Pid::this(), cgroup)
            .map_err(|error| error.to_string())?;
    let mut child = command.spawn().map_err(text)?;
    // Closes this process's copy of the stage's socket.
    drop(command);
    let mut line = serde_json::to_vec(spec).map_err(|error| error.to_string())?;
    line.push(b'\n');
    // Fails if bubblewrap has ended, which the next line finds.
    let _ = channels.stage.write_all(&line);
    let (folder, error) = syscalls::receive_until_closed(&channels.stage).map_err(text)?;
    if folder.is_some() && error.is_empty() {
        let worker = Pid::from_raw(child.id().cast_signed());
        return Ok((worker, folder.map(File::from)));
    }
    let _ = child.kill();
    kill_descendants(|| {});
    let reason = [error, channels.messages()]
        .into_iter()
        .find(|text| !text.is_empty());
    Err(reason.unwrap_or_else(|| "bubblewrap ended without a message".to_owned()))
}

fn send(mut control: &UnixStream, report: &SupervisorReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// Sends heartbeats to the server.
struct Heartbeat<'a> {
    control: &'a UnixStream,
    next: Instant,
}

impl Heartbeat<'_> {
    fn beat(&mut self) {
        let now = Instant::now();
        if now >= self.next {
            self.next = now + HEARTBEAT_INTERVAL;
            // Fails if the server has ended, or is stopped and does not read.
            let _ = send(self.control, &SupervisorReport::Alive);
        }
    }
}

struct Monitor<'a> {
    spec: &'a SandboxSpec,
    worker: Pid,
    cgroup: Option<&'a JobCgroup>,
    listener: Option<Listener>,
    /// Set when the job starts.
    deadline: Option<Instant>,
    next_check: Instant,
    next_disk_check: Instant,
    /// Since when the memory of its cgroup is full.
    full_since: Option<Instant>,
    /// The result of the last check.
    unnamed: UnnamedUsage,
    shared_memory: &'a mut SharedMemory,
    /// The received part of the next command.
    partial_command: String,
}

impl Monitor<'_> {
    fn run(
        &mut self,
        commands: &mut BufReader<UnixStream>,
        child_signals: &SignalFd,
        heartbeat: &mut Heartbeat,
    ) -> ExitReason {
        loop {
            heartbeat.beat();
            let mut waiting_for = vec![
                PollFd::new(commands.get_ref().as_fd(), PollFlags::POLLIN),
                PollFd::new(child_signals.as_fd(), PollFlags::POLLIN),
            ];
            if let Some(listener) = &self.listener {
                waiting_for.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
            }
            let timeout = PollTimeout::try_from(CHECK_INTERVAL).unwrap_or(PollTimeout::ZERO);
            // An error is ignored, because everything below is checked anyway.
            let _ = poll(&mut waiting_for, timeout);
            while let Ok(Some(_)) = child_signals.read_signal() {}
            if let Some(listener) = &self.listener {
                listener.respond_to_pending();
            }
            let exit_reason = self
                .read_commands(commands)
                .or_else(|| self.reap())
                .or_else(|| self.over_limit(heartbeat).map(ExitReason::OverLimit));
            if let Some(exit_reason) = exit_reason {
                return exit_reason;
            }
        }
    }

    fn read_commands(&mut self, commands: &mut BufReader<UnixStream>) -> Option<ExitReason> {
        loop {
            match commands.read_line(&mut self.partial_command) {
                Ok(0) => return Some(ExitReason::Killed),
                Ok(_) => match serde_json::from_str(&std::mem::take(&mut self.partial_command)) {
                    Ok(SupervisorCommand::Begin { wall_limit_ms }) => {
                        self.deadline = Some(Instant::now() + Duration::from_millis(wall_limit_ms));
                    }
                    Ok(SupervisorCommand::Kill | SupervisorCommand::Run(_)) | Err(_) => {
                        return Some(ExitReason::Killed);
                    }
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Some(ExitReason::Killed),
            }
        }
    }

    /// Waits for ended processes. Returns the reason once the worker itself has ended.
    fn reap(&self) -> Option<ExitReason> {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.worker => {
                    return Some(self.exited(code));
                }
                Ok(WaitStatus::Signaled(pid, ..))
                    if pid == self.worker
                        && self.cgroup.is_some_and(JobCgroup::is_out_of_memory) =>
                {
                    return Some(ExitReason::OverLimit(Limit::Memory));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.worker => {
                    return Some(ExitReason::Signalled {
                        signal: signal as i32,
                    });
                }
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// How the worker ended, from the exit status of its first process, which may be bubblewrap.
    fn exited(&self, code: i32) -> ExitReason {
        match code - bubblewrap::SIGNALLED {
            signal @ 1.. if self.spec.bubblewrap.is_some() => {
                if self.cgroup.is_some_and(JobCgroup::is_out_of_memory) {
                    ExitReason::OverLimit(Limit::Memory)
                } else {
                    ExitReason::Signalled { signal }
                }
            }
            _ => ExitReason::Exited { code },
        }
    }

    fn over_limit(&mut self, heartbeat: &mut Heartbeat) -> Option<Limit> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Limit::WallClock);
        }
        // Notifications may arrive much more often.
        if now < self.next_check {
            return None;
        }
        self.next_check = now + CHECK_INTERVAL;
        let processes = descendants(Pid::this());
        heartbeat.beat();
        if processes.len() > self.most_processes() {
            return Some(Limit::Processes);
        }
        self.measure(now, &processes, heartbeat)
            .unwrap_or_else(|Interrupted| {
                // The next check finds the limit.
                self.next_check = now;
                None
            })
    }

    /// The most processes that may exist below this one.
    fn most_processes(&self) -> usize {
        let own = self.spec.bubblewrap.as_ref();
        self.spec.limits.processes + own.map_or(0, |_| bubblewrap::PROCESSES)
    }

    /// Compares memory and disk with their limits, which takes long with many or large processes. They are counted again meanwhile.
    fn measure(
        &mut self,
        now: Instant,
        processes: &[Pid],
        heartbeat: &mut Heartbeat,
    ) -> Result<Option<Limit>, Interrupted> {
        let (most, deadline) = (self.most_processes(), self.deadline);
        let mut next_count = now + CHECK_INTERVAL;
        let mut proceed = || {
            heartbeat.beat();
            let now = Instant::now();
            if now < next_count {
                return Ok(());
            }
            let is_late = deadline.is_some_and(|deadline| now >= deadline);
            if is_late || descendants(Pid::this()).len() > most {
                return Err(Interrupted);
            }
            next_count = Instant::now() + CHECK_INTERVAL;
            Ok(())
        };
        let spec = self.spec;
        let measure_disk = now >= self.next_disk_check;
        if measure_disk {
            let identity = spec.identity.as_ref();
            self.unnamed = unnamed_usage(processes, identity, &mut proceed)?;
            self.shared_memory.observe(processes, &mut proceed)?;
            self.next_disk_check = now + DISK_CHECK_INTERVAL;
        }
        let is_limited = self.cgroup.is_some_and(JobCgroup::limits_memory);
        if !is_limited
            && is_memory_over(
                spec.limits.memory_bytes,
                processes,
                self.unnamed,
                &mut proceed,
            )?
        {
            return Ok(Some(Limit::Memory));
        }
        if is_limited && !self.cgroup.is_some_and(JobCgroup::is_full) {
            self.full_since = None;
        } else if is_limited && now - *self.full_since.get_or_insert(now) >= FULL_FOR {
            return Ok(Some(Limit::Memory));
        }
        let unnamed = self.unnamed.disk + self.shared_memory.bytes();
        let over = measure_disk.then(|| disk_usage::exceeded(spec, unnamed));
        Ok(over.flatten())
    }
}
