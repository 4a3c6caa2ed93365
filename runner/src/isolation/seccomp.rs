//! Seccomp: system calls that no benchmark needs. A list of what is refused, not of what is
//! allowed: GPU runtimes and compilers use too much of the kernel for the latter.

use super::plan::Plan;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};
use std::{collections::BTreeMap, fs};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// True where the kernel can install filters.
pub(super) fn is_available() -> bool {
    fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .is_ok_and(|actions| actions.split_whitespace().any(|action| action == "errno"))
}

/// The filters of a plan, in the order they are to be installed. `protected` are processes that
/// must not be signalled or tampered with, which matters where they have the same user.
pub(super) fn filters(plan: &Plan, protected: &[i32]) -> Result<Vec<BpfProgram>, BackendError> {
    if !plan.seccomp {
        return Ok(Vec::new());
    }
    let mut refused: Rules = REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    for &flag in NAMESPACES {
        let asks_for_namespace = condition(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        add(&mut refused, libc::SYS_clone, asks_for_namespace)?;
    }
    for &command in &[libc::F_SETOWN, F_SETOWN_EX] {
        let aims_a_signal = condition(1, SeccompCmpOp::Eq, command as u64)?;
        add(&mut refused, libc::SYS_fcntl, aims_a_signal)?;
    }
    // -1 is everybody we may signal.
    let everybody = condition(0, SeccompCmpOp::Eq, u64::from(u32::MAX))?;
    add(&mut refused, libc::SYS_kill, everybody)?;
    for &pid in protected {
        for &(call, argument) in AIMED_AT_A_PROCESS {
            let aimed = condition(argument, SeccompCmpOp::Eq, u64::from(pid.cast_unsigned()))?;
            add(&mut refused, call, aimed)?;
        }
        let group = u64::from((-pid).cast_unsigned());
        add(
            &mut refused,
            libc::SYS_kill,
            condition(0, SeccompCmpOp::Eq, group)?,
        )?;
    }
    if plan.gpu {
        // CUDA's start opens and binds a Unix socket of its own; talking to anybody else's is what
        // stays refused. An address in `sendmsg` lies in memory, so that call goes as a whole.
        let not_unix = condition(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?;
        refused.remove(&libc::SYS_socket);
        add(&mut refused, libc::SYS_socket, not_unix)?;
        for call in [libc::SYS_connect, libc::SYS_sendmsg, libc::SYS_sendmmsg] {
            refused.insert(call, Vec::new());
        }
        let has_address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        add(&mut refused, libc::SYS_sendto, has_address)?;
    }
    let mut absent: Rules = ABSENT.iter().map(|&call| (call, Vec::new())).collect();
    if !plan.gpu {
        // Memory that no limit counts; GPU runtimes need it, nothing else here does.
        absent.insert(libc::SYS_memfd_create, Vec::new());
    }
    // Callers fall back to something older when a call does not exist, and stop when it is refused.
    Ok(vec![
        compile(absent, libc::ENOSYS)?,
        compile(refused, libc::EPERM)?,
    ])
}

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

fn add(rules: &mut Rules, call: i64, condition: SeccompCondition) -> Result<(), BackendError> {
    let rule = SeccompRule::new(vec![condition])?;
    rules.entry(call).or_default().push(rule);
    Ok(())
}

fn compile(mut rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    if cfg!(target_arch = "x86_64") {
        // The same calls once more, by the numbers of the x32 ABI.
        const X32: i64 = 0x4000_0000;
        let again: Vec<_> = rules
            .iter()
            .map(|(call, r)| (call | X32, r.clone()))
            .collect();
        rules.extend(again);
    }
    let action = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        action,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

/// libc does not name it.
const F_SETOWN_EX: i32 = 15;

/// Calls that do not exist in here.
const ABSENT: &[i64] = &[
    // Its flags lie in memory where a filter cannot see them; libc falls back to `clone`.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
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

/// Calls that act on a process, and the argument that says on which.
const AIMED_AT_A_PROCESS: &[(i64, u8)] = &[
    (libc::SYS_kill, 0),
    (libc::SYS_tkill, 0),
    (libc::SYS_tgkill, 0),
    (libc::SYS_tgkill, 1),
    (libc::SYS_rt_sigqueueinfo, 0),
    (libc::SYS_rt_tgsigqueueinfo, 0),
    (libc::SYS_pidfd_open, 0),
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_migrate_pages, 0),
];

const REFUSED: &[i64] = &[
    // The network; `socketpair` stays, asyncio needs it.
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
    // Objects that would outlive the job.
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Namespaces, mounts and ways around paths.
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
