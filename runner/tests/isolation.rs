//! Hostile snippets: each job ends in the right state with a reason and leaves no process or file, and
//! the next job runs.

mod support;

use hipward_protocol::{EventBody, FailureCode, JobState, Measurement};
use std::{
    fs,
    net::TcpListener,
    os::unix::{
        fs::PermissionsExt,
        net::{UnixDatagram, UnixListener},
    },
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use support::{ATTEMPT, SYSTEM_PYTHON, Server, alive, printed, state, without_privileges};

/// Limits that are small enough for a test. The time limit is not, because other limits may take long to be reached on a
/// busy machine.
const STRICT: &[&str] = &["--memory-limit", "512MiB"];

/// Checks that the server works: the next job runs, and only its next worker is left.
fn assert_well(server: &Server) {
    assert_eq!(state(&server.run("print('next')")), JobState::Done);
    support::assert_nothing_left(server.data.path(), 1);
}

/// Runs code that must fail for this reason.
fn assert_fails(server: &Server, code: &str, reason: FailureCode, words: &str) {
    let (code, message) = server.failure(code);
    assert_eq!(code, reason, "{message}");
    assert!(message.contains(words), "{message}");
}

/// Runs code that prints what it could do, and returns what it printed.
fn attempt(server: &Server, code: &str) -> String {
    let events = server.run(code);
    assert_eq!(state(&events), JobState::Done, "{events:?}");
    printed(&events)
}

#[test]
fn snippet_that_sleeps_is_stopped_at_the_time_limit() {
    let server = Server::start(&["--wall-limit", "3"]);
    let sleep = "import time\nwhile True: time.sleep(60)";
    assert_fails(&server, sleep, FailureCode::Timeout, "3 seconds");
    assert_well(&server);
}

#[test]
fn fork_bomb_is_stopped_and_leaves_no_process() {
    let server = Server::start(&[]);
    // Python and libc raise an error when the kernel refuses a fork. A fork bomb ignores it.
    let bomb = "import os, time\nwhile True:\n try: os.fork()\n except OSError: time.sleep(0.01)";
    let (code, message) = server.failure(bomb);
    assert_eq!(code, FailureCode::ProcessLimit, "{message}");
    assert_well(&server);
}

#[test]
fn unlimited_allocation_is_stopped() {
    let server = Server::start(STRICT);
    let at_once = "held = []\nwhile True: held.append(bytearray(64 << 20))";
    assert_eq!(server.failure(at_once).0, FailureCode::MemoryLimit);
    // Distributed over processes.
    let spread = "import os, time\nfor _ in range(8):\n if os.fork() == 0:\n  held = bytearray(os.urandom(1)) * (200 << 20)\n  time.sleep(600)\ntime.sleep(600)";
    assert_eq!(server.failure(spread).0, FailureCode::MemoryLimit);
    assert_well(&server);
}

#[test]
fn memory_files_count_as_memory() {
    let server = Server::start(STRICT);
    // Pages of a shared mapping remain allocated after they are unmapped, and appear in no process's usage.
    let code = "
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
def memfd_secret():
    if libc.syscall(447, 0) < 0:
        raise OSError
attempt('memfd', lambda: os.memfd_create('x'))
attempt('memfd_secret', memfd_secret)
attempt('shared', lambda: mmap.mmap(-1, 1 << 20))
attempt('shared, checked', lambda: mmap.mmap(-1, 1 << 20, flags=3 | mmap.MAP_ANONYMOUS))
mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)[0] = 1
print('tried')";
    let code = format!("{ATTEMPT}{code}");
    assert_eq!(attempt(&server, &code).trim(), "tried");
}

#[test]
fn socket_buffers_count_as_memory() {
    let server = Server::start(STRICT);
    let code = "
import os, resource, socket, time
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (1024, 1024)
a, b = socket.socketpair()
try:
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    print('ALLOWED')
except PermissionError:
    pass
for _ in range(6):
    if os.fork() == 0:
        held = [socket.socketpair() for _ in range(450)]
        for pair in held:
            for end in pair:
                end.setblocking(False)
                try:
                    while True: end.send(bytes(4096))
                except BlockingIOError:
                    pass
        time.sleep(600)
time.sleep(600)";
    let events = server.run(code);
    let EventBody::Failed(failure) = support::final_body(&events) else {
        panic!("it did not fail: {events:?}");
    };
    assert_eq!(failure.code, FailureCode::MemoryLimit, "{failure:?}");
    assert_eq!(printed(&events), "");
    assert_well(&server);
}

