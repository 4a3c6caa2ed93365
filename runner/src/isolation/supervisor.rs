//! `hipward sandbox-exec`: starts one worker behind its fence and sees to its end. A process of
//! its own, so that a worker never outlives its limits even when the server is killed, and so that
//! everything the worker starts, daemons included, can be found and killed.
//!
//! Single-threaded on purpose: the code between fork and exec relies on it.

use super::{
    child,
    control::{CONTROL_FD, Ending, Limit, Order, Report},
    footprint,
    plan::Plan,
    process_tree::{descendants, kill_descendants, memory_over},
    sys,
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
    process::ExitCode,
    time::{Duration, Instant},
};

/// How often limits are looked at.
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// How often files are measured, which takes longer.
const MEASURE_EVERY: Duration = Duration::from_secs(1);

/// Runs the supervisor until its worker is gone.
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
    let control = UnixStream::from(sys::inherited(CONTROL_FD).map_err(|_| {
        io::Error::other("this command is started by `hipward serve`, not by hand")
    })?);
    set_child_subreaper(true)?;
    set_dumpable(false)?;
    sys::raise_priority();

    let mut orders = BufReader::new(control.try_clone()?);
    let mut line = String::new();
    orders.read_line(&mut line)?;
    let Ok(Order::Run(plan)) = serde_json::from_str(&line) else {
        return Err(io::Error::other("the first order must say what to run"));
    };

    let children = SigSet::from(Signal::SIGCHLD);
    children.thread_block()?;
    let deaths = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;

    let started = child::command(&plan, Pid::this())
        .map_err(|error| error.to_string())
        .and_then(|mut command| command.spawn().map_err(|error| error.to_string()));
    let worker = match started {
        Ok(worker) => Pid::from_raw(worker.id().cast_signed()),
        Err(message) => return send(&control, &Report::NotStarted { message }),
    };
    // The worker alone reads its job: without it, whoever hands the job over hears that nobody does.
    dup2_stdin(File::open("/dev/null")?)?;
    // The server may be gone already; the first look at its orders will tell.
    let started = Report::Started {
        pid: worker.as_raw(),
    };
    let _ = send(&control, &started);

    control.set_nonblocking(true)?;
    let ending = Watch {
        plan: &plan,
        worker,
        deadline: None,
        next_measure: Instant::now() + MEASURE_EVERY,
        half_an_order: String::new(),
    }
    .until_it_ends(&mut orders, &deaths);
    // The server may be gone; then there is nobody to tell, and all the same everything to kill.
    let _ = send(&control, &Report::Ended(ending));
    kill_descendants();
    footprint::remove(&plan);
    Ok(())
}

fn send(mut control: &UnixStream, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    control.write_all(&line)
}

struct Watch<'a> {
    plan: &'a Plan,
    worker: Pid,
    /// Set when the job begins.
    deadline: Option<Instant>,
    next_measure: Instant,
    /// What has arrived of the next order.
    half_an_order: String,
}

impl Watch<'_> {
    fn until_it_ends(&mut self, orders: &mut BufReader<UnixStream>, deaths: &SignalFd) -> Ending {
        loop {
            let mut waiting_for = [
                PollFd::new(orders.get_ref().as_fd(), PollFlags::POLLIN),
                PollFd::new(deaths.as_fd(), PollFlags::POLLIN),
            ];
            let timeout = PollTimeout::try_from(WATCH_EVERY).unwrap_or(PollTimeout::ZERO);
            // A failed poll is a poll that said nothing: everything below is looked at anyway.
            let _ = poll(&mut waiting_for, timeout);
            while let Ok(Some(_)) = deaths.read_signal() {}
            let ending = self
                .follow_orders(orders)
                .or_else(|| self.reap())
                .or_else(|| self.over_limit().map(Ending::OverLimit));
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    fn follow_orders(&mut self, orders: &mut BufReader<UnixStream>) -> Option<Ending> {
        loop {
            match orders.read_line(&mut self.half_an_order) {
                Ok(0) => return Some(Ending::Killed),
                Ok(_) => match serde_json::from_str(&std::mem::take(&mut self.half_an_order)) {
                    Ok(Order::Begin { wall_limit_ms }) => {
                        self.deadline = Some(Instant::now() + Duration::from_millis(wall_limit_ms));
                    }
                    Ok(Order::Kill | Order::Run(_)) | Err(_) => return Some(Ending::Killed),
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Some(Ending::Killed),
            }
        }
    }

    /// Collects dead processes; the worker's own death is the end.
    fn reap(&self) -> Option<Ending> {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.worker => {
                    return Some(Ending::Exited { code });
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.worker => {
                    return Some(Ending::Signalled {
                        signal: signal as i32,
                    });
                }
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return None,
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn over_limit(&mut self) -> Option<Limit> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Limit::WallClock);
        }
        let limits = &self.plan.limits;
        let processes = descendants(Pid::this());
        if processes.len() > limits.processes {
            return Some(Limit::Processes);
        }
        if memory_over(limits.memory_bytes, &processes).is_some() {
            return Some(Limit::Memory);
        }
        if now >= self.next_measure {
            self.next_measure = now + MEASURE_EVERY;
            if footprint::is_over_limit(self.plan) {
                return Some(Limit::Disk);
            }
        }
        None
    }
}
