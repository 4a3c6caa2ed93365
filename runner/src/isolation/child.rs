//! What happens in a worker between fork and exec: the plan's fence goes up, piece by piece, in
//! the one order that works. Any piece that fails stops the worker from starting.

use super::{landlock, plan::Plan, seccomp, sys};
use landlock::rules;
use nix::{
    sys::{
        prctl::{set_no_new_privs, set_pdeathsig},
        signal::{SigSet, Signal},
        stat::{Mode, umask},
    },
    unistd::{Pid, getppid, setsid},
};
use std::{io, os::unix::net::UnixStream, process::Command};

/// Why a plan could not be turned into a command.
#[derive(Debug, thiserror::Error)]
pub(super) enum FenceError {
    /// Landlock's rules could not be built.
    #[error("the Landlock rules could not be built: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    /// The seccomp filter could not be built.
    #[error("the seccomp filter could not be built: {0}")]
    Seccomp(#[from] seccompiler::BackendError),
    /// There was no socket for the filter's questions.
    #[error("no socket could be made: {0}")]
    Socket(#[from] io::Error),
}

/// The command that starts the plan's program behind its fence, and the socket that hands over the listener of its
/// seccomp filter when it runs. Rules and filters are built here, before the fork; `supervisor` is this process.
pub(super) fn command(plan: &Plan, supervisor: Pid) -> Result<(Command, UnixStream), FenceError> {
    let filters = if plan.seccomp {
        Some(seccomp::filters(plan)?)
    } else {
        None
    };
    let (ours, theirs) = UnixStream::pair()?;
    let mut files = rules(plan)?;
    let limits = plan.limits.clone();
    let restricted = plan.clone();
    let identity = plan.identity.clone();
    let past_permissions = plan
        .files
        .as_ref()
        .is_some_and(|files| files.past_permissions);

    let mut command = Command::new(&plan.program);
    command
        .args(&plan.arguments)
        .env_clear()
        .envs(plan.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&plan.directory);
    sys::before_exec(&mut command, move || {
        // Within our session it could join our group, and a signal to its own group would reach us.
        setsid()?;
        sys::normal_priority();
        SigSet::all().thread_unblock()?;
        umask(Mode::S_IRWXG | Mode::S_IRWXO);
        sys::keep_descriptors_below(super::control::EVENTS_FD.unsigned_abs() + 1)?;
        limits.apply()?;
        if let Some(identity) = &identity {
            identity.assume(past_permissions)?;
        }
        // Changing the user would have cleared it.
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != supervisor {
            return Err(io::Error::other("the supervisor is gone"));
        }
        set_no_new_privs()?;
        if let Some(rules) = files.take() {
            landlock::restrict(&restricted, rules)?;
        }
        if let Some(filters) = &filters {
            let (asks, refuses) =
                seccomp::process_filters(Pid::this()).map_err(io::Error::other)?;
            match sys::apply_asking_filter(&asks) {
                Ok(listener) => sys::send_descriptor(&theirs, &listener)?,
                // Before Linux 5.0, or where another process already receives the notifications.
                Err(_) => seccompiler::apply_filter(&refuses).map_err(io::Error::other)?,
            }
            for filter in filters {
                seccompiler::apply_filter(filter).map_err(io::Error::other)?;
            }
        }
        Ok(())
    });
    Ok((command, ours))
}
