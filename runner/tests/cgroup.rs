//! A server in a delegated cgroup v2: each worker has a group of its own, in which the kernel counts and kills all of its processes.
//! Creating a group needs root, and limits need the controllers `memory` and `pids`; what a machine does not have is printed and not
//! checked. `make cgroups` runs these tests on a kernel that has all of it.

mod support;

use hipward_protocol::{Capabilities, EventBody, FailureCode};
use std::{
    env, fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};
use support::{Server, final_body, printed, signal};

/// A group that is delegated to a server. It is removed with its drop.
struct Delegated(PathBuf);

impl Delegated {
    /// A new group. None if this machine has no cgroup v2 that the test may change.
    fn create(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("/proc exists");
        let root = mounts.lines().find_map(|line| {
            let mut fields = line.split(' ').skip(1);
            let (target, kind) = (fields.next()?, fields.next()?);
            (kind == "cgroup2").then(|| PathBuf::from(target))
        });
        // systemd removes groups that it has not created.
        let root = root.filter(|_| !Path::new("/run/systemd/system").exists());
        let folder = root?.join(format!("hipward-test-{name}-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&folder) {
            println!("{}: {error}: nothing is checked", folder.display());
            return None;
        }
        for controller in ["memory", "pids"] {
            let control = folder.with_file_name("cgroup.subtree_control");
            if fs::write(control, format!("+{controller}")).is_err() {
                println!("this machine has no controller {controller}: its limit is not checked");
            }
        }
        Some(Delegated(folder))
    }

    /// Starts a server in this group.
    fn serve(&self, flags: &[&str]) -> Server {
        let script = format!(
            "shift; echo $$ > {}/cgroup.procs; exec \"$@\"",
            self.0.display()
        );
        let mut all = vec!["--minimum-isolation", "limits"];
        all.extend(flags);
        Server::start_wrapped_with_copies(&["sh", "-c", &script, "sh"], &all)
    }

    /// The groups of workers.
    fn workers(&self) -> Vec<PathBuf> {
        let below = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let entries = entries.map(|entry| entry.path());
            entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
        };
        let groups = below(&self.0).into_iter().flat_map(|server| below(&server));
        groups
            .filter(|group| group.to_string_lossy().contains("/worker-"))
            .collect()
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        for server in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(server.path().join("server"));
            let _ = fs::remove_dir(server.path());
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// What the kernel enforces, as the server states it: `cgroup v2 (memory, processes, kill)`.
fn mechanism(server: &Server) -> String {
    let (_, body) = server.get("/api/v1/capabilities");
    let capabilities: Capabilities = serde_json::from_str(&body).expect("capabilities");
    let mechanisms = capabilities.isolation.mechanisms;
    let found = mechanisms
        .into_iter()
        .find(|mechanism| mechanism.starts_with("cgroup v2"));
    let found = found.expect("the group is delegated");
    let has_both = found.contains("memory") && found.contains("processes");
    let mut missing = capabilities.isolation.missing.iter();
    assert_eq!(missing.any(|line| line.contains("cgroup v2")), !has_both);
    // A kernel that was chosen for these tests must have everything.
    let is_required = env::var_os("HIPWARD_REQUIRE_CGROUP").is_some();
    assert!(has_both || !is_required, "{found}");
    found
}

/// Waits until a job has printed something.
fn await_output(server: &Server, id: &str) {
    let mut events = server.follow(id, 0);
    assert!(events.any(|event| matches!(event.body, EventBody::Log { .. })));
}

#[test]
fn worker_is_in_a_group_of_its_own_that_is_killed_and_removed() {
    let Some(group) = Delegated::create("kill") else {
        return;
    };
    let server = group.serve(&[]);
    mechanism(&server);
    let name = group.0.file_name().expect("has one").to_string_lossy();
    let of = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("it runs");
    let own = format!("/{name}/hipward-{}/", server.pid());
    assert!(of(server.pid()).contains(&format!("{own}server")));
    let printed = printed(&server.run("print(open('/proc/self/cgroup').read())"));
    assert!(printed.contains(&format!("{own}worker-")), "{printed}");

    // A job whose supervisor is killed, and which has processes that detached.
    let detaches = "
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
print('started', flush=True)
time.sleep(600)
";
    let id = server.submit(detaches).id;
    await_output(&server, &id);
    let groups = group.workers();
    let [worker] = &groups[..] else {
        panic!("one worker runs: {groups:?}");
    };
    let supervisor = worker.to_string_lossy();
    let supervisor = supervisor
        .rsplit_once('-')
        .expect("ends with its process")
        .1;
    let members = || fs::read_to_string(worker.join("cgroup.procs")).unwrap_or_default();
    assert!(members().lines().count() >= 6, "{}", members());
    signal(supervisor.parse().expect("a process"), "-KILL");
    let begin = Instant::now();
    while worker.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{}", members());
        sleep(Duration::from_millis(50));
    }
    assert!(final_body(&server.run("print('next')")).is_final());
    drop(server);
    let begin = Instant::now();
    while !group.workers().is_empty() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{:?}",
            group.workers()
        );
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn kernel_limits_memory_and_threads_of_a_job() {
    let Some(group) = Delegated::create("limits") else {
        return;
    };
    // On a CPU the seccomp filter refuses memory files; GPU drivers need them.
    let server = group.serve(&["--memory-limit", "512MiB", "--no-seccomp"]);
    let mechanism = mechanism(&server);
    if mechanism.contains("memory") {
        // Faster than a check ten times a second could notice: memory files that no process maps.
        let fills = "
import os
held = [os.memfd_create(str(n)) for n in range(3)]
for file in held:
    for n in range(256): os.pwrite(file, bytes(1 << 20), n << 20)
print('has written', flush=True)
import time; time.sleep(600)
";
        let events = server.run(fills);
        let EventBody::Failed(failure) = final_body(&events) else {
            panic!("{events:?}");
        };
        assert_eq!(failure.code, FailureCode::MemoryLimit, "{failure:?}");
        assert!(!printed(&events).contains("has written"));
    }
    if mechanism.contains("processes") {
        let starts = "
import threading, time
threading.stack_size(1 << 16)
for _ in range(50): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print('started', flush=True)
time.sleep(600)
";
        let id = server.submit(starts).id;
        await_output(&server, &id);
        let groups = group.workers();
        let number = |name: &str| {
            let text = fs::read_to_string(groups[0].join(name)).expect("the job runs");
            text.trim().parse::<u64>().expect("a number")
        };
        let (count, limit) = (number("pids.current"), number("pids.max"));
        assert!((50..100).contains(&count), "{count}");
        assert!((1000..100_000).contains(&limit), "{limit}");
        assert_eq!(server.cancel(&id).0, 200);
    }
}
