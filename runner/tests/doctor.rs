//! `hipward doctor` starts real workers, so its report matches what a job would find.

mod support;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Output};
use support::hipward;

fn doctor(kernels: &Path) -> Output {
    let mut command = hipward();
    command.arg("doctor").arg("--kernels").arg(kernels);
    command
        .env("HIPWARD_PYTHON", "python3")
        .output()
        .expect("runs")
}

#[test]
fn worker_that_starts_is_reported() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support");
    let output = doctor(&kernels);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("has    a worker for cpu"), "{text}");
    assert!(output.status.success(), "{text}");
}

#[test]
fn worker_that_does_not_start_is_reported_as_needed() {
    let broken = tempfile::tempdir().expect("a folder");
    // Jobs of a root server have another user.
    fs::set_permissions(broken.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let package = broken.path().join("hipward_kernels/harness");
    fs::create_dir_all(&package).expect("a folder");
    let probe = "print('{\"torch\": \"2\", \"devices\": [{\"id\": \"cpu\", \"name\": \"A processor\", \"vendor\": \"cpu\", \"arch\": \"x\", \"memory_bytes\": 1}]}')";
    for (file, text) in [
        ("../__init__.py", ""),
        ("__init__.py", ""),
        ("host_probe.py", probe),
        ("worker.py", "raise SystemExit('libgomp cannot be loaded')"),
    ] {
        fs::write(package.join(file), text).expect("a file");
    }
    let output = doctor(broken.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("NEEDS  a worker for cpu"), "{text}");
    assert!(text.contains("libgomp cannot be loaded"), "{text}");
    assert!(!output.status.success(), "{text}");
}
