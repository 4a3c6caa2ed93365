//! The set-up of a worker between fork and exec: applies the parts of its sandbox in
//! the one order that works. If any part fails, the worker does not start.

use super::{
    bubblewrap::{self, Channels},
    job_cgroup::JobCgroup,
    landlock,
    sandbox_spec::SandboxSpec,
    seccomp,
    stage::worker_command,
    supervisor_protocol::EVENTS_FD,
    syscalls,
};
use ::landlock::RulesetCreated;
use nix::{
    sys::{
        prctl::{set_no_new_privs, set_pdeathsig},
        signal::{SigSet, Signal},
        stat::{Mode, umask},
    },
    unistd::{Pid, getppid, setsid},
};
use seccompiler::BpfProgram;
use std::{
    io::{self, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::Command,
};

/// Why the sandbox could not be prepared.
#[derive(Debug, thiserror::Error)]
pub(super) enum SandboxError {
    /// Landlock's rules could not be built.
    #[error("the Landlock rules could not be built: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    /// The seccomp filter could not be built.
    #[error("the seccomp filter could not be built: {0}")]
    Seccomp(#[from] seccompiler::BackendError),
    /// The socket for the filter's listener could not be created.
    #[error("no socket could be created: {0}")]
    Socket(io::Error),
    /// The worker's cgroup could not be opened.
    #[error("the cgroup could not be opened: {0}")]
    Cgroup(io::Error),
    /// What bubblewrap needs could not be opened.
    #[error("bubblewrap cannot be started: {0}")]
    Bubblewrap(io::Error),
}

/// The restrictions of a worker. Built before they are applied, in this order, to the process that becomes the worker.
pub(super) struct Restrictions {
    spec: SandboxSpec,
    files: Option<RulesetCreated>,
    filters: Option<Vec<BpfProgram>>,
}

impl Restrictions {
    /// Opens the files of the rules, and compiles the filters.
    pub(super) fn build(spec: &SandboxSpec) -> Result<Self, SandboxError> {
        let filters = spec.seccomp.then(|| seccomp::filters(spec));
        Ok(Restrictions {
            spec: spec.clone(),
            files: landlock::rules(spec)?,
            filters: filters.transpose()?,
        })
    }

    /// Resets what the supervisor passes on, sets the limits and changes the user.
    pub(super) fn apply_to_user(&self) -> io::Result<()> {
        syscalls::normal_priority();
        SigSet::all().thread_unblock()?;
        umask(Mode::S_IRWXG | Mode::S_IRWXO);
        syscalls::inherit_descriptors_below(EVENTS_FD.unsigned_abs() + 1)?;
        self.spec.limits.apply()?;
        if let Some(identity) = &self.spec.identity {
            let files = self.spec.files.as_ref();
            identity.drop_privileges(files.is_some_and(|files| files.bypass_permissions))?;
        }
        Ok(())
    }

    /// Restricts files with Landlock.
    pub(super) fn apply_to_files(&mut self) -> io::Result<()> {
        set_no_new_privs()?;
        match self.files.take() {
            Some(rules) => landlock::restrict(&self.spec, rules),
            None => Ok(()),
        }
    }

    /// Restricts system calls with seccomp.
    pub(super) fn apply_to_calls(&self) -> io::Result<()> {
        for filter in self.filters.iter().flatten() {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Restricts the calls that name a process. Not needed in a PID namespace, where only its own processes have names.
    fn apply_to_processes(&self, listener: &UnixStream) -> io::Result<()> {
        if self.filters.is_none() {
            return Ok(());
        }
        let (notify, deny) = seccomp::process_filters(Pid::this()).map_err(io::Error::other)?;
        match syscalls::install_notify_filter(&notify) {
            Ok(descriptor) => syscalls::send_descriptor(listener, &descriptor),
            // Before Linux 5.0, or where another process already receives the notifications.
            Err(_) => seccompiler::apply_filter(&deny).map_err(io::Error::other),
        }
    }
}

/// Builds the command that starts the program in its sandbox, and the socket that receives the listener of its
/// seccomp filter. Rules and filters are built before the fork. `supervisor` is this process, and `cgroup` the group that the
/// program enters.
pub(super) fn command(
    spec: &SandboxSpec,
    supervisor: Pid,
    cgroup: Option<&JobCgroup>,
) -> Result<(Command, UnixStream), SandboxError> {
    let (listener_receiver, listener_sender) = UnixStream::pair().map_err(SandboxError::Socket)?;
    let mut begin = begin(supervisor, cgroup)?;
    let mut restrictions = Restrictions::build(spec)?;
    let mut command = worker_command(spec);
    syscalls::set_pre_exec(&mut command, move || {
        begin.enter()?;
        restrictions.apply_to_user()?;
        // Changing the user would have cleared it.
        begin.end_with_supervisor()?;
        restrictions.apply_to_files()?;
        restrictions.apply_to_processes(&listener_sender)?;
        restrictions.apply_to_calls()
    });
    Ok((command, listener_receiver))
}

/// Builds the command that starts the stage of this worker in its namespaces.
pub(super) fn command_in_namespaces(
    bubblewrap: &Path,
    spec: &SandboxSpec,
    supervisor: Pid,
    cgroup: Option<&JobCgroup>,
) -> Result<(Command, Channels), SandboxError> {
    let (mut command, channels, passed) =
        bubblewrap::command(bubblewrap, spec).map_err(SandboxError::Bubblewrap)?;
    let mut begin = begin(supervisor, cgroup)?;
    syscalls::set_pre_exec(&mut command, move || {
        begin.enter()?;
        SigSet::all().thread_unblock()?;
        begin.end_with_supervisor()?;
        set_no_new_privs()?;
        syscalls::inherit_descriptors_below(EVENTS_FD.unsigned_abs() + 1)?;
        for (descriptor, number) in &passed {
            syscalls::place_descriptor(descriptor, *number)?;
        }
        Ok(())
    });
    Ok((command, channels))
}

/// What the first process of a worker does, whichever program it executes.
struct Begin {
    supervisor: Pid,
    entrance: Option<std::fs::File>,
}

fn begin(supervisor: Pid, cgroup: Option<&JobCgroup>) -> Result<Begin, SandboxError> {
    let entrance = cgroup.map(JobCgroup::entrance).transpose();
    Ok(Begin {
        supervisor,
        entrance: entrance.map_err(SandboxError::Cgroup)?,
    })
}

impl Begin {
    fn enter(&mut self) -> io::Result<()> {
        // In the supervisor's session it could join its process group, and a signal to the group would reach the supervisor.
        setsid()?;
        match &mut self.entrance {
            Some(entrance) => entrance.write_all(b"0"),
            None => Ok(()),
        }
    }

    fn end_with_supervisor(&self) -> io::Result<()> {
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() == self.supervisor {
            Ok(())
        } else {
            Err(io::Error::other("the supervisor has ended"))
        }
    }
}
