//! Kills the processes of a job whose supervisor was killed. They then become children of this server, because
//! it is the next subreaper, so it finds them even if they have detached.

use super::{
    job_cgroup,
    process_tree::{Status, children, kill_below},
    sandbox_spec::SandboxSpec,
};
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
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use tokio::process::Child;

/// The running supervisors of this process, which are its children but no orphans.
static RUNNING: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

/// A running supervisor.
#[derive(Debug)]
pub(super) struct SupervisorHandle {
    pid: Pid,
    /// The users of its worker's processes. bubblewrap's have the server's user.
    users: Vec<u32>,
    /// Its start time. All processes of its job are younger.
    since: u64,
    /// The cgroup of its worker.
    cgroup: Option<PathBuf>,
}

impl SupervisorHandle {
    /// Starts a supervisor for this worker.
    pub(super) fn start(
        spec: &SandboxSpec,
        spawn: impl FnOnce() -> io::Result<Child>,
    ) -> io::Result<(Child, Self)> {
        set_child_subreaper(true)?;
        // Locked until the supervisor is in the list, so that it is not mistaken for an orphan.
        let mut running = running();
        let supervisor = spawn()?;
        let pid = supervisor.id().map(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.ok_or_else(|| io::Error::other("the supervisor ended immediately"))?;
        running.get_or_insert_default().insert(pid);
        let own = getuid().as_raw();
        let user = spec.identity.as_ref().map_or(own, |worker| worker.uid);
        let mut users = vec![user];
        users.extend(spec.bubblewrap.is_some().then_some(own));
        let started = Self {
            pid,
            users,
            since: Status::of(pid).map_or(0, |status| status.started),
            cgroup: spec.cgroup.as_ref().map(|group| group.folder(pid)),
        };
        Ok((supervisor, started))
    }

    /// Call it when the supervisor has ended and was waited for. Kills the processes that it has left, unless it exited successfully.
    pub(super) async fn ended(self, successfully: bool) {
        running().get_or_insert_default().remove(&self.pid);
        if successfully {
            return;
        }
        // Blocks, because the kernel takes long to end large processes.
        let killed = tokio::task::spawn_blocking(move || self.kill_orphans()).await;
        if let Err(error) = killed {
            tracing::error!("the processes of a killed supervisor may still run: {error}");
        }
    }

    fn kill_orphans(&self) {
        if let Some(cgroup) = &self.cgroup {
            job_cgroup::kill(cgroup);
        }
        self.kill_children();
        if let Some(cgroup) = &self.cgroup {
            job_cgroup::remove(cgroup);
        }
    }

    fn kill_children(&self) {
        loop {
            let orphans = {
                let running = running();
                let is_running = |pid| running.as_ref().is_some_and(|all| all.contains(&pid));
                let mut orphans = children(Pid::this());
                orphans.retain(|&pid| !is_running(pid) && self.is_from_job(pid));
                orphans
            };
            if orphans.is_empty() {
                return;
            }
            for orphan in orphans {
                kill_below(orphan);
                // It may have ended already.
                let _ = kill(orphan, Signal::SIGKILL);
                let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether an orphan is a process of this supervisor's job. A server that is the first process of a container also gets other orphans.
    /// A job's processes are younger than its supervisor, belong to one of its users, and have `no_new_privs`, which cannot be unset.
    fn is_from_job(&self, pid: Pid) -> bool {
        Status::of(pid).is_some_and(|status| {
            status.started >= self.since
                && self.users.contains(&status.user)
                && status.no_new_privileges
        })
    }
}

fn running() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
