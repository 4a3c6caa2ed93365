//! The isolation of a job with each combination of mechanisms: as root and as another user, with no, an old and the newest Landlock,
//! with and without seccomp, with and without cgroups. Each result states its level, and the level is what the job finds.

mod support;

use hipward_protocol::{Environment, EventBody, IsolationLevel, Measurement};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use support::{Server, printed, without_privileges};

/// What a job could do, and the isolation that its result states.
struct Found {
    environment: Environment,
    opens_sockets: bool,
    reads_outside: bool,
    /// Whether its cgroup is one of a worker.
    has_cgroup: bool,
}

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
    open({:?}).close()
    print('reads-outside')
except OSError: pass
print(open('/proc/self/cgroup').read())
",
        outside.display().to_string()
    );
    let events = server.run(&code);
    let environment = events.iter().find_map(|event| match &event.body {
        EventBody::Measured(Measurement::Environment(environment)) => Some(environment.clone()),
        _ => None,
    });
    let output = printed(&events);
    Found {
        environment: environment.unwrap_or_else(|| panic!("it did not run: {events:?}")),
        opens_sockets: output.contains("opens-sockets"),
        reads_outside: output.contains("reads-outside"),
        has_cgroup: output.contains("/worker-"),
    }
}

/// The mechanisms that a server may use. A kernel may lack them.
#[derive(Clone, Copy)]
struct Permitted {
    /// The newest Landlock ABI.
    newest: Option<u32>,
    seccomp: bool,
    cgroup: bool,
}

/// Checks a server with these mechanisms.
fn check(start: fn(&[&str]) -> Server, permitted: Permitted, outside: &Path) {
    let Permitted {
        newest,
        seccomp,
        cgroup,
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
    let expected = match (has("seccomp"), has("Landlock")) {
        (false, _) => IsolationLevel::Limits,
        (true, false) => IsolationLevel::Syscalls,
        (true, true) => IsolationLevel::Files,
    };
    assert_eq!(isolation.level, expected, "{isolation:?}");
    assert_eq!(found.opens_sockets, !has("seccomp"), "{isolation:?}");
    assert_eq!(found.reads_outside, !has("Landlock"), "{isolation:?}");
    assert!(!has("cgroup v2") || cgroup, "{isolation:?}");
    assert_eq!(found.has_cgroup, has("cgroup v2"), "{isolation:?}");
    if !has("seccomp") || !has("Landlock") || newest.is_some() || !cgroup {
        assert!(
            !isolation.missing.is_empty(),
            "what a stronger isolation needs is listed: {isolation:?}"
        );
    }
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

#[test]
fn level_of_each_combination_is_what_the_job_finds() {
    let folder = readable();
    let outside = folder.path().join("outside");
    for (newest, seccomp, cgroup) in [
        (Some(0), true, true),
        (Some(0), true, false),
        (Some(0), false, true),
        (Some(4), true, true),
        (None, true, true),
        (None, true, false),
        (None, false, false),
    ] {
        let permitted = Permitted {
            newest,
            seccomp,
            cgroup,
        };
        check(start_with_open_python, permitted, &outside);
    }
}

/// As root, jobs run as users of their own, who need a Python that they can read.
fn start_with_open_python(flags: &[&str]) -> Server {
    Server::start_with_copies(None, flags)
}

#[test]
fn level_of_each_combination_without_root_is_what_the_job_finds() {
    let folder = readable();
    let outside = folder.path().join("outside");
    for (newest, cgroup) in [
        (Some(0), true),
        (Some(4), true),
        (None, true),
        (None, false),
    ] {
        let permitted = Permitted {
            newest,
            seccomp: true,
            cgroup,
        };
        check(start_without_root, permitted, &outside);
    }
}

fn start_without_root(flags: &[&str]) -> Server {
    Server::start_with_copies(without_privileges(), flags)
}
