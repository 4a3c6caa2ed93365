//! The isolation of a job with every combination of mechanisms: as root and as another user, with no, an old and the newest Landlock,
//! with and without seccomp, with and without cgroups, with and without bubblewrap. Each result states its level, and the level is what the job finds.

mod support;

use hipward_protocol::{Environment, EventBody, IsolationLevel, Measurement};
use std::{env, fs, os::unix::fs::PermissionsExt, path::Path};
use support::{Server, copies_for_everyone, printed, without_privileges};

/// What a job could do, and the isolation that its result states.
struct Found {
    environment: Environment,
    opens_sockets: bool,
    reads_outside: bool,
    /// Whether its cgroup is one of a worker.
    has_cgroup: bool,
    /// Which of its namespaces are not those of this test.
    namespaces: Vec<&'static str>,
    /// Whether the file exists for it, although it may not be readable.
    sees_outside: bool,
}

/// The namespaces that bubblewrap creates, as in /proc.
const NAMESPACES: [&str; 5] = ["ipc", "mnt", "net", "pid", "uts"];

/// Runs a job that attempts to open a socket and to read a file that every user may read.
fn run(server: &Server, outside: &Path) -> Found {
    let code = format!(
        "
import socket
environment()
try:
    socket.socket().close()
    print('opens-sockets')
except OSError: pass
try:
    open({0:?}).close()
    print('reads-outside')
except OSError: pass
print(open('/proc/self/cgroup').read())
import os
print('exists', os.path.lexists({0:?}))
for name in {NAMESPACES:?}:
    print('namespace', os.readlink('/proc/self/ns/' + name))
",
        outside.display().to_string()
    );
    let events = server.run(&code);
    let environment = events.iter().find_map(|event| match &event.body {
        EventBody::Measured(Measurement::Environment(environment)) => Some(environment.clone()),
        _ => None,
    });
    let output = printed(&events);
    let is_own = |name: &&str| {
        let ours = fs::read_link(format!("/proc/self/ns/{name}")).expect("has a namespace");
        !output.contains(&format!("namespace {}", ours.display()))
    };
    assert_eq!(
        output.matches("namespace ").count(),
        NAMESPACES.len(),
        "{output}"
    );
    Found {
        environment: environment.unwrap_or_else(|| panic!("it did not run: {events:?}")),
        opens_sockets: output.contains("opens-sockets"),
        reads_outside: output.contains("reads-outside"),
        has_cgroup: output.contains("/worker-"),
        namespaces: NAMESPACES.into_iter().filter(is_own).collect(),
        sees_outside: output.contains("exists True"),
    }
}

/// The mechanisms that a server may use. A kernel may lack them.
#[derive(Clone, Copy)]
struct Permitted {
    /// The newest Landlock ABI.
    newest: Option<u32>,
    seccomp: bool,
    cgroup: bool,
    bubblewrap: bool,
}

/// Checks a server with these mechanisms. Returns whether Landlock is among them.
fn check(start: impl Fn(&[&str]) -> Server, permitted: Permitted, outside: &Path) -> bool {
    let Permitted {
        newest,
        seccomp,
        cgroup,
        bubblewrap,
    } = permitted;
    let abi = newest.map(|abi| abi.to_string());
    let mut flags = vec!["--minimum-isolation", "limits"];
    if let Some(abi) = &abi {
        flags.extend(["--newest-landlock", abi]);
    }
    if !seccomp {
        flags.push("--no-seccomp");
    }
    if !cgroup {
        flags.push("--no-cgroup");
    }
    if !bubblewrap {
        flags.push("--no-bubblewrap");
    }
    let server = start(&flags);
    let (_, capabilities) = server.get("/api/v1/capabilities");
    let capabilities: hipward_protocol::Capabilities =
        serde_json::from_str(&capabilities).expect("capabilities");
    let found = run(&server, outside);
    let isolation = found.environment.isolation.expect("is stated");
    assert_eq!(isolation, capabilities.isolation, "{flags:?}");
    let has = |mechanism: &str| {
        let mut mechanisms = isolation.mechanisms.iter();
        mechanisms.any(|known| known.starts_with(mechanism))
    };
    assert!(!has("Landlock") || newest != Some(0), "{isolation:?}");
    assert!(!has("seccomp") || seccomp, "{isolation:?}");
    let in_namespaces = has("bubblewrap");
    // Where namespaces are forbidden, the reason is stated.
    let reason = isolation
        .missing
        .iter()
        .find(|missing| missing.contains("bubblewrap"));
    assert_eq!(in_namespaces, reason.is_none(), "{isolation:?}");
    assert!(!in_namespaces || bubblewrap, "{isolation:?}");
    if bubblewrap && env::var_os("HIPWARD_REQUIRE_BUBBLEWRAP").is_some() {
        assert!(in_namespaces, "{isolation:?}");
    }
    let restricts_files = has("Landlock") || in_namespaces;
    let expected = match (has("seccomp"), in_namespaces, has("Landlock")) {
        (false, ..) => IsolationLevel::Limits,
        (true, true, _) => IsolationLevel::Namespaces,
        (true, false, true) => IsolationLevel::Files,
        (true, false, false) => IsolationLevel::Syscalls,
    };
    assert_eq!(isolation.level, expected, "{isolation:?}");
    assert_eq!(found.opens_sockets, !has("seccomp"), "{isolation:?}");
    assert_eq!(found.reads_outside, !restricts_files, "{isolation:?}");
    let namespaces: &[&str] = if in_namespaces { &NAMESPACES } else { &[] };
    assert_eq!(found.namespaces, namespaces, "{isolation:?}");
    assert_eq!(found.sees_outside, !in_namespaces, "{isolation:?}");
    assert!(!has("cgroup v2") || cgroup, "{isolation:?}");
    assert_eq!(found.has_cgroup, has("cgroup v2"), "{isolation:?}");
    if !has("seccomp") || !has("Landlock") || newest.is_some() || !cgroup || !bubblewrap {
        assert!(
            !isolation.missing.is_empty(),
            "what a stronger isolation needs is listed: {isolation:?}"
        );
    }
    has("Landlock")
}

/// A file that every user of the host may read.
fn readable() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(folder.path(), open(0o755)).expect("is ours");
    let file = folder.path().join("outside");
    fs::write(&file, "x").expect("is written");
    fs::set_permissions(file, open(0o644)).expect("is ours");
    folder
}

/// Checks every combination, for servers of one user.
fn check_all(user: Option<u32>) {
    let folder = readable();
    let outside = folder.path().join("outside");
    // As root, jobs run as users of their own, who need a program and a Python that they can read.
    let copies = copies_for_everyone();
    let start = |flags: &[&str]| Server::start_from(copies.path(), user, flags);
    // The newest first: without Landlock, the older versions are the same.
    for newest in [None, Some(4), Some(0)] {
        let mut has_landlock = true;
        for bits in 0..8 {
            let permitted = Permitted {
                newest,
                seccomp: bits & 1 == 0,
                cgroup: bits & 2 == 0,
                bubblewrap: bits & 4 == 0,
            };
            has_landlock = check(start, permitted, &outside);
        }
        if newest.is_none() && !has_landlock {
            return;
        }
    }
}

#[test]
fn level_of_each_combination_is_what_the_job_finds() {
    check_all(None);
}

#[test]
fn level_of_each_combination_without_root_is_what_the_job_finds() {
    check_all(without_privileges());
}
