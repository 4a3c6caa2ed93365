//! The system calls for which there is no safe wrapper, each behind a safe function. No other
//! file of this folder has `unsafe` code.
#![allow(unsafe_code)]

use nix::{
    cmsg_space,
    errno::Errno,
    sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg},
    unistd::Pid,
};
use seccompiler::sock_filter;
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::Command,
};

/// `linux/capability.h`: read any file, search any directory.
const CAP_DAC_READ_SEARCH: u32 = 2;
/// Newest capability that any kernel knows; unknown ones are skipped.
const CAP_LAST: u32 = 63;

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Runs `setup` in the child between fork and exec. The caller must be single-threaded, as the
/// supervisor is, so that no lock can be held by a thread that the child does not have.
pub(super) fn before_exec(
    command: &mut Command,
    setup: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: a single-threaded parent's child may do everything the parent may.
    unsafe { command.pre_exec(setup) };
}

/// Starts the child in a session of its own, so that what a terminal sends to us, such as Ctrl-C, never reaches it. Safe
/// in a program with threads.
pub(super) fn in_its_own_session(command: &mut Command) {
    // SAFETY: `setsid` is async-signal-safe.
    unsafe { command.pre_exec(|| check(libc::setsid().into())) };
}

/// Gives the child the two descriptors under these numbers, besides its standard three. Safe in a
/// program with threads.
pub(super) fn pass_descriptors(
    command: &mut Command,
    first: (OwnedFd, RawFd),
    second: (OwnedFd, RawFd),
) -> io::Result<()> {
    // High numbers first, so that placing one cannot overwrite the other.
    let lift = |fd: &OwnedFd| {
        // SAFETY: the descriptor is open and `F_DUPFD_CLOEXEC` has no memory operands.
        let raw = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 64) };
        check(raw.into())?;
        // SAFETY: just created, owned by nobody else.
        Ok::<_, io::Error>(unsafe { OwnedFd::from_raw_fd(raw) })
    };
    let (from_first, from_second) = (lift(&first.0)?, lift(&second.0)?);
    let (to_first, to_second) = (first.1, second.1);
    // SAFETY: the closure only calls `dup2`, which is async-signal-safe, on descriptors it owns.
    unsafe {
        command.pre_exec(move || {
            check(libc::dup2(from_first.as_raw_fd(), to_first).into())?;
            check(libc::dup2(from_second.as_raw_fd(), to_second).into())
        });
    }
    Ok(())
}

/// Takes over a descriptor that this process was started with. Call once per number.
pub(super) fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `F_SETFD` has no memory operands; a closed descriptor is reported as an error.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) }.into())?;
    // SAFETY: it is open, and nothing in this process has taken it yet.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes exactly the descriptors below `first` survive exec.
pub(super) fn keep_descriptors_below(first: u32) -> io::Result<()> {
    for fd in 3..first {
        // SAFETY: no memory operands.
        check(unsafe { libc::fcntl(fd.cast_signed(), libc::F_SETFD, 0) }.into())?;
    }
    // SAFETY: no memory operands; the descriptors stay open until exec.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    check(result)
}

/// Takes every capability out of the bounding set, except for reading if that is kept.
pub(super) fn drop_bounding_set(keep_reading: bool) -> io::Result<()> {
    let kept = |capability| keep_reading && capability == CAP_DAC_READ_SEARCH;
    for capability in (0..=CAP_LAST).filter(|&capability| !kept(capability)) {
        // SAFETY: no memory operands. Numbers that the kernel does not know give EINVAL.
        let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
        match check(result.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// From here on, changing the user leaves the capabilities alone; and `access`, which otherwise
/// forgets them, gives the same answer as `open`. Compilers ask it about their folders.
pub(super) fn keep_capabilities_of_a_user() -> io::Result<()> {
    let bits = libc::SECBIT_NO_SETUID_FIXUP;
    // SAFETY: no memory operands.
    check(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, bits, 0, 0, 0) }.into())
}

/// Gives up every capability but reading, and keeps that one across exec.
pub(super) fn keep_only_reading() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    /// `_LINUX_CAPABILITY_VERSION_3`, which takes two data blocks of 32 capabilities each.
    const VERSION: u32 = 0x2008_0522;
    let header = Header {
        version: VERSION,
        pid: 0,
    };
    let reading = 1 << CAP_DAC_READ_SEARCH;
    let low = Data {
        effective: reading,
        permitted: reading,
        inheritable: reading,
    };
    let high = Data {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    };
    let data = [low, high];
    // SAFETY: the two blocks have the layout that this version of `capset` reads, and outlive it.
    check(unsafe { libc::syscall(libc::SYS_capset, &header, data.as_ptr()) })?;
    // SAFETY: no memory operands.
    let result = unsafe {
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_RAISE,
            CAP_DAC_READ_SEARCH,
            0,
            0,
        )
    };
    check(result.into())
}

