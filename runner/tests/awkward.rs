//! `hipward check` and `hipward explain` with unusual input: the messages, and that the remaining work is done.

#[path = "support/check.rs"]
mod support;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use hipward_analyzer::RULES;
use serde_json::{Value, json};
use support::{CONF, NVML, check, exit_code_and_output, fired, folder, hipward, write};

const CONF_FIXED: &str =
    "import os\nos.environ[\"PYTORCH_ALLOC_CONF\"] = \"max_split_size_mb:64\"\n";

#[test]
fn default_path_is_the_working_directory() {
    let folder = folder(&[("a.py", NVML)]);
    assert_eq!(fired(folder.path(), &[]), ["a.py:1 pynvml"]);
}

#[test]
fn findings_of_overlapping_paths_are_reported_once() {
    let folder = folder(&[("a.py", NVML), ("b.py", NVML)]);
    for format in ["text", "markdown"] {
        let (_, text, _) = check(folder.path(), &[".", "--format", format]);
        assert_eq!(text.matches("findings in").count(), 1, "{text}");
        assert_eq!(
            text.matches("## Summary").count(),
            usize::from(format == "markdown")
        );
        assert!(text.contains("Porting effort"), "{text}");
    }
}

#[test]
fn file_that_is_not_utf8_is_checked_and_fixed_in_its_encoding() {
    let wide = |text: &str| -> Vec<u8> {
        let units = text.encode_utf16();
        units.flat_map(u16::to_le_bytes).collect()
    };
    let files: &[(&str, Vec<u8>, Vec<u8>)] = &[
        (
            "latin.cu",
            b"// \xe9\r\n#include <cuda_runtime.h>\r\nint n = cudaFree(0); // \xfc\r\n".to_vec(),
            b"// \xe9\r\n#include <hip/hip_runtime.h>\r\nint n = hipFree(0); // \xfc\r\n".to_vec(),
        ),
        (
            "latin.py",
            [b"# coding: latin-1\n# \xe9\n", CONF.as_bytes()].concat(),
            [b"# coding: latin-1\n# \xe9\n", CONF_FIXED.as_bytes()].concat(),
        ),
        (
            "wide.py",
            wide(&format!("\u{feff}# é🚀\n{CONF}")),
            wide(&format!("\u{feff}# é🚀\n{CONF_FIXED}")),
        ),
        (
            "gbk.py",
            [b"# coding: gbk\n# \xe9\xe9\n", CONF.as_bytes()].concat(),
            [b"# coding: gbk\n# \xe9\xe9\n", CONF.as_bytes()].concat(),
        ),
    ];
    let folder = folder(&[("a.py", NVML)]);
    let path = |name: &str| folder.path().join(name);
    for (name, before, _) in files {
        fs::write(path(name), before).expect("a file");
    }
    let (code, _, errors) = check(folder.path(), &["."]);
    assert_eq!(code, 1);
    let notes = [
        "hipward: gbk.py: text in gbk; checked with replacement characters, and not changed by fixes",
        "hipward: latin.cu: not UTF-8 text (line 1); read as Latin-1",
    ];
    assert_eq!(errors.lines().collect::<Vec<_>>(), notes);
    let fix = ["--fix", "--unsafe-fixes"];
    for (name, before, after) in files {
        let mut filter = hipward(folder.path())
            .args(["-", "--quiet", "--stdin-filename", name])
            .args(fix)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("hipward runs");
        let mut input = filter.stdin.take().expect("is piped");
        input.write_all(before).expect("it reads");
        drop(input);
        let output = filter.wait_with_output().expect("it ends");
        assert_eq!(&output.stdout, after, "{name} through standard input");
    }
    let patch = hipward(folder.path()).args(["latin.cu", "--diff"]).output();
    let patch = patch.expect("hipward runs").stdout;
    let removed = b"\n-int n = cudaFree(0); // \xfc\r\n";
    assert!(patch.windows(removed.len()).any(|window| window == removed));
    let (_, _, errors) = check(folder.path(), &[".", "--fix", "--unsafe-fixes"]);
    assert_eq!(errors.lines().collect::<Vec<_>>(), notes);
    for (name, _, after) in files {
        assert_eq!(&fs::read(path(name)).expect("a file"), after, "{name}");
    }
}

