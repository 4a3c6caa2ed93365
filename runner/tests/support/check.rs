//! `hipward check` in a folder of its own.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, text).expect("a file");
}

pub(crate) fn hipward(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipward"));
    command.current_dir(folder).arg("check");
    // Not the cache of the person who runs the tests.
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Exit code, standard output, standard error.
pub(crate) fn check(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = hipward(folder)
        .args(arguments)
        .output()
        .expect("hipward runs");
    exit_code_and_output(output)
}

pub(crate) fn exit_code_and_output(output: Output) -> (i32, String, String) {
    (
        output.status.code().expect("an exit code"),
        String::from_utf8(output.stdout).expect("text"),
        String::from_utf8(output.stderr).expect("text"),
    )
}

/// The rules that fired, with path and line.
pub(crate) fn fired(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let mut all = vec!["--format", "json"];
    all.extend(arguments);
    let (_, text, errors) = check(folder, &all);
    let files: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{errors}"));
    let mut fired = Vec::new();
    for file in files.as_array().expect("a list") {
        for finding in file["findings"].as_array().expect("a list") {
            fired.push(format!(
                "{}:{} {}",
                file["path"].as_str().expect("a path"),
                finding["span"]["start"]["line"],
                finding["rule"].as_str().expect("a rule"),
            ));
        }
    }
    fired
}

pub(crate) const NVML: &str = "import pynvml\n";
pub(crate) const LAUNCH: &str = "import os\nos.environ[\"CUDA_LAUNCH_BLOCKING\"] = \"1\"\n";
pub(crate) const CONF: &str =
    "import os\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"max_split_size_mb:64\"\n";
