//! Safe functions for system calls without a safe wrapper in the libraries. No other
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
    ffi::CString,
    io::{self, IoSlice, IoSliceMut},
    mem,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, net::UnixStream, process::CommandExt},
    },
    path::Path,
    process::Command,
};

/// `linux/capability.h`: read any file, search any directory.
const CAP_DAC_READ_SEARCH: u32 = 2;
/// Highest number of a capability. Numbers that the kernel does not know are skipped.
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
pub(super) fn set_pre_exec(
    command: &mut Command,
    setup: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: a single-threaded parent's child may do everything the parent may.
    unsafe { command.pre_exec(setup) };
}

/// Starts the child in a session of its own, so that signals of the terminal, such as Ctrl-C, do not reach it. Safe
/// in a program with threads.
pub(super) fn start_new_session(command: &mut Command) {
    // SAFETY: `setsid` is async-signal-safe.
    unsafe { command.pre_exec(|| check(libc::setsid().into())) };
}

/// Passes two descriptors to the child under these numbers, besides the standard three. Safe in a
/// program with threads.
pub(super) fn pass_descriptors(
    command: &mut Command,
    first: (OwnedFd, RawFd),
    second: (OwnedFd, RawFd),
) -> io::Result<()> {
    // High numbers first, so that placing one cannot overwrite the other.
    let lift = |fd: &OwnedFd| duplicate_above(fd.as_fd(), 64);
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

/// A copy of a descriptor with this number or a higher one, which is closed on exec.
pub(super) fn duplicate_above(fd: BorrowedFd<'_>, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is open and `F_DUPFD_CLOEXEC` has no memory operands.
    let raw = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    check(raw.into())?;
    // SAFETY: just created, not owned elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Makes a descriptor available under another number, also after exec. For a child before exec: nothing owns the number.
pub(super) fn place_descriptor(fd: &OwnedFd, number: RawFd) -> io::Result<()> {
    // SAFETY: no memory operands. The caller is about to execute another program, so no owner of the number remains.
    check(unsafe { libc::dup2(fd.as_raw_fd(), number) }.into())
}

/// Takes ownership of a descriptor that this process inherited. Call once per number.
pub(super) fn take_inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `F_SETFD` has no memory operands; a closed descriptor is reported as an error.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) }.into())?;
    // SAFETY: it is open, and nothing in this process owns it yet.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes exec keep the descriptors below `first` and close all others.
pub(super) fn inherit_descriptors_below(first: u32) -> io::Result<()> {
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

/// Drops every capability from the bounding set, except `CAP_DAC_READ_SEARCH` with `keep_reading`.
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

/// Keeps the capabilities when the user changes. Also makes `access`, which otherwise
/// ignores them, consistent with `open`. Compilers use it for their folders.
pub(super) fn keep_capabilities_across_setuid() -> io::Result<()> {
    let bits = libc::SECBIT_NO_SETUID_FIXUP;
    // SAFETY: no memory operands.
    check(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, bits, 0, 0, 0) }.into())
}

/// Drops every capability. With `keep_reading`, keeps `CAP_DAC_READ_SEARCH`, also across exec.
pub(super) fn drop_capabilities(keep_reading: bool) -> io::Result<()> {
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
    let reading = u32::from(keep_reading) << CAP_DAC_READ_SEARCH;
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
    if !keep_reading {
        return Ok(());
    }
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

/// The Landlock ABI version of this kernel, if Landlock is enabled.
pub(super) fn landlock_abi() -> Option<u32> {
    /// Requests the version instead of a new ruleset.
    const VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no memory operand.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    u32::try_from(abi).ok().filter(|&abi| abi > 0)
}

/// Whether a file has an extended attribute with this value.
pub(super) fn has_attribute(path: &Path, name: &str, expected: &[u8]) -> bool {
    let (Ok(path), Ok(name)) = (
        CString::new(path.as_os_str().as_bytes()),
        CString::new(name),
    ) else {
        return false;
    };
    let mut value = [0_u8; 16];
    // SAFETY: both strings end with 0, and the buffer has the stated length.
    let length = unsafe {
        libc::getxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_mut_ptr().cast(),
            value.len(),
        )
    };
    usize::try_from(length).is_ok_and(|length| value.get(..length) == Some(expected))
}

/// Raises the priority of this process, where that is allowed, so that a fork bomb
/// cannot starve the supervisor.
pub(super) fn raise_priority() {
    // SAFETY: no memory operands. Failing is fine: without root it is not allowed.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -10) };
}

/// Resets the priority of this process.
pub(super) fn normal_priority() {
    // SAFETY: no memory operands. Failing is fine: lowering is always allowed.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 0) };
}

