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
    unistd::{Pid, getppid, setpgid},
};
use std::{io, process::Command};

/// Why a plan could not be turned into a command.
#[derive(Debug, thiserror::Error)]
pub(super) enum FenceError {
    /// Landlock's rules could not be built.
    #[error("the Landlock rules could not be built: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    /// The seccomp filter could not be built.
    #[error("the seccomp filter could not be built: {0}")]
    Seccomp(#[from] seccompiler::BackendError),
}

/// The command that starts the plan's program behind its fence. Rules and filters are built here,
/// before the fork; `supervisor` is this process.
pub(super) fn command(plan: &Plan, supervisor: Pid) -> Result<Command, FenceError> {
    let mut protected = plan.protected.clone();
    protected.push(supervisor.as_raw());
    let filters = seccomp::filters(plan, &protected)?;
    let mut files = rules(plan)?;
    let limits = plan.limits.clone();
    let identity = plan.identity.clone();

    let mut command = Command::new(&plan.program);
    command
        .args(&plan.arguments)
        .env_clear()
        .envs(plan.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&plan.directory);
    sys::before_exec(&mut command, move || {
        setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        sys::normal_priority();
        SigSet::all().thread_unblock()?;
        umask(Mode::S_IRWXG | Mode::S_IRWXO);
        sys::keep_descriptors_below(super::control::EVENTS_FD.unsigned_abs() + 1)?;
        limits.apply()?;
        if let Some(identity) = &identity {
            identity.assume()?;
        }
        // Changing the user would have cleared it.
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != supervisor {
            return Err(io::Error::other("the supervisor is gone"));
        }
        set_no_new_privs()?;
        if let Some(rules) = files.take() {
            rules.restrict_self().map_err(io::Error::other)?;
        }
        for filter in &filters {
            seccompiler::apply_filter(filter).map_err(io::Error::other)?;
        }
        Ok(())
    });
    Ok(command)
}