#[test]
fn unlinked_files_count_as_disk_usage() {
    let server = Server::start(&[]);
    let hidden = "
import errno, os, time
try:
    os.open('.', os.O_TMPFILE | os.O_RDWR)
    print('ALLOWED')
except OSError as error:
    assert error.errno == errno.EOPNOTSUPP
held = []
for _ in range(5):
    file = open('x', 'wb')
    os.unlink('x')
    os.posix_fallocate(file.fileno(), 0, 1 << 30)
    held.append(file)
time.sleep(600)";
    let events = server.run(hidden);
    let EventBody::Failed(failure) = support::final_body(&events) else {
        panic!("it did not fail: {events:?}");
    };
    assert_eq!(failure.code, FailureCode::OutputLimit, "{failure:?}");
    assert_eq!(printed(&events), "");
    // Unnamed temporary files still work, created as named files and unlinked.
    let temporary =
        "import tempfile\nwith tempfile.TemporaryFile() as f: f.write(b'x'); print('fine')";
    assert_eq!(attempt(&server, temporary).trim(), "fine");
    assert_well(&server);
}

#[test]
fn excessive_output_is_stopped_and_its_start_is_stored() {
    let server = Server::start(STRICT);
    let events = server.run("import sys\nfor _ in range(100): sys.stdout.write('x' * (1 << 20))");
    let EventBody::Failed(failure) = support::final_body(&events) else {
        panic!("it did not fail");
    };
    assert_eq!(failure.code, FailureCode::OutputLimit);
    let stored = printed(&events).len();
    assert!((64 * 1024..66 * 1024).contains(&stored), "{stored}");
    assert_well(&server);
}

#[test]
fn filling_the_disk_is_stopped() {
    let server = Server::start(&[]);
    // Many files, each below the limit for one file, on a disk of any speed.
    let fill = "import itertools\nfor i in itertools.count():\n  open(f'{i}', 'w').close()\n";
    assert_fails(
        &server,
        fill,
        FailureCode::OutputLimit,
        "more than 200000 files",
    );
    // Built from the inside out, because a path of that depth is too long.
    let deep = "import os, time\nos.mkdir('a')\nfor i in range(3000):\n  os.mkdir('b')\n  os.rename('a', 'b/d')\n  os.rename('b', 'a')\ntime.sleep(600)";
    assert_fails(&server, deep, FailureCode::OutputLimit, "cannot be read");
    assert_well(&server);
}

#[test]
fn folder_that_a_job_has_closed_is_removed_without_root() {
    let server = Server::start_without_privileges(&[]);
    let code = "import os\nos.makedirs('in/ner')\nopen('in/ner/file', 'w').close()\nos.chmod('in', 0)\nos.chmod('.', 0)\nprint('closed')";
    // The supervisor may stop the job first, because it cannot count the files.
    assert_eq!(printed(&server.run(code)).trim(), "closed");
    assert_well(&server);
}

/// A server without users for its jobs could run none.
#[test]
fn users_of_jobs_cannot_be_reserved_by_a_job() {
    let server = Server::start(STRICT);
    if without_privileges().is_none() {
        return;
    }
    let code = "
import os, socket
folder = '/run/hipward/users'
attempt('list', lambda: os.listdir(folder))
for uid in (os.getuid(), 61184, 65519):
    attempt(uid, lambda: os.open(f'{folder}/{uid}', os.O_RDWR | os.O_CREAT))
    a, b = socket.socketpair(type=socket.SOCK_DGRAM)
    attempt('name', lambda: b.bind(f'\\0hipward-uid-{uid}'))
print('tried')";
    let code = format!("{ATTEMPT}{code}");
    assert_eq!(attempt(&server, &code).trim(), "tried");
    assert!(Path::new("/run/hipward/users").is_dir());
}

#[test]
fn daemon_in_another_session_is_killed_with_the_job() {
    let server = Server::start(STRICT);
    let marker = format!("HIPWARD_TEST_DAEMON={}", server.port());
    let (name, value) = marker.split_once('=').expect("is a variable");
    let daemon = format!(
        "import os, sys, time
for _ in range(2):
    if os.fork():
        break
    os.setsid()
else:
    os.execve(sys.executable, [sys.executable, '-c', 'import signal, time; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]; time.sleep(600)'], {{'{name}': '{value}'}})
time.sleep(0.5)"
    );
    assert_eq!(state(&server.run(&daemon)), JobState::Done);
    assert_eq!(alive(&marker), Vec::<String>::new());
    assert_well(&server);
}