/// A system call that waits for a response.
#[derive(Debug)]
pub(super) struct Notification {
    id: u64,
    /// The thread that calls.
    pub(super) caller: Pid,
    /// Its number, without the bit of the x32 ABI.
    pub(super) call: libc::c_long,
    pub(super) arguments: [u64; 6],
}

/// The response to a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// The kernel executes the call.
    Continue,
    /// The supervisor has executed it: the call returns 0.
    Handled,
    /// The call fails with an error.
    Fail(Errno),
}

/// Installs a filter with notifications and returns its listener.
pub(super) fn install_notify_filter(program: &[sock_filter]) -> io::Result<OwnedFd> {
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
    // SAFETY: just created, not owned elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Waits for the next notification.
pub(super) fn receive_notification(listener: BorrowedFd<'_>) -> io::Result<Notification> {
    /// Set in the numbers of the x32 ABI.
    const X32: libc::c_int = 0x4000_0000;
    // SAFETY: all zeros is a value of this type, and the one that the call demands.
    let mut received_notification: libc::seccomp_notif = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes one value of this type, whose size is part of the request's number.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut received_notification,
        )
    };
    check(result.into())?;
    Ok(Notification {
        id: received_notification.id,
        caller: Pid::from_raw(received_notification.pid.cast_signed()),
        call: (received_notification.data.nr & !X32).into(),
        arguments: received_notification.data.args,
    })
}

/// Responds to a notification. Fails if the caller has ended.
pub(super) fn respond(
    listener: BorrowedFd<'_>,
    notification: &Notification,
    response: Response,
) -> io::Result<()> {
    let (error, flags) = match response {
        Response::Continue => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        Response::Handled => (0, 0),
        Response::Fail(error) => (-(error as i32), 0),
    };
    let mut reply = libc::seccomp_notif_resp {
        id: notification.id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: the kernel reads one value of this type, whose size is part of the request's number.
    let result = unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw mut reply,
        )
    };
    check(result.into())
}

/// Opens a descriptor for a process, which stays valid when its id is reused.
pub(super) fn open_process(process: Pid) -> Result<OwnedFd, Errno> {
    // SAFETY: no memory operands.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, process.as_raw(), 0) };
    let descriptor = Errno::result(descriptor)?;
    let descriptor = RawFd::try_from(descriptor).map_err(|_| Errno::EBADF)?;
    // SAFETY: just created, not owned elsewhere.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sends a signal to the process of a descriptor.
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

/// Sends a descriptor to the process at the other end of the socket.
pub(super) fn send_descriptor(socket: &UnixStream, descriptor: &OwnedFd) -> io::Result<()> {
    let descriptors = [descriptor.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    // A control message needs at least one byte of data.
    let byte = [IoSlice::new(&[0])];
    sendmsg::<()>(socket.as_raw_fd(), &byte, &rights, MsgFlags::empty(), None)?;
    Ok(())
}

/// Receives a descriptor, if one was sent.
pub(super) fn receive_descriptor(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    match receive(socket, &mut [0], MsgFlags::MSG_DONTWAIT) {
        Err(Errno::EAGAIN) => Ok(None),
        received => Ok(received?.1),
    }
}

/// Receives the descriptor and the text that the other end of the socket sends until it closes.
pub(super) fn receive_until_closed(socket: &UnixStream) -> io::Result<(Option<OwnedFd>, String)> {
    let (mut received, mut text) = (None, Vec::new());
    loop {
        let mut buffer = [0; 1024];
        let (length, descriptor) = match receive(socket, &mut buffer, MsgFlags::empty()) {
            Err(Errno::EINTR) => continue,
            // The other end was closed before it had read everything.
            Err(Errno::ECONNRESET) => break,
            message => message?,
        };
        match descriptor {
            // A descriptor is sent with a byte that is no text.
            Some(descriptor) => received = Some(descriptor),
            None if length == 0 => break,
            None => text.extend_from_slice(&buffer[..length]),
        }
    }
    Ok((received, String::from_utf8_lossy(&text).into_owned()))
}

/// Receives a message: its length, and the descriptor that was sent with it.
fn receive(
    socket: &UnixStream,
    buffer: &mut [u8],
    flags: MsgFlags,
) -> Result<(usize, Option<OwnedFd>), Errno> {
    let mut place = [IoSliceMut::new(buffer)];
    let mut rights = cmsg_space!(RawFd);
    let flags = flags | MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut place, Some(&mut rights), flags)?;
    let mut received = None;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = control {
            for raw in descriptors {
                // SAFETY: the kernel has just made it for this process.
                received = Some(unsafe { OwnedFd::from_raw_fd(raw) });
            }
        }
    }
    Ok((message.bytes, received))
}