/// The version of Landlock that this kernel speaks, if it has Landlock and has it switched on.
pub(super) fn landlock_abi() -> Option<u32> {
    /// Asks for the version instead of a new ruleset.
    const VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no memory operand.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    u32::try_from(abi).ok().filter(|&abi| abi > 0)
}

/// Puts this process ahead of what it supervises, where that is allowed, so that a fork bomb
/// cannot starve the one process that ends it.
pub(super) fn raise_priority() {
    // SAFETY: no memory operands. Failing is fine: without root it is not allowed.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -10) };
}

/// Puts this process back where processes start.
pub(super) fn normal_priority() {
    // SAFETY: no memory operands. Failing is fine: lowering is always allowed.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 0) };
}

/// A system call that waits for an answer.
#[derive(Debug)]
pub(super) struct Question {
    id: u64,
    /// The thread that calls.
    pub(super) caller: Pid,
    /// Its number, without the bit of the x32 ABI.
    pub(super) call: libc::c_long,
    pub(super) arguments: [u64; 6],
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The kernel does it.
    LetThrough,
    /// We did it: the caller gets 0.
    Done,
    /// The caller gets an error.
    Refuse(Errno),
}

/// Installs a filter that asks, and gives the descriptor that its questions come from.
pub(super) fn apply_asking_filter(program: &[sock_filter]) -> io::Result<OwnedFd> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_ptr().cast_mut().cast(),
    };
    // SAFETY: the kernel copies the program, whose instructions have its layout, and keeps no pointer to it.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    check(descriptor)?;
    let descriptor = RawFd::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: just created, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Waits for the next question.
pub(super) fn next_question(listener: BorrowedFd<'_>) -> io::Result<Question> {
    /// Set in the numbers of the x32 ABI.
    const X32: libc::c_int = 0x4000_0000;
    // SAFETY: all zeros is a value of this type, and the one that the call demands.
    let mut asked: libc::seccomp_notif = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes one value of this type, whose size is part of the request's number.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut asked,
        )
    };
    check(result.into())?;
    Ok(Question {
        id: asked.id,
        caller: Pid::from_raw(asked.pid.cast_signed()),
        call: (asked.data.nr & !X32).into(),
        arguments: asked.data.args,
    })
}

/// Answers a question. The caller may be gone, which is an error.
pub(super) fn answer_question(
    listener: BorrowedFd<'_>,
    question: &Question,
    answer: Answer,
) -> io::Result<()> {
    let (error, flags) = match answer {
        Answer::LetThrough => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        Answer::Done => (0, 0),
        Answer::Refuse(error) => (-(error as i32), 0),
    };
    let mut response = libc::seccomp_notif_resp {
        id: question.id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: the kernel reads one value of this type, whose size is part of the request's number.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw mut response,
        )
    };
    check(result.into())
}

/// A descriptor that means this process, even when its number is another one's by now.
pub(super) fn open_process(process: Pid) -> Result<OwnedFd, Errno> {
    // SAFETY: no memory operands.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
    let descriptor = Errno::result(descriptor)?;
    let descriptor = RawFd::try_from(descriptor).map_err(|_| Errno::EBADF)?;
    // SAFETY: just created, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sends a signal to the process that a descriptor means.
pub(super) fn signal_process(process: BorrowedFd<'_>, number: i32) -> Result<(), Errno> {
    let no_details = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: without details there is no memory operand.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            process.as_raw_fd(),
            number,
            no_details,
            0,
        )
    };
    Errno::result(result).map(drop)
}

/// Hands a descriptor to the process at the other end.
pub(super) fn send_descriptor(socket: &UnixStream, descriptor: &OwnedFd) -> io::Result<()> {
    let descriptors = [descriptor.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    // A message needs a byte to travel with.
    let byte = [IoSlice::new(&[0])];
    sendmsg::<()>(socket.as_raw_fd(), &byte, &rights, MsgFlags::empty(), None)?;
    Ok(())
}

/// The descriptor that was handed over, if one was.
pub(super) fn receive_descriptor(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut place = [IoSliceMut::new(&mut byte)];
    let mut rights = cmsg_space!(RawFd);
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
    let message = match recvmsg::<()>(socket.as_raw_fd(), &mut place, Some(&mut rights), flags) {
        Err(Errno::EAGAIN) => return Ok(None),
        message => message?,
    };
    let mut received = None;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = control {
            for raw in descriptors {
                // SAFETY: the kernel has just made it for this process.
                received = Some(unsafe { OwnedFd::from_raw_fd(raw) });
            }
        }
    }
    Ok(received)
}
