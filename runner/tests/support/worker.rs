//! A real `hipward worker`, with the scripted measuring package.

use super::support::{Server, hipward, signal};
use serde_json::Value;
use std::{
    path::Path,
    process::{Child, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// A running `hipward worker`. It is killed with its drop.
pub(crate) struct Worker(Option<Child>);

impl Worker {
    /// Joins a host with this name to the server at an address.
    pub(crate) fn join(url: &str, name: &str, token_file: &Path, flags: &[&str]) -> Self {
        let support = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support");
        let worker = hipward()
            .env("HIPWARD_PYTHON", "python3")
            .args(["worker", "--join", url, "--name", name])
            // The kernel of the test machine may support no more.
            .args(["--minimum-isolation", "limits", "--token-file"])
            .arg(token_file)
            .arg("--kernels")
            .arg(support)
            .args(flags)
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        Worker(Some(worker))
    }

    /// Waits for its end.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut worker = self.0.take().expect("it runs");
        worker.wait().expect("it has ended")
    }

    /// Requests its end and waits for it.
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) fn stop(&mut self) -> ExitStatus {
        signal(self.0.as_ref().expect("it runs").id(), "-TERM");
        self.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut worker) = self.0.take() {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// Waits until a server lists this number of devices.
pub(crate) fn wait_for_devices(server: &Server, number: usize) -> Value {
    let begin = Instant::now();
    loop {
        let (status, devices) = server.get("/api/v1/devices");
        assert_eq!(status, 200, "{devices}");
        let devices: Value = serde_json::from_str(&devices).expect("JSON");
        if devices.as_array().is_some_and(|list| list.len() == number) {
            return devices;
        }
        assert!(begin.elapsed() < Duration::from_secs(200), "{devices}");
        sleep(Duration::from_millis(50));
    }
}
