//! Effects of a job on other processes, and processes that end with it: as root, as a user without privileges, and with an
//! older Landlock ABI, which restricts signals only since version 6.

mod support;

use hipward_protocol::{EventBody, FailureCode, JobState};
use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{ATTEMPT, Server, alive, final_body, printed, signal, state, without_privileges};

/// A process that belongs to no job, with the user of jobs of a server without privileges.
struct Bystander(Child);

impl Bystander {
    fn start() -> Self {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new("sleep");
        if let Some(user) = without_privileges() {
            command.uid(user).gid(user);
        }
        let child = command.arg("600").stdin(Stdio::null()).spawn();
        Bystander(child.expect("sleep runs"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Its state, priority, limits and CPUs.
    fn condition(&self) -> String {
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.pid()));
        let stat = read("stat").expect("it runs");
        let (_, fields) = stat.rsplit_once(") ").expect("a name in brackets");
        let fields: Vec<&str> = fields.split(' ').collect();
        let status = read("status").expect("it runs");
        let allowed = status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed:"));
        let limits = read("limits").expect("it runs");
        // A process that has just started may wait for its program to be read.
        let runs = ["R", "S", "D"].contains(&fields[0]);
        format!("{runs} {} {allowed:?} {limits}", fields[16])
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Tries every call that signals or changes a process, at each target, and prints what was allowed. Follows [`ATTEMPT`].
const ATTACK: &str = r#"
import ctypes, fcntl, os, platform, resource, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments]) < 0:
        raise OSError(ctypes.get_errno())
x86 = platform.machine() == 'x86_64'
TKILL, TGKILL, QUEUE, TGQUEUE, IOPRIO = (200, 234, 129, 297, 251) if x86 else (130, 131, 138, 240, 30)
info = ctypes.create_string_buffer(struct.pack('iii', signal.SIGKILL, 0, -1) + bytes(116))
a, b = socket.socketpair()
for name, (target, thread) in targets.items():
    for number in (target, thread, -target):
        attempt(f'kill {name} {number}', lambda: os.kill(number, signal.SIGKILL))
    for abi in (0, 0x40000000) if x86 else (0,):
        attempt(f'tkill {name}', lambda: call(TKILL | abi, thread, 9))
        attempt(f'tgkill {name}', lambda: call(TGKILL | abi, target, thread, 9))
    attempt(f'sigqueue {name}', lambda: call(QUEUE, target, 9, ctypes.addressof(info)))
    attempt(f'tgsigqueue {name}', lambda: call(TGQUEUE, target, thread, 9, ctypes.addressof(info)))
    for opened in (lambda: os.open(f'/proc/{target}', os.O_RDONLY), lambda: os.pidfd_open(target)):
        attempt(f'pidfd {name}', lambda: signal.pidfd_send_signal(opened(), signal.SIGKILL))
    for value in (target, -target):
        attempt(f'F_SETOWN {name}', lambda: fcntl.fcntl(a, fcntl.F_SETOWN, value))
        attempt(f'FIOSETOWN {name}', lambda: fcntl.ioctl(a, 0x8901, struct.pack('i', value)))
        attempt(f'SIOCSPGRP {name}', lambda: fcntl.ioctl(a, 0x8902, struct.pack('i', value)))
    attempt(f'F_SETOWN_EX {name}', lambda: fcntl.fcntl(a, 15, struct.pack('ii', 1, target)))
    attempt(f'group of {name}', lambda: (os.setpgid(0, target), os.killpg(0, 0)))
    for number in {target, thread}:
        attempt(f'prlimit {name}', lambda: resource.prlimit(number, resource.RLIMIT_NOFILE, (16, 16)))
        attempt(f'affinity {name}', lambda: os.sched_setaffinity(number, {0}))
        attempt(f'scheduler {name}', lambda: os.sched_setscheduler(number, os.SCHED_IDLE, os.sched_param(0)))
        attempt(f'priority {name}', lambda: os.setpriority(os.PRIO_PROCESS, number, 19))
        attempt(f'ioprio {name}', lambda: call(IOPRIO, 1, number, 3 << 13))
attempt('kill all processes', lambda: os.kill(-1, signal.SIGKILL))
attempt('F_SETSIG', lambda: fcntl.fcntl(a, 10, signal.SIGKILL))
attempt('priority of the user', lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt('ioprio of the user', lambda: call(IOPRIO, 3, 0, 3 << 13))
print('tried')
"#;

/// Calls by which programs manage their own processes.
const OWN_PROCESSES: &str = r#"
import ctypes, multiprocessing, os, signal, subprocess, sys, threading, time
handled = []
signal.signal(signal.SIGUSR1, lambda *_: handled.append('self'))
os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
os.kill(0, 0)
assert handled == ['self', 'self'], handled
try:
    subprocess.run(['sleep', '60'], timeout=0.1)
except subprocess.TimeoutExpired:
    print('timeout')
worker = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,))
worker.start()
worker.terminate()
worker.join()
print('terminated', worker.exitcode)
group = subprocess.Popen(['sh', '-c', 'sleep 60 & sleep 60'], start_new_session=True)
os.killpg(group.pid, signal.SIGTERM)
print('group', group.wait())
# A child signals itself and its parent.
child = os.fork()
if child == 0:
    os.kill(os.getppid(), signal.SIGUSR1)
    os.abort()
