//! The cache of `hipward check` never changes a result.

#[path = "support/check.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use support::{CONF, LAUNCH, NVML, check, folder, write};

/// Files that change later than this before a check are cached.
const SETTLED: Duration = Duration::from_millis(150);

/// The output of a check with the cache, which is compared with that of a check without.
fn checked(folder: &Path, cache: &Path, arguments: &[&str]) -> String {
    let with = |more: &[&str]| check(folder, &[&["."], arguments, more].concat());
    let cache = cache.to_str().expect("UTF-8");
    let cached = with(&["--cache-dir", cache]);
    assert_eq!(cached, with(&["--no-cache"]));
    cached.1
}

/// The file of a cache.
fn file_of(cache: &Path) -> PathBuf {
    let files = fs::read_dir(cache).expect("the cache").flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    assert_eq!(paths.len(), 1, "one file for these folders and options");
    paths.remove(0)
}

/// The content of a cache.
fn stored(cache: &Path) -> String {
    fs::read_to_string(file_of(cache)).expect("text")
}

/// Changes the lines of a cache, and each message to one that a check shows only if it uses the stored report.
fn mark(cache: &Path, change: impl Fn(&str) -> String) {
    let lines = stored(cache);
    let lines = lines
        .lines()
        .map(|line| change(line).replace("\"message\":\"", "\"message\":\"Stored: ") + "\n");
    fs::write(file_of(cache), lines.collect::<String>()).expect("written");
}

#[test]
fn second_check_reports_the_same_in_every_format_and_mode() {
    let folder = folder(&[("good.py", "x = 1\n"), ("a.py", NVML), ("sub/b.py", LAUNCH)]);
    sleep(SETTLED);
    for arguments in [
        &["--format", "text"][..],
        &["--format", "json"],
        &["--format", "sarif"],
        &["--format", "markdown"],
        &["--format", "github"],
        &["--statistics"],
        &["--diff"],
        &["--write-baseline", "known.json"],
        &["--baseline", "known.json"],
    ] {
        let cache = tempfile::tempdir().expect("a folder");
        let first = checked(folder.path(), cache.path(), arguments);
        assert_eq!(first, checked(folder.path(), cache.path(), arguments));
    }
}

#[test]
fn unchanged_files_are_not_analyzed_again() {
    let folder = folder(&[("good.py", "x = 1\n"), ("a.py", NVML)]);
    let cache = tempfile::tempdir().expect("a folder");
    sleep(SETTLED);
    assert!(checked(folder.path(), cache.path(), &[]).contains("pynvml"));
    // A stored report with another message is the one that is shown.
    mark(cache.path(), str::to_owned);
    let cache = cache.path().to_str().expect("UTF-8");
    let (_, text, _) = check(folder.path(), &[".", "--cache-dir", cache]);
    assert!(text.contains("Stored: "), "{text}");
}

#[test]
fn facts_about_the_project_are_searched_again_only_after_a_change() {
    let gate = "import torch\ndef has_fast():\n    return torch.version.cuda is not None\n";
    let folder = folder(&[
        // Without it, the folders above would be searched too.
        (".git/HEAD", ""),
        ("utils.py", gate),
        (
            "a.py",
            "import os\nfrom utils import has_fast\nif has_fast():\n    os.environ[\"CUDA_LAUNCH_BLOCKING\"] = \"1\"\n",
        ),
        ("b.py", NVML),
    ]);
    let cache = tempfile::tempdir().expect("a folder");
    let checked = || {
        sleep(SETTLED);
        checked(folder.path(), cache.path(), &[])
    };
    assert!(!checked().contains("a.py"));
    // With other hashes of the options, reports are used only if the facts are not searched.
    mark(cache.path(), |line| {
        let mut fields: Vec<&str> = line.split('\t').collect();
        if let Some(options) = fields.get_mut(4) {
            *options = "0";
        }
        fields.join("\t")
    });
    let cache = cache.path().to_str().expect("UTF-8");
    let stored = || check(folder.path(), &[".", "--cache-dir", cache]).1;
    assert!(stored().contains("Stored: "));
    let other = gate.replace(
        "torch.version.cuda is not None",
        "torch.cuda.is_available() is 1",
    );
    assert_eq!(other.len(), gate.len());
    write(folder.path(), "utils.py", &other);
    assert!(checked().contains("a.py"));
    assert!(!stored().contains("Stored: "));
}