#[test]
fn server_and_supervisor_cannot_be_killed() {
    let server = Server::start(STRICT);
    let code = format!(
        "import os, signal
server = {server}
for target in (os.getppid(), server, -1, -server, -os.getppid()):
    try:
        os.kill(target, signal.SIGKILL)
        print('killed', target)
    except OSError as error:
        print(type(error).__name__)
import fcntl
try:
    fcntl.fcntl(0, fcntl.F_SETOWN, server)
    print('aimed')
except OSError as error:
    print(type(error).__name__)",
        server = server.pid()
    );
    let text = attempt(&server, &code);
    assert!(
        !text.contains("killed") && !text.contains("aimed"),
        "{text}"
    );
    assert_well(&server);
}

#[test]
fn sockets_cannot_be_opened_or_reached() {
    let server = Server::start(STRICT);
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let unix_path = server.data.path().join("socket");
    let _unix = UnixListener::bind(&unix_path).expect("a socket");
    let code = format!(
        "import socket
for family, kind in [(socket.AF_INET, 1), (socket.AF_INET, 2), (socket.AF_INET6, 1), (socket.AF_INET6, 2), (socket.AF_UNIX, 1), (socket.AF_NETLINK, 3)]:
    try:
        socket.socket(family, kind)
        print('opened', family)
    except PermissionError:
        pass
for reach in (lambda: socket.create_connection(('127.0.0.1', {own})), lambda: socket.create_connection(('127.0.0.1', {other}))):
    try:
        reach()
        print('reached')
    except OSError:
        pass
a, b = socket.socketpair()
a.send(b'pair works')
print(b.recv(10).decode())",
        own = server.port(),
        other = tcp.local_addr().expect("an address").port(),
    );
    let text = attempt(&server, &code);
    assert_eq!(text.trim(), "pair works");
}

#[test]
fn messages_do_not_reach_sockets_of_the_host() {
    let server = Server::start(STRICT);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let with_mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(folder.path(), with_mode(0o755)).expect("ours");
    let path = folder.path().join("socket");
    let outside = UnixDatagram::bind(&path).expect("a socket");
    fs::set_permissions(&path, with_mode(0o777)).expect("ours");
    let code = format!(
        "import os, socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for what, act in {{
    'sendto': lambda: a.sendto(b'hello', {path:?}),
    'sendmsg': lambda: a.sendmsg([b'hello'], [], 0, {path:?}),
    'connect': lambda: a.connect({path:?}),
    'bind': lambda: a.bind('own'),
    'bind, abstract': lambda: b.bind(chr(0) + 'hipward-uid-65519'),
}}.items():
    try:
        act()
        print('ALLOWED', what)
    except OSError:
        pass
a.send(b'pair works')
print(b.recv(20).decode())"
    );
    assert_eq!(attempt(&server, &code).trim(), "pair works");
    outside.set_nonblocking(true).expect("a socket");
    assert!(outside.recv(&mut [0; 8]).is_err(), "a message came through");
}

#[test]
fn job_cannot_bypass_file_permissions() {
    let server = Server::start(&["--python", SYSTEM_PYTHON]);
    let folder = tempfile::tempdir_in("/opt").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder that jobs could reach");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").expect("a file");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("ours");
    let code = format!(
        "for path in ({secret:?}, '/etc/shadow'):
    try:
        print('READ', open(path).read())
    except OSError:
        pass
print([line.split()[1] for line in open('/proc/self/status') if line.startswith('Cap')])"
    );
    if without_privileges().is_some() {
        let none = "0000000000000000";
        let text = attempt(&server, &code);
        assert_eq!(text.trim(), format!("{:?}", [none; 5]).replace('"', "'"));
    }
    let (_, capabilities) = server.get("/api/v1/capabilities");
    assert!(!capabilities.contains("file permissions"), "{capabilities}");
}