print('aborted', os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGABRT, len(handled))
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.sched_setaffinity(threading.get_native_id(), os.sched_getaffinity(0))
os.nice(1)
"#;

/// The id of a thread other than the first. Signals can be sent to it too.
fn a_thread_of(process: u32) -> u32 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let numbers = threads
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.max().expect("it has threads")
}

fn attacked(server: &Server) {
    let bystander = Bystander::start();
    let before = bystander.condition();
    // The job runs in this worker.
    let supervisor = server.supervisor(server.idle_worker());
    let code = format!(
        "import os
targets = {{'supervisor': ({supervisor}, {supervisor}), 'server': ({server}, {thread}), 'bystander': ({bystander}, {bystander})}}
{ATTEMPT}{ATTACK}",
        supervisor = supervisor.expect("runs below the server"),
        server = server.pid(),
        thread = a_thread_of(server.pid()),
        bystander = bystander.pid(),
    );
    let events = server.run(&code);
    assert_eq!(printed(&events).trim(), "tried", "{events:?}");
    assert_eq!(state(&events), JobState::Done);
    assert_eq!(bystander.condition(), before);
}

fn manages_its_own(server: &Server) {
    let events = server.run(OWN_PROCESSES);
    assert_eq!(
        printed(&events).trim(),
        "timeout\nterminated -15\ngroup -15\naborted True 3",
        "{events:?}"
    );
}

#[test]
fn signals_do_not_reach_other_processes() {
    for flags in [&[][..], &["--no-bubblewrap"]] {
        // With a Python that users of jobs can read: in a closed folder it needs Landlock or bubblewrap.
        let server = Server::start_with_copies(None, flags);
        attacked(&server);
        manages_its_own(&server);
    }
}

#[test]
fn signals_do_not_reach_other_processes_without_root_and_landlock() {
    for flags in [
        &["--newest-landlock", "0", "--no-bubblewrap"][..],
        &["--newest-landlock", "5", "--no-bubblewrap"],
        &["--newest-landlock", "0"],
    ] {
        let server = Server::start_without_privileges(flags);
        attacked(&server);
        manages_its_own(&server);
    }
}

/// A job that leaves a fully detached process.
fn with_a_daemon(marker: &str) -> String {
    let (name, value) = marker.split_once('=').expect("is a variable");
    format!(
        "import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execve(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)'], {{'{name}': '{value}'}})
print('started', flush=True)
time.sleep(600)"
    )
}

/// Signals the supervisor of a running job, and checks that no process of the job is left.
fn ends_with_its_supervisor(server: &Server, name: &str, within: Duration) {
    let marker = format!(
        "HIPWARD_TEST_{}={}",
        name.trim_start_matches('-'),
        server.port()
    );
    let id = server.submit(&with_a_daemon(&marker)).id;
    let start = Instant::now();
    let daemon: u32 = loop {
        if let Some(daemon) = alive(&marker).first() {
            let id = daemon.split(' ').next().unwrap_or_default();
            break id.parse().expect("a process id");
        }
        assert!(start.elapsed() < within, "no daemon was started");
        thread::sleep(Duration::from_millis(20));
    };
    let supervisor = server.supervisor(daemon);
    signal(supervisor.expect("runs below the server"), name);
    let start = Instant::now();
    let job = server.wait_for(&id, |job| job.state.is_final());
    assert_eq!(job.state, JobState::Failed);
    let EventBody::Failed(failure) = final_body(&server.events(&id, 0)) else {
        panic!("it did not fail");
    };
    assert_eq!(failure.code, FailureCode::Internal, "{failure:?}");
    while !alive(&marker).is_empty() {
        assert!(start.elapsed() < within, "its daemon lives on");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(state(&server.run("print('next')")), JobState::Done);
    assert!(start.elapsed() < within, "{:?}", start.elapsed());
}

#[test]
fn job_ends_with_its_supervisor_and_the_queue_continues() {
    for server in [
        Server::start(&[]),
        Server::start_with_copies(None, &["--no-bubblewrap"]),
        Server::start_without_privileges(&[]),
    ] {
        ends_with_its_supervisor(&server, "-KILL", Duration::from_secs(30));
        // A stopped supervisor does not respond. The server waits for a while before it kills it.
        ends_with_its_supervisor(&server, "-STOP", Duration::from_secs(90));
    }
}