#[test]
fn change_of_a_file_of_the_options_or_of_another_file_counts() {
    let folder = folder(&[
        ("pyproject.toml", "[project]\nname = \"x\"\n"),
        ("a.py", CONF),
        ("b.py", "import apex\n"),
        ("c.py", NVML),
    ]);
    let cache = tempfile::tempdir().expect("a folder");
    let checked = |arguments: &[&str]| {
        sleep(SETTLED);
        checked(folder.path(), cache.path(), arguments)
    };
    assert!(checked(&[]).contains("b.py"));
    // The same size.
    write(folder.path(), "c.py", &NVML.replace("pynvml", "pynvmx"));
    assert!(!checked(&[]).contains("c.py"));
    fs::rename(folder.path().join("a.py"), folder.path().join("d.py")).expect("renamed");
    assert!(checked(&[]).contains("d.py"));
    // A folder of this name makes it a module of the project.
    write(folder.path(), "apex/__init__.py", "");
    assert!(!checked(&[]).contains("b.py"));
    write(
        folder.path(),
        "hipward.toml",
        "ignore = [\"cuda-alloc-conf\"]\n",
    );
    assert!(!checked(&[]).contains("d.py"));
    fs::remove_file(folder.path().join("hipward.toml")).expect("removed");
    write(folder.path(), "e.py", "from datetime import UTC\n");
    assert!(!checked(&[]).contains("e.py"));
    let for_python = |version| check(folder.path(), &[".", "--python", version]).1;
    assert!(for_python("3.10").contains("e.py"));
    assert!(!for_python("3.12").contains("e.py"));
}

#[test]
fn file_that_was_written_just_now_is_analyzed_again() {
    let folder = folder(&[("a.py", NVML)]);
    let cache = tempfile::tempdir().expect("a folder");
    for text in [NVML, "import pynvmx\n", NVML] {
        write(folder.path(), "a.py", text);
        checked(folder.path(), cache.path(), &[]);
    }
}

#[test]
fn damaged_or_impossible_cache_is_ignored() {
    let folder = folder(&[("good.py", "x = 1\n"), ("a.py", NVML)]);
    let cache = tempfile::tempdir().expect("a folder");
    sleep(SETTLED);
    checked(folder.path(), cache.path(), &[]);
    let whole = stored(cache.path());
    let file = file_of(cache.path());
    for damaged in [
        &whole[..whole.len() / 2],
        "",
        "another program\n",
        &whole.replace('\t', " "),
        &whole.replace('{', "["),
    ] {
        fs::write(&file, damaged).expect("written");
        checked(folder.path(), cache.path(), &[]);
    }
    // It is written again.
    assert_eq!(stored(cache.path()), whole);
    // A file is no folder.
    checked(folder.path(), &folder.path().join("a.py"), &[]);
}

#[test]
fn no_cache_and_single_files_store_nothing() {
    let folder = folder(&[("a.py", NVML)]);
    let cache = tempfile::tempdir().expect("a folder");
    sleep(SETTLED);
    let user = |arguments: &[&str]| {
        let mut command = support::hipward(folder.path());
        command.env("XDG_CACHE_HOME", cache.path()).args(arguments);
        command.output().expect("hipward runs");
        cache.path().join("hipward/check").exists()
    };
    assert!(!user(&[".", "--no-cache"]));
    assert!(!user(&["a.py"]));
    assert!(!user(&[".", "--fix"]));
    assert!(user(&["."]));
}