#[test]
fn missing_file_is_an_error() {
    let folder = folder(&[]);
    let (code, text, errors) = check(folder.path(), &["missing.py"]);
    assert_eq!((code, text.as_str()), (2, ""));
    assert_eq!(errors, "hipward: missing.py: no such file or folder\n");
}

#[test]
fn add_ignores_writes_comments_with_the_reason() {
    let folder = folder(&[
        ("a.py", "import pynvml\nimport torch\n"),
        ("b.cu", "int n = cudaFree(0);\n"),
        ("Dockerfile", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"),
    ]);
    let arguments = [".", "--add-ignores", "old cluster", "--ignore", "HW902"];
    let (code, text, errors) = check(folder.path(), &arguments);
    assert_eq!(code, 1);
    assert_eq!(errors, "hipward: comments suppress 2 findings now\n");
    assert!(text.contains("1 finding in 3 files"), "{text}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a file");
    assert_eq!(
        read("a.py"),
        "import pynvml  # hipward: ignore[pynvml] old cluster\nimport torch\n"
    );
    assert_eq!(
        read("b.cu"),
        "int n = cudaFree(0);  // hipward: ignore[cuda-api] old cluster\n"
    );
    let (code, text, _) = check(folder.path(), &["a.py", "b.cu", "--ignore", "HW902"]);
    assert_eq!(code, 0, "{text}");
    let (code, _, errors) = check(folder.path(), &[".", "--add-ignores", " "]);
    assert_eq!(code, 2);
    assert!(errors.contains("one line of text"), "{errors}");
}

#[cfg(unix)]
#[test]
fn entries_that_cannot_be_read_are_noted_and_skipped() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let folder = folder(&[
        ("a.py", NVML),
        ("kernels/b.cu", "int n = cudaFree(0);\n"),
        ("requirements.txt", "-r pipe.txt\n"),
    ]);
    let path = |name: &str| folder.path().join(name);
    for (target, link) in [
        (".", "kernels/round"),
        ("..", "kernels/up"),
        ("kernels", "beside"),
        ("a.py", "same.py"),
        ("nowhere.py", "broken.py"),
        ("self.py", "self.py"),
        // Devices that are read as sources would never end.
        ("/dev/zero", "zero.py"),
        ("/dev/zero", "notes.zero"),
    ] {
        symlink(target, path(link)).expect("a link");
    }
    let _socket = UnixListener::bind(path("socket.py")).expect("a socket");
    // A pipe without a writer blocks its reader, also where the project context of `b.cu` looks for build files.
    for name in ["pipe.txt", "setup.py", "kernels/CMakeLists.txt"] {
        let made = Command::new("mkfifo").arg(path(name)).status();
        assert!(made.expect("mkfifo runs").success());
    }
    let (code, _, errors) = check(folder.path(), &["."]);
    assert_eq!(code, 1);
    assert_eq!(
        errors.lines().collect::<Vec<_>>(),
        [
            "hipward: broken.py: a link that leads to no file; skipped",
            "hipward: kernels/CMakeLists.txt: a pipe; skipped",
            "hipward: kernels/round: a link to a folder that contains it; skipped",
            "hipward: kernels/up: a link to a folder that contains it; skipped",
            "hipward: self.py: a link that leads to no file; skipped",
            "hipward: setup.py: a pipe; skipped",
            "hipward: socket.py: a socket; skipped",
            "hipward: zero.py: a device; skipped",
        ]
    );
    assert_eq!(
        fired(folder.path(), &["."]),
        ["a.py:1 pynvml", "kernels/b.cu:1 cuda-api"]
    );
}

#[cfg(unix)]
#[test]
fn passed_device_without_an_end_is_noted() {
    let folder = folder(&[("a.py", NVML)]);
    let (code, text, errors) = check(folder.path(), &["/dev/zero", "a.py"]);
    assert_eq!(code, 1, "{text}");
    assert_eq!(
        errors,
        "hipward: /dev/zero: larger than 64 MB; not analyzed\n"
    );
}

