//! The device discovery of `runner/hip` with the cargo feature `hip-sys`: builds it in a target folder of its own and
//! runs it. `tools/setup test` installs Debian's libamdhip64-dev.

use std::{path::Path, process::Command};

#[test]
fn linked_runtime_reports_no_device_on_a_host_without_amd_gpu() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hip-sys");
    let header = "include/hip/hip_runtime_api.h";
    let rocm = ["/opt/rocm", "/usr"]
        .into_iter()
        .find(|prefix| Path::new(prefix).join(header).exists());
    let rocm = rocm.expect("the headers of HIP are installed; run `make setup-test`");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--package", "hipward-hip"])
        .args(["--features", "hip-sys", "--example", "hip_devices"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .env("HIP_PATH", rocm)
        .output()
        .expect("cargo runs");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.starts_with("HIP "), "{stdout}");
    if !Path::new("/dev/kfd").exists() {
        assert!(stdout.trim_end().ends_with(": 0 devices"), "{stdout}");
    }
}