#[test]
fn unreadable_python_requires_landlock() {
    if without_privileges().is_none() {
        return;
    }
    let closed = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let made = Command::new(SYSTEM_PYTHON)
        .args(["-m", "venv", "--without-pip"])
        .arg(closed.path())
        .status();
    assert!(made.expect("python3 runs").success());
    let python = closed.path().join("bin/python");
    let flags = ["--python", python.to_str().expect("a path")];

    let open = Server::start(&[&flags[..], &["--newest-landlock", "0"]].concat());
    let (status, refused) = open.post(&serde_json::json!({"code": "print(1)"}));
    assert_eq!(status, 503, "{refused}");
    assert_eq!(support::problem(&refused).code, "python-unreadable");
    let name = closed.path().to_str().expect("a path");
    assert!(refused.contains(name), "{refused}");

    let fenced = Server::start(&flags);
    if fenced.fences_files() {
        assert_eq!(attempt(&fenced, "print('runs')").trim(), "runs");
        let (_, capabilities) = fenced.get("/api/v1/capabilities");
        assert!(capabilities.contains("file permissions"), "{capabilities}");
        assert!(capabilities.contains(name), "{capabilities}");
    }
}

#[test]
fn proc_folders_of_other_processes_cannot_be_read() {
    let server = Server::start(STRICT);
    if !server.fences_files() {
        return;
    }
    let (_, capabilities) = server.get("/api/v1/capabilities");
    let code = format!(
        "import os
others = ['/proc', '/proc/1/cmdline', f'/proc/{{os.getppid()}}/cmdline']
if {in_namespace}:
    # These are bubblewrap's, in a namespace of the job's own.
    others = []
    numbers = [int(name) for name in os.listdir('/proc') if name.isdigit()]
    if len(numbers) > 4 or max(numbers) > 100: print('OTHERS', numbers)
for path in others + ['/proc/{pid}/cmdline', '/proc/{pid}/task', '/proc/{pid}/net/tcp', '/proc/{pid}/stat']:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).read()
        print('READ', path)
    except OSError:
        pass
# What PyTorch reads.
for path in ['/proc/self/maps', '/proc/self/status', '/proc/self/cmdline', '/proc/cpuinfo', '/proc/meminfo', '/proc/stat', '/proc/sys/kernel/osrelease', '/proc/self/task/self/comm'.replace('task/self', 'task/' + str(os.getpid()))]:
    assert open(path).read(), path
print('tried')",
        pid = server.pid(),
        in_namespace = if capabilities.contains("Landlock ABI") {
            "False"
        } else {
            "True"
        },
    );
    assert_eq!(attempt(&server, &code).trim(), "tried");
}

#[test]
fn data_folder_is_closed_to_other_users() {
    let mut server = Server::start(STRICT);
    assert_eq!(attempt(&server, "print(1)").trim(), "1");
    let data = server.data.path().to_owned();
    let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    // Jobs of a root server have users of their own, who can traverse the folder.
    let folder_mode = if without_privileges().is_some() {
        0o711
    } else {
        0o700
    };
    let are_closed = || {
        assert_eq!(mode(&data), folder_mode);
        assert_eq!(mode(&data.join("workers")), folder_mode);
        let mut files = 0;
        for entry in fs::read_dir(&data).expect("readable").flatten() {
            if entry.file_type().expect("a type").is_file() {
                assert_eq!(mode(&entry.path()), 0o600, "{entry:?}");
                files += 1;
            }
        }
        assert!(files >= 2, "lock and database");
        for entry in fs::read_dir(data.join("workers"))
            .expect("readable")
            .flatten()
        {
            assert_eq!(mode(&entry.path()), 0o700, "{entry:?}");
        }
    };
    are_closed();
    server.stop();
    // As created by earlier versions.
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("ours");
    let database = data.join("jobs.sqlite");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).expect("ours");
    server.restart(STRICT);
    assert_eq!(attempt(&server, "print(1)").trim(), "1");
    are_closed();
}

#[test]
fn worker_starts_with_a_low_limit_on_descriptors() {
    let server = Server::start(STRICT);
    let lowered = Command::new("prlimit")
        .args(["--nofile=256:256", "--pid", &server.pid().to_string()])
        .status();
    assert!(lowered.expect("prlimit runs").success());
    // The first job runs in a worker that was started before.
    assert_eq!(attempt(&server, "print(1)").trim(), "1");
    let code = "import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))";
    assert_eq!(attempt(&server, code).trim(), "(256, 256)");
}

