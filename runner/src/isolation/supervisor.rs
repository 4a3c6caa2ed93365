//! `hipward sandbox-exec`: starts one worker behind its fence and sees to its end. A process of
//! its own, so that a worker never outlives its limits even when the server is killed, and so that
//! everything the worker starts, daemons included, can be found and killed.
//!
//! Single-threaded on purpose: the code between fork and exec relies on it.

use super::{
    child,
    control::{CONTROL_FD, Ending, Limit, Order, Report},
    footprint,
    held::{Held, held},
    plan::Plan,
    process_calls::Listener,
    process_tree::{descendants, is_memory_over, kill_descendants},
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
/// How often the supervisor reports to the server that it is alive.
const BEAT_EVERY: Duration = Duration::from_secs(1);
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

    let (worker, listener, _folder) = match start(&plan) {
        Ok(started) => started,
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
    let mut pulse = Pulse {
        control: &control,
        next: Instant::now(),
    };
    let ending = Watch {
        plan: &plan,
        worker,
        listener,
        deadline: None,
        next_look: Instant::now(),
        next_measure: Instant::now() + MEASURE_EVERY,
        held: Held::default(),
        half_an_order: String::new(),
    }
    .until_it_ends(&mut orders, &deaths, &mut pulse);
    // The server may be gone; then there is nobody to tell, and all the same everything to kill.
    let _ = send(&control, &Report::Ended(ending));
    kill_descendants(|| pulse.beat());
    footprint::remove(&plan);
    Ok(())
}

/// Starts the worker: its process, the calls that it asks us about where the kernel can ask, and its folder of /proc.
/// A rule of Landlock's is on that folder, which the kernel could otherwise forget and make anew, without the rule.
fn start(plan: &Plan) -> Result<(Pid, Option<Listener>, Option<File>), String> {
    let (mut command, handed_over) =
        child::command(plan, Pid::this()).map_err(|error| error.to_string())?;
    let worker = command.spawn().map_err(|error| error.to_string())?;
    let listener = sys::receive_descriptor(&handed_over).map_err(|error| error.to_string())?;
    let worker = Pid::from_raw(worker.id().cast_signed());
    // It may have ended already.
    let folder = File::open(format!("/proc/{worker}")).ok();
    Ok((worker, listener.map(Listener::new), folder))
}

fn send(mut control: &UnixStream, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// Tells the server each second that it is watched.
struct Pulse<'a> {
    control: &'a UnixStream,
    next: Instant,
}

impl Pulse<'_> {
    fn beat(&mut self) {
        let now = Instant::now();
        if now >= self.next {
            self.next = now + BEAT_EVERY;
            // The server may be gone, or stopped, and not read for long.
            let _ = send(self.control, &Report::Alive);
        }
    }
}

struct Watch<'a> {
    plan: &'a Plan,
    worker: Pid,
    listener: Option<Listener>,
    /// Set when the job begins.
    deadline: Option<Instant>,
    next_look: Instant,
    next_measure: Instant,
    /// As it was measured last.
    held: Held,
    /// What has arrived of the next order.
    half_an_order: String,
}

impl Watch<'_> {
    fn until_it_ends(
        &mut self,
        orders: &mut BufReader<UnixStream>,
        deaths: &SignalFd,
        pulse: &mut Pulse,
    ) -> Ending {
        loop {
            pulse.beat();
            let mut waiting_for = vec![
                PollFd::new(orders.get_ref().as_fd(), PollFlags::POLLIN),
                PollFd::new(deaths.as_fd(), PollFlags::POLLIN),
            ];
            if let Some(listener) = &self.listener {
                waiting_for.push(PollFd::new(listener.as_fd(), PollFlags::POLLIN));
            }
            let timeout = PollTimeout::try_from(WATCH_EVERY).unwrap_or(PollTimeout::ZERO);
            // A failed poll is a poll that said nothing: everything below is looked at anyway.
            let _ = poll(&mut waiting_for, timeout);
            while let Ok(Some(_)) = deaths.read_signal() {}
            if let Some(listener) = &self.listener {
                listener.answer();
            }
            let ending = self
                .follow_orders(orders)
                .or_else(|| self.reap())
                .or_else(|| self.over_limit(pulse).map(Ending::OverLimit));
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

    fn over_limit(&mut self, pulse: &mut Pulse) -> Option<Limit> {
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Limit::WallClock);
        }
        // What it asks us may come many times as often.
        if now < self.next_look {
            return None;
        }
        self.next_look = now + WATCH_EVERY;
        let limits = &self.plan.limits;
        // Each of these takes long where there are many processes, or large ones.
        let processes = descendants(Pid::this());
        pulse.beat();
        if processes.len() > limits.processes {
            return Some(Limit::Processes);
        }
        let measure = now >= self.next_measure;
        if measure {
            self.next_measure = now + MEASURE_EVERY;
            self.held = held(&processes, self.plan.identity.as_ref());
            pulse.beat();
        }
        if is_memory_over(limits.memory_bytes, &processes, self.held) {
            return Some(Limit::Memory);
        }
        if measure && footprint::is_over_limit(self.plan, self.held.disk) {
            return Some(Limit::Disk);
        }
        None
    }
}
