//! Seccomp filters on system calls that no benchmark needs. A list of what is denied, not of what is
//! allowed: GPU runtimes and compilers use too much of the kernel for the latter.

use super::{process_filter, sandbox_spec::SandboxSpec};
use nix::unistd::Pid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};
use std::{collections::BTreeMap, fs};

pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// True where the kernel can install filters.
pub(super) fn is_available() -> bool {
    fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .is_ok_and(|actions| actions.split_whitespace().any(|action| action == "errno"))
}

/// The filters of a spec that are the same for every process, in the order of installation.
pub(super) fn filters(spec: &SandboxSpec) -> Result<Vec<BpfProgram>, BackendError> {
    let mut refused: Rules = DENIED.iter().map(|&call| (call, Vec::new())).collect();
    for &flag in NAMESPACES {
        let creates_namespace = condition(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        add(&mut refused, libc::SYS_clone, creates_namespace)?;
    }
    process_filter::deny_indirect_signals(&mut refused)?;
    // A job's own socket pairs stay usable. Calls with an address could reach other programs. If the
    // address is in memory, the whole call is denied.
    for call in [libc::SYS_connect, libc::SYS_sendmsg, libc::SYS_sendmmsg] {
        refused.insert(call, Vec::new());
    }
    let has_address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    add(&mut refused, libc::SYS_sendto, has_address)?;
    for option in [libc::SO_SNDBUF, libc::SO_SNDBUFFORCE] {
        let of_any_socket = condition(1, SeccompCmpOp::Eq, libc::SOL_SOCKET as u64)?;
        let option = condition(2, SeccompCmpOp::Eq, option as u64)?;
        let rule = SeccompRule::new(vec![of_any_socket, option])?;
        refused.entry(libc::SYS_setsockopt).or_default().push(rule);
    }
    // The supervisor must be able to inspect a job's processes.
    let closes = condition(0, SeccompCmpOp::Eq, libc::PR_SET_DUMPABLE as u64)?;
    add(&mut refused, libc::SYS_prctl, closes)?;
    let mut absent: Rules = ABSENT.iter().map(|&call| (call, Vec::new())).collect();
    if spec.gpu {
        // CUDA opens and binds a Unix socket at start.
        let not_unix = condition(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?;
        refused.remove(&libc::SYS_socket);
        add(&mut refused, libc::SYS_socket, not_unix)?;
    } else {
        refused.insert(libc::SYS_bind, Vec::new());
        // Memory files, which persist when they are unmapped. Only GPU runtimes need them.
        absent.insert(libc::SYS_memfd_create, Vec::new());
        let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u64;
        let is_shared = condition(3, SeccompCmpOp::MaskedEq(shared), shared)?;
        add(&mut refused, libc::SYS_mmap, is_shared)?;
    }
    // Unnamed files. Callers fall back to creating and unlinking a file.
    let mut unsupported = Rules::new();
    const O_TMPFILE: u64 = 0o20_000_000;
    let nameless = |argument| condition(argument, SeccompCmpOp::MaskedEq(O_TMPFILE), O_TMPFILE);
    add(&mut unsupported, libc::SYS_openat, nameless(2)?)?;
    #[cfg(target_arch = "x86_64")]
    add(&mut unsupported, libc::SYS_open, nameless(1)?)?;
    // Callers fall back to an older call when one does not exist, and fail when it is denied.
    Ok(vec![
        compile(absent, errno(libc::ENOSYS))?,
        compile(refused, errno(libc::EPERM))?,
        compile(unsupported, errno(libc::EOPNOTSUPP))?,
    ])
}

/// The filters on calls that name a process, for a worker whose first process is `own`: one that notifies the supervisor,
/// and one that denies, for kernels without notifications.
pub(super) fn process_filters(own: Pid) -> Result<(BpfProgram, BpfProgram), BackendError> {
    let rules = process_filter::other_process_rules(own)?;
    // seccompiler does not support notifications. Its trace action differs only in the returned value, which is replaced.
    let traced = u32::from(SeccompAction::Trace(0));
    let mut notify = compile(rules.clone(), SeccompAction::Trace(0))?;
    for instruction in &mut notify {
        if u32::from(instruction.code) == libc::BPF_RET | libc::BPF_K && instruction.k == traced {
            instruction.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    Ok((notify, compile(rules, errno(libc::EPERM))?))
}

fn errno(error: i32) -> SeccompAction {
    SeccompAction::Errno(error.unsigned_abs())
}

pub(super) fn condition(
    argument: u8,
    op: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

/// Adds a rule to a call. Must not be used for a call of [`DENIED`], because a call without rules always matches.
pub(super) fn add(
    rules: &mut Rules,
    call: i64,
    condition: SeccompCondition,
) -> Result<(), BackendError> {
    let rule = SeccompRule::new(vec![condition])?;
    rules.entry(call).or_default().push(rule);
    Ok(())
}

fn compile(mut rules: Rules, action: SeccompAction) -> Result<BpfProgram, BackendError> {
    if cfg!(target_arch = "x86_64") {
        // The same calls once more, by the numbers of the x32 ABI.
        const X32: i64 = 0x4000_0000;
        let again: Vec<_> = rules
            .iter()
            .map(|(call, r)| (call | X32, r.clone()))
            .collect();
        rules.extend(again);
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        action,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

/// Calls that appear not to exist in the kernel.
const ABSENT: &[i64] = &[
    // Its flags are in memory, which a filter cannot read. libc falls back to `clone`.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Its flags are in memory too.
    libc::SYS_openat2,
    libc::SYS_memfd_secret,
];

const NAMESPACES: &[u64] = &[
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWCGROUP as u64,
];

const DENIED: &[i64] = &[
    // The network. `socketpair` stays allowed because asyncio needs it.
    libc::SYS_socket,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_bpf,
    // Objects that outlive the job.
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Namespaces, mounts, and access to files without a path.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    // The machine.
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

#[cfg(test)]
mod tests {
    use super::*;
    use nix::{
        errno::Errno,
        sys::{prctl::set_no_new_privs, signal::kill},
        unistd::getppid,
    };

    #[test]
    fn without_notifications_a_process_can_only_signal_itself() {
        // A filter applies to the thread that installs it.
        let named = std::thread::spawn(|| {
            set_no_new_privs().expect("is allowed");
            let (_, deny) = process_filters(Pid::this()).expect("is built");
            seccompiler::apply_filter(&deny).expect("is installed");
            [getppid(), Pid::this(), Pid::from_raw(0)].map(|pid| kill(pid, None))
        });
        let named = named.join().expect("ends");
        assert_eq!(named, [Err(Errno::EPERM), Ok(()), Ok(())]);
    }
}