#[test]
fn dangerous_system_calls_are_denied() {
    let server = Server::start(STRICT);
    // x86-64 numbers, and the same calls in the x32 ABI.
    let code = "
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    'ptrace': 101, 'process_vm_readv': 310, 'mount': 165, 'unshare': 272, 'setns': 308, 'bpf': 321, 'keyctl': 250,
    'userfaultfd': 323, 'perf_event_open': 298, 'io_uring_setup': 425, 'open_by_handle_at': 304, 'kexec_load': 246,
    'init_module': 175, 'clone3': 435, 'pidfd_getfd': 438, 'shmget': 29, 'pivot_root': 155, 'chroot': 161,
}
if platform.machine() == 'x86_64':
    for name, number in calls.items():
        for abi in (0, 0x40000000):
            ctypes.set_errno(0)
            result = libc.syscall(ctypes.c_long(number | abi), 0x10000000, 0, 0, 0, 0)
            if result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
                print('allowed', name, abi, result, ctypes.get_errno())
    # A namespace by way of clone.
    result = libc.syscall(ctypes.c_long(56), 0x10000000 | 17, 0, 0, 0, 0)
    if result == 0:
        import os; os._exit(0)
    if result != -1:
        print('allowed clone')
print('tried')
";
    assert_eq!(attempt(&server, code).trim(), "tried");
}

#[test]
fn only_the_private_directory_is_writable() {
    let server = Server::start(STRICT);
    if !server.fences_files() {
        return;
    }
    let outside = tempfile::tempdir().expect("a temporary folder");
    let code = format!(
        "import os
def tries(what, act):
    try:
        act()
        print('DID', what)
    except OSError:
        pass
outside = {outside:?}
tries('write', lambda: open(outside + '/x', 'w'))
tries('tmp', lambda: open('/tmp/hipward-test-x', 'w'))
tries('shm', lambda: open('/dev/shm/hipward-test-x', 'w'))
tries('home', lambda: open({data:?} + '/x', 'w'))
tries('list', lambda: os.listdir(outside))
os.symlink(outside, 'link')
tries('through a link', lambda: open('link/x', 'w'))
tries('hard link', lambda: os.link({database:?}, 'database'))
tries('rename out', lambda: (open('mine', 'w').close(), os.rename('mine', outside + '/mine')))
tries('climb', lambda: open('../../jobs.sqlite', 'rb'))
open('inside', 'w').write('fine')
print(open('inside').read(), os.path.realpath(os.environ['HOME']) == os.getcwd())",
        outside = outside.path(),
        data = server.data.path(),
        database = server.data.path().join("jobs.sqlite"),
    );
    assert_eq!(attempt(&server, &code).trim(), "fine True");
    assert_eq!(fs::read_dir(outside.path()).expect("readable").count(), 0);
    assert_well(&server);
}

#[test]
fn secrets_of_the_host_cannot_be_read() {
    let server = Server::start(STRICT);
    if !server.fences_files() {
        return;
    }
    let code = format!(
        "import glob
for path in [{database:?}, '/etc/shadow', '/etc/passwd', '/etc/group', '/proc/{pid}/environ', '/proc/{pid}/mem', '/proc/{pid}/maps', '{home}/.bashrc', '{home}/.ssh/id_rsa']:
    try:
        with open(path, 'rb') as file:
            file.read(1)
        print('READ', path)
    except OSError:
        pass
print('tried')",
        database = server.data.path().join("jobs.sqlite"),
        pid = server.pid(),
        home = std::env::var("HOME").expect("the operator's home"),
    );
    assert_eq!(attempt(&server, &code).trim(), "tried");
}

#[test]
fn folders_in_the_operators_python_path_cannot_be_read() {
    let home = tempfile::tempdir().expect("a folder");
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(home.path(), open).expect("is ours");
    let secret = home.path().join("secret");
    fs::write(&secret, "a private key").expect("is written");
    let path = home.path().to_str().expect("text");
    let server = Server::start_with_environment(&[("PYTHONPATH", path)], &[]);
    if !server.fences_files() {
        return;
    }
    let code = format!("open({:?}).read()", secret.display().to_string());
    let (_, message) = server.failure(&code);
    // In namespaces it does not exist.
    let reasons = ["Permission denied", "No such file"];
    assert!(
        reasons.iter().any(|reason| message.contains(reason)),
        "{message}"
    );
}