/// A first file that takes long, and a second that is removed by then.
#[test]
fn file_removed_during_the_check_is_no_error() {
    // Takes seconds, so that the test has time to remove the second file.
    let long = "x = f(a, b, c)\n".repeat(60_000);
    let names: Vec<String> = (0..10).map(|at| format!("a{at}.py")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), &*long)).collect();
    files.push(("z.py", NVML));
    let folder = folder(&files);
    let child = hipward(folder.path())
        .args([".", "--jobs", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hipward runs");
    std::thread::sleep(std::time::Duration::from_millis(150));
    fs::remove_file(folder.path().join("z.py")).expect("it is there");
    let (code, text, errors) = exit_code_and_output(child.wait_with_output().expect("it ends"));
    assert_eq!((code, errors.as_str()), (0, ""), "{text}");
}

#[test]
fn crlf_and_byte_order_mark_are_preserved() {
    let source = "\u{feff}import os\r\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"\"\r\n";
    let folder = folder(&[("a.py", source), ("b.py", "\u{feff}import pynvml\r\n")]);
    let (_, text, _) = check(folder.path(), &["b.py"]);
    assert!(
        text.contains(" --> b.py:1:8\n  |\n1 | import pynvml\n  |        ^^^^^^\n"),
        "{text}"
    );
    check(folder.path(), &["a.py", "--fix", "--unsafe-fixes"]);
    let fixed = fs::read_to_string(folder.path().join("a.py")).expect("a file");
    assert!(fixed.starts_with("\u{feff}import os\r\n"), "{fixed:?}");
    assert_eq!(fixed.matches('\n').count(), fixed.matches("\r\n").count());
}

#[test]
fn read_only_file_is_reported_and_not_written() {
    let folder = folder(&[(
        "a.py",
        "import datetime\nx = datetime.UTC\nimport os\nos.environ[\"CUDA_LAUNCH_BLOCKING\"] = \"1\"\n",
    )]);
    let path = folder.path().join("a.py");
    let before = fs::read_to_string(&path).expect("a file");
    let mut permissions = fs::metadata(&path).expect("a file").permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).expect("a mode");
    let arguments = ["a.py", "--fix", "--unsafe-fixes", "--python", "3.10"];
    let (code, _, errors) = check(folder.path(), &arguments);
    assert_eq!(code, 2);
    assert_eq!(
        errors,
        "hipward: a.py: could not be written: it is read-only\n"
    );
    assert_eq!(fs::read_to_string(&path).expect("a file"), before);
}

