//! The set-up of a worker between fork and exec: applies the parts of its sandbox in
//! the one order that works. If any part fails, the worker does not start.

use super::{job_cgroup::JobCgroup, landlock, sandbox_spec::SandboxSpec, seccomp, syscalls};
use landlock::rules;
use nix::{
    sys::{
        prctl::{set_no_new_privs, set_pdeathsig},
        signal::{SigSet, Signal},
        stat::{Mode, umask},
    },
    unistd::{Pid, getppid, setsid},
};
use std::{
    io::{self, Write},
    os::unix::net::UnixStream,
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
}

/// Builds the command that starts the program in its sandbox, and the socket that receives the listener of its
/// seccomp filter. Rules and filters are built before the fork. `supervisor` is this process, and `cgroup` the group that the
/// program enters.
pub(super) fn command(
    spec: &SandboxSpec,
    supervisor: Pid,
    cgroup: Option<&JobCgroup>,
) -> Result<(Command, UnixStream), SandboxError> {
    let filters = if spec.seccomp {
        Some(seccomp::filters(spec)?)
    } else {
        None
    };
    let (listener_receiver, listener_sender) = UnixStream::pair().map_err(SandboxError::Socket)?;
    let entrance = cgroup.map(JobCgroup::entrance).transpose();
    let mut entrance = entrance.map_err(SandboxError::Cgroup)?;
    let mut files = rules(spec)?;
    let limits = spec.limits.clone();
    let restricted = spec.clone();
    let identity = spec.identity.clone();
    let bypass_permissions = spec
        .files
        .as_ref()
        .is_some_and(|files| files.bypass_permissions);

    let mut command = Command::new(&spec.program);
    command
        .args(&spec.arguments)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&spec.directory);
    syscalls::set_pre_exec(&mut command, move || {
        // In the supervisor's session it could join its process group, and a signal to the group would reach the supervisor.
        setsid()?;
        if let Some(entrance) = &mut entrance {
            entrance.write_all(b"0")?;
        }
        syscalls::normal_priority();
        SigSet::all().thread_unblock()?;
        umask(Mode::S_IRWXG | Mode::S_IRWXO);
        syscalls::inherit_descriptors_below(
            super::supervisor_protocol::EVENTS_FD.unsigned_abs() + 1,
        )?;
        limits.apply()?;
        if let Some(identity) = &identity {
            identity.drop_privileges(bypass_permissions)?;
        }
        // Changing the user would have cleared it.
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != supervisor {
            return Err(io::Error::other("the supervisor has ended"));
        }
        set_no_new_privs()?;
        if let Some(rules) = files.take() {
            landlock::restrict(&restricted, rules)?;
        }
        if let Some(filters) = &filters {
            let (notify, deny) = seccomp::process_filters(Pid::this()).map_err(io::Error::other)?;
            match syscalls::install_notify_filter(&notify) {
                Ok(listener) => syscalls::send_descriptor(&listener_sender, &listener)?,
                // Before Linux 5.0, or where another process already receives the notifications.
                Err(_) => seccompiler::apply_filter(&deny).map_err(io::Error::other)?,
            }
            for filter in filters {
                seccompiler::apply_filter(filter).map_err(io::Error::other)?;
            }
        }
        Ok(())
    });
    Ok((command, listener_receiver))
}