#[test]
fn worker_has_user_name_and_home_without_passwd() {
    let server = Server::start(STRICT);
    // Functions that PyTorch and Triton call for the folders of their caches.
    let code = "import getpass, os, pathlib
home = os.environ['HOME']
print(getpass.getuser(), {home} == {os.path.expanduser('~'), str(pathlib.Path.home())})";
    assert_eq!(attempt(&server, code).trim(), "hipward True");
}

#[test]
fn environment_is_clean_and_descriptors_are_closed() {
    // Inherited by the server. Jobs must not inherit it. The variable that is left out is the server's own.
    let server = Server::start(STRICT);
    let code = "import os\nprint(sorted(os.environ.keys() - {'HIPWARD_CPP_HEADERS'}))\nprint(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:4], len(os.listdir('/proc/self/fd')))";
    let text = attempt(&server, code);
    for leaked in ["CARGO", "HIPWARD", "SSH", "TOKEN"] {
        assert!(!text.contains(leaked), "{text}");
    }
    // The three standard descriptors, the events, and the one of the listing itself.
    assert!(text.contains("[0, 1, 2, 3] 5"), "{text}");
}

#[test]
fn invalid_protocol_lines_fail_only_the_job() {
    let server = Server::start(STRICT);
    for code in [
        "import os\nos.write(3, b'not json\\n')\nimport time; time.sleep(60)",
        "say('samples', variant='eager', round=0, ms=[-1.0])",
        "say('ready')",
        "import os\nos.write(3, b'{\"type\":\"finished\"}\\n')\nimport time; time.sleep(60)",
        "secret['nonce'] = 'guessed'\nsay('finished')",
        "import os\nwhile True: os.write(3, b'x' * 65536)",
    ] {
        let (failure, message) = server.failure(code);
        assert_eq!(failure, FailureCode::Internal, "{message}");
    }
    assert_well(&server);
}

#[test]
fn unexpected_exit_is_a_crash() {
    let server = Server::start(STRICT);
    let exit = "import os\nos._exit(7)";
    assert_fails(&server, exit, FailureCode::Crashed, "7");
    let fault = "import os\nos.kill(os.getpid(), 11)";
    assert_fails(&server, fault, FailureCode::Crashed, "SIGSEGV");
    assert_well(&server);
}

#[test]
fn workers_die_with_a_killed_server() {
    let mut server = Server::start(&["--wall-limit", "60"]);
    let id = server
        .submit("import os, time\nos.fork()\nos.setsid() if os.fork() == 0 else 0\nprint('running', flush=True)\ntime.sleep(600)")
        .id;
    server.stream(&id, 0, 3);
    let homes: Vec<String> = fs::read_dir(server.data.path().join("workers"))
        .expect("readable")
        .flatten()
        .map(|entry| format!("HOME={}", entry.path().display()))
        .collect();
    assert!(
        homes.iter().any(|home| !alive(home).is_empty()),
        "a worker runs"
    );
    server.kill();
    let start = Instant::now();
    while homes.iter().any(|home| !alive(home).is_empty()) {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "workers outlive their server"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn result_states_the_isolation() {
    let server = Server::start(STRICT);
    let events = server.run("environment()");
    let environment = events.iter().find_map(|event| match &event.body {
        EventBody::Measured(Measurement::Environment(environment)) => Some(environment),
        _ => None,
    });
    let isolation = environment
        .expect("is in the log")
        .isolation
        .as_ref()
        .expect("is stated");
    let (_, capabilities) = server.get("/api/v1/capabilities");
    let capabilities: hipward_protocol::Capabilities =
        serde_json::from_str(&capabilities).expect("capabilities");
    assert_eq!(isolation.level, capabilities.isolation.level);
    assert!(!isolation.mechanisms.is_empty());
}

#[test]
fn compilers_work_in_the_sandbox() {
    let server = Server::start(&[]);
    // The steps of torch.compile on a CPU: files in TMPDIR, a compiler run, a library, loading it.
    let code = "
import ctypes, os, subprocess, tempfile
folder = tempfile.mkdtemp()
assert folder.startswith(os.environ['TMPDIR']), folder
assert os.access(os.environ['TMPDIR'], os.W_OK) and os.access(os.__file__, os.R_OK)
open(folder + '/a.c', 'w').write('int answer() { return 42; }')
subprocess.run(['cc', '-shared', '-fPIC', '-o', folder + '/a.so', folder + '/a.c'], check=True)
print(ctypes.CDLL(folder + '/a.so').answer())
";
    assert_eq!(attempt(&server, code).trim(), "42");
}