#[test]
fn closed_output_pipe_is_no_error() {
    let folder = folder(&[]);
    for index in 0..200 {
        write(folder.path(), &format!("{index}.py"), &NVML.repeat(50));
    }
    let output = Command::new("bash")
        .args([
            "-c",
            "set -o pipefail; \"$0\" check . --exit-zero | head -1",
        ])
        .arg(env!("CARGO_BIN_EXE_hipward"))
        .current_dir(folder.path())
        .output()
        .expect("bash runs");
    let (code, text, errors) = exit_code_and_output(output);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn watching_standard_input_is_rejected() {
    let folder = folder(&[]);
    let mut child = hipward(folder.path())
        .args(["-", "--watch"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hipward runs");
    // It may have ended already.
    let _ = child.stdin.take().expect("is piped").write_all(b"x = 1\n");
    let (code, _, errors) = exit_code_and_output(child.wait_with_output().expect("it ends"));
    assert_eq!(code, 2);
    assert!(
        errors.contains("standard input cannot be watched"),
        "{errors}"
    );
}

const TEAM: &str = "\n[[rule]]\nid = \"ACME001\"\nname = \"acme-gemm\"\nmessage = \"Use the new one.\"\n\
                    link = \"https://wiki.example/gemm\"\nmatch.cuda = \"acme_gemm\"\n\
                    fix = { title = \"Rename\", replace = \"acme_gemm2\" }\n";

/// Runs `hipward COMMAND` in a folder.
fn run(command: &str, folder: &std::path::Path, arguments: &[&str]) -> (i32, String, String) {
    let mut hipward = Command::new(env!("CARGO_BIN_EXE_hipward"));
    let hipward = hipward.current_dir(folder).arg(command).args(arguments);
    exit_code_and_output(hipward.output().expect("hipward runs"))
}

fn explain(folder: &std::path::Path, arguments: &[&str]) -> (i32, String, String) {
    run("explain", folder, arguments)
}

#[test]
fn rules_are_listed_as_text_and_as_json() {
    let folder = folder(&[
        ("team/acme.toml", TEAM),
        ("ours/hipward.toml", "rules = \"../team\"\n"),
        ("broken/hipward.toml", "rules = 1\n"),
    ]);
    let ours = folder.path().join("ours");
    let (code, text, errors) = run("rules", &ours, &[]);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(text.lines().count(), RULES.len() + 1);
    assert!(text.contains("ACME001  acme-gemm  "), "{text}");

    let site = "https://rocm.example/docs/";
    let (code, text, errors) = run("rules", &ours, &["--format", "json", "--site", site]);
    assert_eq!(code, 0, "{errors}");
    let listed: Vec<Value> = serde_json::from_str(&text).expect("a JSON list");
    assert_eq!(listed.len(), RULES.len() + 1);
    for (entry, rule) in listed.iter().zip(RULES) {
        assert_eq!(entry["id"], rule.id);
        assert_eq!(
            entry["link"],
            format!("https://rocm.example/docs/rules/{}/", rule.name)
        );
    }
    let nvml = listed.iter().find(|entry| entry["name"] == "pynvml");
    let nvml = nvml.expect("pynvml is listed");
    for (key, value) in [
        ("id", json!("HW101")),
        ("family", json!("vendor-libraries")),
        ("severity", json!("error")),
        ("fix", json!("unsafe")),
        ("summary", json!("pynvml needs NVIDIA's driver")),
        ("on_request", json!(false)),
        (
            "lesson",
            json!("https://rocm.example/docs/learn/port/watch-the-gpu/"),
        ),
    ] {
        assert_eq!(nvml[key], value, "{key}");
    }
    let team = listed.last().expect("the team's rule");
    assert_eq!(team["family"], "team");
    assert_eq!(team["fix"], "unsafe");
    assert_eq!(team["link"], "https://wiki.example/gemm");

    let (code, text, errors) = run("rules", &folder.path().join("broken"), &[]);
    assert_eq!(code, 2);
    assert_eq!(text.lines().count(), RULES.len(), "the built-in rules");
    assert!(errors.contains("hipward.toml:1: `rules`"), "{errors}");
}

#[test]
fn explain_shows_team_rules() {
    let folder = folder(&[
        ("team/acme.toml", TEAM),
        ("ours/hipward.toml", "rules = \"../team\"\n"),
        ("broken/hipward.toml", "rules = 1\n"),
    ]);
    for (place, arguments) in [
        ("ours", &["acme-gemm"][..]),
        ("ours", &["acme001"]),
        ("", &["ACME001", "--rules", "team"]),
    ] {
        let (code, text, errors) = explain(&folder.path().join(place), arguments);
        assert_eq!(code, 0, "{errors}");
        for part in [
            "# acme-gemm (ACME001)\n\nUse the new one.\n",
            "https://wiki.example/gemm",
            "acme.toml:2",
            "match.cuda = \"acme_gemm\"",
            "fix.replace = \"acme_gemm2\"",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
    let ours = folder.path().join("ours");
    let (code, text, _) = explain(&ours, &[]);
    assert_eq!(code, 0);
    assert!(
        text.contains("HW101") && text.contains("ACME001  acme-gemm"),
        "{text}"
    );
    for (name, nearest) in [
        ("acme-gem", "acme-gemm (ACME001)"),
        ("pynvm", "pynvml (HW101)"),
    ] {
        let (code, _, errors) = explain(&ours, &[name]);
        assert_eq!(code, 2);
        assert!(
            errors.contains(&format!("did you mean {nearest}?")),
            "{errors}"
        );
    }
    // An error in another file does not prevent the explanation.
    let broken = folder.path().join("broken");
    assert_eq!(explain(&broken, &["pynvml"]).0, 0);
    let (code, _, errors) = explain(&broken, &["acme-gemm"]);
    assert_eq!(code, 2);
    assert!(errors.contains("hipward.toml:1: `rules`"), "{errors}");
}
