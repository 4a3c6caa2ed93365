//! System calls that name a process, such as `kill`. A job may aim them at its own processes only.
//!
//! A filter sees numbers, and not whose they are. So it lets pass what names the caller, and has the supervisor asked
//! about the rest; the kernel holds the caller until then. Where the kernel cannot ask, before Linux 5.5 or inside
//! another supervisor of this kind, the rest is refused.

use super::{
    process_tree::{Status, descendants, is_below},
    seccomp::{Rules, add, condition},
    sys::{self, Answer, Question},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::{Pid, getpgid},
};
use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Calls answered before the limits are looked at again.
const AT_ONCE: usize = 16;

/// Each call and the argument that names a process or a thread; 0 is the caller.
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

/// The calls that name another process than `own`, the worker's first one.
pub(super) fn aimed_at_others(own: Pid) -> Result<Rules, BackendError> {
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

/// Adds what no job needs to the calls that are refused: signals by other ways, and calls on all processes at once.
pub(super) fn refuse_other_ways(refused: &mut Rules) -> Result<(), BackendError> {
    // It takes a process by a descriptor, which any folder of /proc gives.
    refused.insert(libc::SYS_pidfd_send_signal, Vec::new());
    let all_processes = condition(0, SeccompCmpOp::Eq, u64::from(u32::MAX))?;
    add(refused, libc::SYS_kill, all_processes)?;
    // Who gets the signals of a descriptor, and which.
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
    // Groups, and all processes of a user.
    let of_a_process = u64::from(libc::PRIO_PROCESS);
    let of_many = condition(0, SeccompCmpOp::Ne, of_a_process)?;
    add(refused, libc::SYS_setpriority, of_many)?;
    let of_many = condition(0, SeccompCmpOp::Ne, IOPRIO_WHO_PROCESS)?;
    add(refused, libc::SYS_ioprio_set, of_many)?;
    // Shares a core with other processes.
    let core = condition(0, SeccompCmpOp::Eq, PR_SCHED_CORE)?;
    add(refused, libc::SYS_prctl, core)
}

// libc does not name these.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;
const IOPRIO_WHO_PROCESS: u64 = 1;
const PR_SCHED_CORE: u64 = 62;

/// The supervisor's end: the calls that wait for its answer.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

impl Listener {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Listener(descriptor)
    }

    /// Answers calls that wait. Call it when the descriptor is ready.
    pub(super) fn answer(&self) {
        for _ in 0..AT_ONCE {
            let mut waiting = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            if poll(&mut waiting, PollTimeout::ZERO) != Ok(1) {
                return;
            }
            // The caller may be dead by now, or die before the answer: then there is nothing to answer.
            let Ok(question) = sys::next_question(self.0.as_fd()) else {
                return;
            };
            let answer = decide(&question, Pid::this());
            if sys::answer_question(self.0.as_fd(), &question, answer).is_err() {
                // This kernel cannot let a call through.
                let refused = Answer::Refuse(Errno::EPERM);
                let _ = sys::answer_question(self.0.as_fd(), &question, refused);
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What becomes of a call of a process below `supervisor`. Between the answer and the call, a process that is named may
/// end and its number be given to another one. So a signal to another process is not let through: it is sent from here,
/// to a process that is held by a descriptor.
fn decide(question: &Question, supervisor: Pid) -> Answer {
    let argument = |index: usize| {
        // As the kernel takes it: the low half, with a sign.
        let low = question.arguments[index] & u64::from(u32::MAX);
        u32::try_from(low).unwrap_or_default().cast_signed()
    };
    let refused = Answer::Refuse(Errno::EPERM);
    let process_of = |thread: Pid| Status::of(thread).map(|status| status.process);
    let of_the_job = |thread: i32| {
        let process = process_of(Pid::from_raw(thread));
        process.is_some_and(|process| is_below(process, supervisor))
    };
    match question.call {
        libc::SYS_kill if argument(0) > 0 => {
            signal(Pid::from_raw(argument(0)), argument(1), supervisor)
        }
        libc::SYS_kill => signal_group(argument(0).wrapping_neg(), argument(1), supervisor),
        libc::SYS_tkill if argument(0) == question.caller.as_raw() => Answer::LetThrough,
        libc::SYS_tgkill | libc::SYS_rt_sigqueueinfo | libc::SYS_rt_tgsigqueueinfo => {
            match process_of(question.caller) {
                Some(process) if process.as_raw() == argument(0) => Answer::LetThrough,
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
            Answer::LetThrough
        }
        libc::SYS_setpriority | libc::SYS_ioprio_set if of_the_job(argument(1)) => {
            Answer::LetThrough
        }
        _ => refused,
    }
}

fn signal(process: Pid, number: i32, supervisor: Pid) -> Answer {
    let sent = sys::open_process(process).and_then(|held| {
        if is_below(process, supervisor) {
            sys::signal_process(held.as_fd(), number)
        } else {
            Err(Errno::EPERM)
        }
    });
    match sent {
        Ok(()) => Answer::Done,
        Err(error) => Answer::Refuse(error),
    }
}

/// A job's processes have sessions of their own, so a group that holds one of them holds no other's.
fn signal_group(group: i32, number: i32, supervisor: Pid) -> Answer {
    let group = Some(Pid::from_raw(group));
    let mut members = descendants(supervisor);
    members.retain(|&process| getpgid(Some(process)).ok() == group);
    let mut answer = Answer::Refuse(Errno::EPERM);
    for process in members {
        if let Answer::Done = signal(process, number, supervisor) {
            answer = Answer::Done;
        }
    }
    answer
}
