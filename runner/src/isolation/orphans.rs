//! What is left of a job whose supervisor was killed. Its processes then have this server as their parent, whatever they
//! did to get away, because it is their next subreaper; so it can find and kill them.

use super::process_tree::{Status, children, kill_below};
use nix::{
    sys::{
        prctl::set_child_subreaper,
        signal::{Signal, kill},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{Pid, getuid},
};
use std::{
    collections::HashSet,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use tokio::process::Child;

/// The supervisors of this process that run: no orphans, though they are its children too.
static RUNNING: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

/// A supervisor that was started here.
#[derive(Debug)]
pub(super) struct Supervisor {
    pid: Pid,
    /// The user of its worker.
    user: u32,
    /// When it started; no process of its job is older.
    since: u64,
}

impl Supervisor {
    /// Starts one. `user` is its worker's, where it has another than we.
    pub(super) fn start(
        user: Option<u32>,
        spawn: impl FnOnce() -> io::Result<Child>,
    ) -> io::Result<(Child, Self)> {
        set_child_subreaper(true)?;
        // Held until it is in the list, so that it is not taken for an orphan.
        let mut running = running();
        let supervisor = spawn()?;
        let pid = supervisor.id().map(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.ok_or_else(|| io::Error::other("the supervisor ended at once"))?;
        running.get_or_insert_default().insert(pid);
        let started = Self {
            pid,
            user: user.unwrap_or_else(|| getuid().as_raw()),
            since: Status::of(pid).map_or(0, |status| status.started),
        };
        Ok((supervisor, started))
    }

    /// It has ended, and waited for. Unless it did so in good order, this kills all that it has left behind.
    pub(super) async fn ended(self, in_good_order: bool) {
        running().get_or_insert_default().remove(&self.pid);
        if in_good_order {
            return;
        }
        // Blocking, because the kernel takes its time with large processes.
        let killed = tokio::task::spawn_blocking(move || self.kill_orphans()).await;
        if let Err(error) = killed {
            tracing::error!("the processes of a killed supervisor may still run: {error}");
        }
    }

    fn kill_orphans(&self) {
        loop {
            let orphans = {
                let running = running();
                let is_running = |pid| running.as_ref().is_some_and(|all| all.contains(&pid));
                let mut orphans = children(Pid::this());
                orphans.retain(|&pid| !is_running(pid) && self.is_of_its_job(pid));
                orphans
            };
            if orphans.is_empty() {
                return;
            }
            for orphan in orphans {
                kill_below(orphan);
                // It may be gone already.
                let _ = kill(orphan, Signal::SIGKILL);
                let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Other children than a job's come to a server that is the first process of a container, or that a shell became.
    /// A job's processes are younger than its supervisor, of its user, and can gain no privileges, which none can undo.
    fn is_of_its_job(&self, pid: Pid) -> bool {
        Status::of(pid).is_some_and(|status| {
            status.started >= self.since && status.user == self.user && status.no_new_privileges
        })
    }
}

fn running() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
