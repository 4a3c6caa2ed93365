//! `hipward bench` with the real harness and a real PyTorch.

use hipward_tests::{Server, hipward, python, root};
use serde_json::Value;
use std::process::Command;

#[test]
fn snippet_is_measured_locally_and_on_a_server() {
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &["--time-cap", "1"]);
    let python = python();
    let here = [
        "--time-cap",
        "1",
        "--python",
        python.to_str().expect("a path"),
    ];
    let there = ["--host", server.url.as_str()];
    for flags in [&here[..], &there[..]] {
        let output = Command::new(hipward())
            .arg("bench")
            .arg(root().join("kernels/examples/rmsnorm.py"))
            .args(["--variants", "eager", "--format", "json"])
            .args(flags)
            .env("HIPWARD_TOKEN", &server.token)
            .output()
            .expect("hipward runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{flags:?}: {errors}");
        assert!(errors.contains("timing the variants in turn"), "{errors}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["job"]["title"], "rmsnorm.py");
        let eager = &report["result"]["variants"][0];
        assert!(eager["stats"]["median"].as_f64() > Some(0.0), "{eager}");
        assert_eq!(eager["precision"]["passed"], true);
    }
}
