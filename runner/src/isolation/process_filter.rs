//! Restricts system calls that name a process, such as `kill`, to the job's own processes.
//!
//! A seccomp filter sees process ids, but not whose they are. So it allows calls that name the caller, and notifies the supervisor
//! of the others; the kernel blocks the caller until the supervisor responds. Where the kernel cannot notify, before Linux 5.5 or inside
//! another such supervisor, the other calls are denied.

use super::{
    process_tree::{Status, descendants, is_below},
    seccomp::{Rules, add, condition},
    syscalls::{self, Notification, Response},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::{Pid, getpgid},
};
use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Notifications that are handled before the limits are checked again.
const AT_ONCE: usize = 16;

/// Each system call and the argument that names a process or a thread. 0 means the caller.
const NAMES_A_PROCESS: &[(i64, u8)] = &[
    (libc::SYS_kill, 0),
    (libc::SYS_tkill, 0),
    (libc::SYS_tgkill, 0),
    (libc::SYS_rt_sigqueueinfo, 0),
    (libc::SYS_rt_tgsigqueueinfo, 0),
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
];

/// Rules for the calls that name another process than `own`, the worker's first process.
pub(super) fn other_process_rules(own: Pid) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for &(call, argument) in NAMES_A_PROCESS {
        let neither = [0, own.as_raw().cast_unsigned()]
            .map(|process| condition(argument, SeccompCmpOp::Ne, u64::from(process)));
        let [not_the_caller, not_own] = neither;
        let rule = SeccompRule::new(vec![not_the_caller?, not_own?])?;
        rules.entry(call).or_default().push(rule);
    }
    Ok(rules)
}

/// Denies calls that no job needs: signals by other means, and calls on all processes at once.
pub(super) fn deny_indirect_signals(refused: &mut Rules) -> Result<(), BackendError> {
    // Takes a descriptor, which any process's folder in /proc provides.
    refused.insert(libc::SYS_pidfd_send_signal, Vec::new());
    let all_processes = condition(0, SeccompCmpOp::Eq, u64::from(u32::MAX))?;
    add(refused, libc::SYS_kill, all_processes)?;
    // Sets which process gets the signals of a descriptor, and which signals.
    for command in [libc::F_SETOWN, F_SETOWN_EX, F_SETSIG] {
        let aims = condition(1, SeccompCmpOp::Eq, command as u64)?;
        add(refused, libc::SYS_fcntl, aims)?;
    }
    for request in [FIOSETOWN, SIOCSPGRP] {
        add(
            refused,
            libc::SYS_ioctl,
            condition(1, SeccompCmpOp::Eq, request)?,
        )?;
    }
    // Process groups, and all processes of a user.
    let of_a_process = u64::from(libc::PRIO_PROCESS);
    let of_many = condition(0, SeccompCmpOp::Ne, of_a_process)?;
    add(refused, libc::SYS_setpriority, of_many)?;
    let of_many = condition(0, SeccompCmpOp::Ne, IOPRIO_WHO_PROCESS)?;
    add(refused, libc::SYS_ioprio_set, of_many)?;
    // Core scheduling with other processes.
    let core = condition(0, SeccompCmpOp::Eq, PR_SCHED_CORE)?;
    add(refused, libc::SYS_prctl, core)
}

// Missing in libc.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
const IOPRIO_WHO_PROCESS: u64 = 1;
const PR_SCHED_CORE: u64 = 62;

/// The supervisor's end of the filter: the calls that wait for its response.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

impl Listener {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Listener(descriptor)
    }

    /// Responds to the calls that wait. Call it when the descriptor is readable.
    pub(super) fn respond_to_pending(&self) {
        for _ in 0..AT_ONCE {
            let mut waiting = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            if poll(&mut waiting, PollTimeout::ZERO) != Ok(1) {
                return;
            }
            // Fails if the caller has died.
            let Ok(notification) = syscalls::receive_notification(self.0.as_fd()) else {
                return;
            };
            let response = decide(&notification, Pid::this());
            if syscalls::respond(self.0.as_fd(), &notification, response).is_err() {
                // This kernel cannot continue a call.
                let refused = Response::Fail(Errno::EPERM);
                let _ = syscalls::respond(self.0.as_fd(), &notification, refused);
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The response to a call of a process below `supervisor`. Between the response and the call, the named process may
/// end and its id may be reused. So a signal to another process is not continued: it is sent from here,
/// to a process that is identified by a descriptor.
fn decide(notification: &Notification, supervisor: Pid) -> Response {
    let argument = |index: usize| {
        // The kernel uses the low half, as a signed number.
        let low = notification.arguments[index] & u64::from(u32::MAX);
        u32::try_from(low).unwrap_or_default().cast_signed()
    };
    let refused = Response::Fail(Errno::EPERM);
    let process_of = |thread: Pid| Status::of(thread).map(|status| status.process);
    let of_the_job = |thread: i32| {
        let process = process_of(Pid::from_raw(thread));
        process.is_some_and(|process| is_below(process, supervisor))
    };
    match notification.call {
        libc::SYS_kill if argument(0) > 0 => {
            signal(Pid::from_raw(argument(0)), argument(1), supervisor)
        }
        libc::SYS_kill => signal_group(argument(0).wrapping_neg(), argument(1), supervisor),
        libc::SYS_tkill if argument(0) == notification.caller.as_raw() => Response::Continue,
        libc::SYS_tgkill | libc::SYS_rt_sigqueueinfo | libc::SYS_rt_tgsigqueueinfo => {
            match process_of(notification.caller) {
                Some(process) if process.as_raw() == argument(0) => Response::Continue,
                _ => refused,
            }
        }
        libc::SYS_prlimit64
        | libc::SYS_sched_setaffinity
        | libc::SYS_sched_setattr
        | libc::SYS_sched_setparam
        | libc::SYS_sched_setscheduler
            if of_the_job(argument(0)) =>
        {
            Response::Continue
        }
        libc::SYS_setpriority | libc::SYS_ioprio_set if of_the_job(argument(1)) => {
            Response::Continue
        }
        _ => refused,
    }
}

fn signal(process: Pid, number: i32, supervisor: Pid) -> Response {
    let sent = syscalls::open_process(process).and_then(|held| {
        if is_below(process, supervisor) {
            syscalls::signal_process(held.as_fd(), number)
        } else {
            Err(Errno::EPERM)
        }
    });
    match sent {
        Ok(()) => Response::Handled,
        Err(error) => Response::Fail(error),
    }
}

/// Sends a signal to a process group. A job's processes have sessions of their own, so a group with one of them contains no other processes.
fn signal_group(group: i32, number: i32, supervisor: Pid) -> Response {
    let group = Some(Pid::from_raw(group));
    let mut members = descendants(supervisor);
    members.retain(|&process| getpgid(Some(process)).ok() == group);
    let mut response = Response::Fail(Errno::EPERM);
    for process in members {
        if let Response::Handled = signal(process, number, supervisor) {
            response = Response::Handled;
        }
    }
    response
}
