//! `hipward check --watch` checks changed files again, and only those.

#[path = "support/check.rs"]
mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use support::{LAUNCH, NVML, folder, hipward, write};

/// A process that is killed on drop, also after a panic.
struct Watching {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Watching {
    fn start(folder: &Path, arguments: &[&str]) -> Watching {
        let mut child = hipward(folder)
            .args(arguments)
            .arg("--watch")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("hipward runs");
        let (sender, lines) = mpsc::channel();
        let out = child.stdout.take().expect("piped");
        let err = child.stderr.take().expect("piped");
        let forward = |stream: Box<dyn std::io::Read + Send>, sender: mpsc::Sender<String>| {
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        };
        forward(Box::new(out), sender.clone());
        forward(Box::new(err), sender);
        Watching { child, lines }
    }

    /// Waits for a line. Returns the report that ends with it. A file that is written in two steps may be checked between them,
    /// which produces another report.
    fn until(&self, part: &str) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        let (mut printed, mut others) = (String::new(), String::new());
        while let Ok(line) = self
            .lines
            .recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            printed.push_str(&line);
            printed.push('\n');
            if line.contains(part) {
                return printed;
            }
            if line.contains(" in ") && (line.ends_with("file.") || line.ends_with("files.")) {
                others.push_str(&std::mem::take(&mut printed));
            }
        }
        panic!("no {part:?} in\n{others}{printed}");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_changed_files_are_checked_again() {
    let folder = folder(&[
        ("a.py", NVML),
        ("b.py", NVML),
        (".gitignore", "ignored.py\n"),
        ("hipward.toml", ""),
    ]);
    let watching = Watching::start(folder.path(), &["."]);
    watching.until("2 findings in 2 files.");

    write(folder.path(), "a.py", &format!("{NVML}{LAUNCH}"));
    let second = watching.until("2 findings in 1 file.");
    assert!(
        second.contains("a.py:3:12") && !second.contains("b.py"),
        "{second}"
    );

    // Most editors replace the file with a new one.
    write(folder.path(), ".b.tmp", "x = 1\n");
    fs::rename(folder.path().join(".b.tmp"), folder.path().join("b.py")).expect("a rename");
    let third = watching.until("0 findings in 1 file.");
    assert!(!third.contains("a.py"), "{third}");

    write(folder.path(), "new/c.py", NVML);
    assert!(
        watching
            .until("1 finding in 1 file.")
            .contains("new/c.py:1:8")
    );

    write(folder.path(), "hipward.toml", "ignore = [\"pynvml\"]\n");
    let all = watching.until("1 finding in 3 files.");
    assert!(
        all.contains("cuda-launch-blocking") && !all.contains("pynvml"),
        "{all}"
    );
}
