//! `hipward check` from the command line: output and exit codes.

#[path = "support/check.rs"]
mod support;

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::{CONF, LAUNCH, NVML, check, exit_code_and_output, fired, folder, hipward, write};

#[test]
fn exit_codes_are_those_of_a_linter() {
    let folder = folder(&[("good.py", "x = 1\n"), ("info.py", CONF), ("bad.py", NVML)]);
    let code = |arguments: &[&str]| check(folder.path(), arguments).0;
    assert_eq!(code(&["good.py"]), 0);
    assert_eq!(code(&["info.py"]), 0, "information is no reason to fail");
    assert_eq!(code(&["bad.py"]), 1);
    assert_eq!(code(&["bad.py", "--exit-zero"]), 0);
    assert_eq!(code(&["missing.py"]), 2);
    assert_eq!(code(&["bad.py", "--select", "no-such-rule"]), 2);
    assert_eq!(code(&["bad.py", "--format", "colour"]), 2);
    assert_eq!(code(&["bad.py", "--unsafe-fixes"]), 2);
}

#[test]
fn nearest_configuration_applies_and_the_command_line_overrides_it() {
    let folder = folder(&[
        (
            "pyproject.toml",
            "[project]\nname = \"x\"\n[tool.hipward]\nselect = [\"HW1\"]\n",
        ),
        ("a.py", &format!("{NVML}{LAUNCH}")),
        ("sub/hipward.toml", "ignore = [\"pynvml\"]\n"),
        ("sub/deep/b.py", &format!("{NVML}{LAUNCH}")),
        (
            "other/pyproject.toml",
            "[project]\nname = \"hipward-user\"\n",
        ),
        ("other/c.py", &format!("{NVML}{LAUNCH}")),
    ]);
    assert_eq!(
        fired(folder.path(), &["."]),
        [
            "a.py:1 pynvml",
            "other/c.py:1 pynvml",
            "sub/deep/b.py:3 cuda-launch-blocking"
        ]
    );
    assert_eq!(
        fired(folder.path(), &["sub", "--ignore", "HW2"]),
        ["sub/deep/b.py:1 pynvml"]
    );
    assert_eq!(fired(folder.path(), &["a.py", "--isolated"]).len(), 2);
    assert_eq!(
        fired(folder.path(), &["a.py", "--config", "sub/hipward.toml"]),
        ["a.py:3 cuda-launch-blocking"]
    );
}

#[test]
fn target_is_read_from_the_configuration() {
    let folder = folder(&[
        (
            "hipward.toml",
            "[target]\narch = \"gfx950\"\npython = \"3.10\"\n",
        ),
        ("a.py", "from datetime import UTC\n"),
    ]);
    let (_, text, _) = check(
        folder.path(),
        &["a.py", "--format", "json", "--torch", "2.6"],
    );
    let files: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(files[0]["target"]["arch"], "gfx950");
    assert_eq!(files[0]["target"]["torch"], "2.6");
    assert_eq!(files[0]["findings"][0]["rule"], "datetime-utc");
    assert_eq!(fired(folder.path(), &["a.py", "--python", "3.12"]), [""; 0]);
}

#[test]
fn rules_can_be_ignored_per_file() {
    let folder = folder(&[
        (
            "hipward.toml",
            "[per-file-ignores]\n\"tests/\" = [\"HW1\"]\n\"*_old.py\" = [\"pynvml\", \"HW202\"]\n",
        ),
        ("a.py", &format!("{NVML}{LAUNCH}")),
        ("tests/b.py", &format!("{NVML}{LAUNCH}")),
        ("src/c_old.py", &format!("{NVML}{LAUNCH}")),
    ]);
    assert_eq!(
        fired(folder.path(), &["."]),
        [
            "a.py:1 pynvml",
            "a.py:3 cuda-launch-blocking",
            "tests/b.py:3 cuda-launch-blocking"
        ]
    );
}

#[test]
fn excluded_files_are_checked_only_if_passed() {
    let folder = folder(&[
        ("hipward.toml", "exclude = [\"third_party/\"]\n"),
        ("third_party/a.py", NVML),
        ("b.py", NVML),
    ]);
    assert_eq!(fired(folder.path(), &["."]), ["b.py:1 pynvml"]);
    assert_eq!(fired(folder.path(), &["third_party/a.py"]).len(), 1);
    assert_eq!(
        fired(folder.path(), &["third_party/a.py", "--force-exclude"]),
        [""; 0]
    );
}

#[test]
fn configuration_errors_have_file_line_key_and_allowed_values() {
    let cases = [
        (
            "hipward.toml",
            "\ncolour = 1\n",
            "hipward.toml:2: `colour`: unknown key; the keys are select,",
        ),
        (
            "hipward.toml",
            "[target]\narch = \"sm_90\"\n",
            "hipward.toml:2: `target.arch`: it must be one of gfx908, gfx90a, gfx942, gfx950, gfx1250, gfx1100,",
        ),
        (
            "hipward.toml",
            "[target]\ntorch = 2.9\n",
            "hipward.toml:2: `target.torch`: it must be a string",
        ),
        (
            "hipward.toml",
            "[target]\nlibraries = \"rocm\"\n",
            "hipward.toml:2: `target.libraries`: it must be `hip` or `roc`",
        ),
        (
            "hipward.toml",
            "select = \"HW1\"\n",
            "hipward.toml:1: `select`: it must be a list of strings",
        ),
        ("hipward.toml", "select = [\n", "hipward.toml:"),
        (
            "hipward.toml",
            "ignore = [\n    \"HW2\",\n    \"pynvm\",\n]\n",
            "hipward.toml:3: `ignore`: there is no rule `pynvm`; did you mean pynvml",
        ),
        (
            "pyproject.toml",
            "[tool.hipward]\nselect = [\"HW1\", \"HX1\"]\n",
            "pyproject.toml:2: `tool.hipward.select`: there is no rule `HX1`; `hipward rules` lists",
        ),
        (
            "hipward.toml",
            "[per-file-ignores]\n\"a.py\" = [\"nothing-like-it\"]\n",
            "hipward.toml:2: `per-file-ignores.a.py`: there is no rule",
        ),
        (
            "hipward.toml",
            "exclude = [\n    \"build/\",\n    \"[\",\n]\n",
            "hipward.toml:3: `exclude`: `[` is not a pattern such as tests/ or *_pb2.py",
        ),
        (
            "hipward.toml",
            "exclude = [\"# later\"]\n",
            "hipward.toml:1: `exclude`: `# later` matches no file",
        ),
        (
            "hipward.toml",
            "[per-file-ignores]\n\"tests/[a-\" = []\n",
            "hipward.toml:2: `per-file-ignores.tests/[a-`: `tests/[a-` is not a pattern",
        ),
        (
            "pyproject.toml",
            "[tool.hipward.target]\nrocm = \"new\"\n",
            "pyproject.toml:2: `tool.hipward.target.rocm`",
        ),
        (
            "hipward.toml",
            "rules = \"none-here\"\n",
            "none-here: this folder of rules cannot be read",
        ),
    ];
    for (name, text, wanted) in cases {
        let folder = folder(&[(name, text), ("a.py", NVML), ("b.py", NVML)]);
        let (code, _, errors) = check(folder.path(), &["."]);
        assert_eq!(code, 2, "{text}");
        assert!(errors.contains(wanted), "{text}\n{errors}");
        assert_eq!(errors.matches(wanted).count(), 1, "reported once: {errors}");
    }
}

const TEAM: &str = r#"
[[rule]]
id = "ACME001"
name = "acme-softmax"
message = "acme.softmax is slow on CDNA."
severity = "error"
link = "https://wiki.example/acme-softmax"
when = { arch = ["gfx942", "gfx950"], torch = ">=2.6" }
match.pattern = "acme.softmax($X, dim=$D)"

[rule.fix]
title = "Use torch.softmax"
replace = "torch.softmax($X, dim=$D)"
import = "torch"
applicability = "safe"
"#;

#[test]
fn team_rules_work_like_built_in_rules() {
    let folder = folder(&[
        ("rules/acme.toml", TEAM),
        (
            "a.py",
            "from acme import softmax as s\ny = s(x + 1, dim=-1)\n",
        ),
    ]);
    let (code, text, _) = check(folder.path(), &["a.py", "--rules", "rules"]);
    assert_eq!(code, 1);
    assert!(
        text.contains("error[ACME001 acme-softmax]: acme.softmax is slow on CDNA."),
        "{text}"
    );
    assert_eq!(
        fired(
            folder.path(),
            &["a.py", "--rules", "rules", "--target", "gfx90a"]
        ),
        [""; 0]
    );
    write(folder.path(), "hipward.toml", "rules = \"rules\"\n");
    assert_eq!(
        fired(folder.path(), &["a.py", "--select", "ACME"]),
        ["a.py:2 acme-softmax"]
    );
    let (code, _, _) = check(folder.path(), &["a.py", "--fix"]);
    assert_eq!(code, 0);
    assert_eq!(
        fs::read_to_string(folder.path().join("a.py")).expect("the file"),
        "from acme import softmax as s\nimport torch\ny = torch.softmax(x + 1, dim=-1)\n"
    );
}

#[test]
fn examples_of_the_team_lesson_work() {
    let rules = include_str!("../../content/06-team/02-rules-of-your-own/rules.toml");
    let settings =
        "rules = \"rules\"\n[per-file-ignores]\n\"tools/old_cluster/**\" = [\"pynvml\"]\n";
    let folder = folder(&[
        ("rules/acme.toml", rules),
        ("hipward.toml", settings),
        ("tools/old_cluster/gpu.py", NVML),
        ("a.py", "from acme import softmax as s\ny = s(x, dim=-1)\n"),
        ("Dockerfile", "FROM acme/train:1\n"),
    ]);
    let mut fired = fired(folder.path(), &["."]);
    fired.sort();
    assert_eq!(fired, ["Dockerfile:1 acme-image", "a.py:2 acme-softmax"]);
}

#[test]
fn team_rule_errors_have_file_line_and_key() {
    let bad = TEAM.replace("\"acme.softmax($X, dim=$D)\"", "\"acme.softmax($X\"");
    let folder = folder(&[("rules/acme.toml", &bad), ("a.py", "x = 1\n")]);
    let (code, _, errors) = check(folder.path(), &["a.py", "--rules", "rules"]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("rules/acme.toml:9: `match.pattern`: not valid Python at"),
        "{errors}"
    );
}

#[test]
fn baseline_suppresses_only_known_findings() {
    let before = format!("{NVML}\ndef f():\n    import pynvml\n{LAUNCH}");
    let folder = folder(&[("src/a.py", &before), ("src/b.py", NVML)]);
    let (code, _, errors) = check(folder.path(), &["src", "--write-baseline", "known.json"]);
    assert_eq!(
        (code, errors.contains("4 findings are in known.json")),
        (0, true),
        "{errors}"
    );
    let (code, text, _) = check(folder.path(), &["src", "--baseline", "known.json"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("0 findings in 2 files, 4 in the baseline."),
        "{text}"
    );

    // Moved lines and changed whitespace are the same findings.
    let moved = format!(
        "# new\n\n\n{}",
        before.replace("\"] = \"1\"", "\"]  =  \"1\"")
    );
    write(folder.path(), "src/a.py", &moved);
    assert_eq!(
        fired(folder.path(), &["src", "--baseline", "known.json"]),
        [""; 0]
    );
    // A repeated line is a new finding.
    write(
        folder.path(),
        "src/a.py",
        &format!("{moved}\ndef g():\n    import pynvml\n"),
    );
    assert_eq!(
        fired(folder.path(), &["src", "--baseline", "known.json"]),
        ["src/a.py:12 pynvml"]
    );
    // From another folder, and from the configuration.
    write(folder.path(), "hipward.toml", "baseline = \"known.json\"\n");
    assert_eq!(fired(&folder.path().join("src"), &["b.py"]), [""; 0]);
    // A new baseline contains all findings, not only new ones.
    let (_, _, errors) = check(folder.path(), &["src", "--write-baseline", "known.json"]);
    assert!(errors.contains("5 findings"), "{errors}");
    write(folder.path(), "known.json", "{}");
    let (code, _, errors) = check(folder.path(), &["src"]);
    assert_eq!(code, 2);
    assert!(errors.contains("this is not a baseline"), "{errors}");
}

#[test]
fn git_applies_the_patch_of_many_files() {
    let folder = folder(&[
        ("a.py", CONF),
        ("sub dir/b.py", &format!("# é\n{CONF}")),
        ("c.py", "x = 1\n"),
    ]);
    let (code, patch, _) = check(folder.path(), &[".", "--diff"]);
    assert_eq!(code, 1);
    let mut git = Command::new("git")
        .args(["apply", "-"])
        .current_dir(folder.path())
        .env("GIT_CEILING_DIRECTORIES", folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("git");
    let mut stdin = git.stdin.take().expect("piped");
    stdin.write_all(patch.as_bytes()).expect("git reads");
    drop(stdin);
    assert!(git.wait().expect("git ends").success(), "{patch}");
    let (code, again, _) = check(folder.path(), &[".", "--diff"]);
    assert_eq!((code, again.as_str()), (0, ""));
    assert_eq!(fired(folder.path(), &["."]), [""; 0]);
}

#[test]
fn standard_input_uses_the_passed_file_name() {
    let folder = folder(&[(
        "hipward.toml",
        "[per-file-ignores]\n\"tests/\" = [\"HW1\"]\n",
    )]);
    let run = |arguments: &[&str]| {
        let mut child = hipward(folder.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("hipward runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin
            .write_all(format!("{NVML}{CONF}").as_bytes())
            .expect("it reads");
        drop(stdin);
        exit_code_and_output(child.wait_with_output().expect("it ends"))
    };
    assert!(run(&["-"]).1.contains("--> -:1:8"));
    let (code, text, _) = run(&["-", "--stdin-filename", "tests/a.py"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("--> tests/a.py:3:12"), "{text}");
    let (_, text, _) = run(&["-", "--fix"]);
    assert_eq!(text, format!("{NVML}{}", CONF.replace("_CUDA_", "_")));
}

#[test]
fn order_is_independent_of_the_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    for index in 0..300 {
        write(
            folder.path(),
            &format!("{index:03}.py"),
            &format!("{}{NVML}", "x = 1\n".repeat(index)),
        );
    }
    let one = check(folder.path(), &[".", "--format", "sarif", "--jobs", "1"]);
    let many = check(folder.path(), &[".", "--format", "sarif", "--jobs", "7"]);
    assert_eq!(one.0, 1);
    assert_eq!(one, many);
    let log: Value = serde_json::from_str(&one.1).expect("JSON");
    assert_eq!(
        log["runs"][0]["results"].as_array().map(Vec::len),
        Some(300)
    );
    assert_eq!(one.2, "", "no progress bar without a terminal");
}

/// The memory limit of the process is far below the total size of the files.
#[test]
fn memory_is_independent_of_the_number_of_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = format!("{NVML}x = '''{}'''\n", "words ".repeat(40_000));
    write(folder.path(), "0.py", &long);
    for index in 1..600 {
        let twin = folder.path().join(format!("{index}.py"));
        fs::hard_link(folder.path().join("0.py"), twin).expect("a link");
    }
    let kilobytes = 40 * 1024;
    assert!(long.len() * 600 > 3 * 1024 * kilobytes);
    let output = Command::new("bash")
        .args([
            "-c",
            &format!("ulimit -d {kilobytes} && exec \"$@\""),
            "bash",
        ])
        .arg(env!("CARGO_BIN_EXE_hipward"))
        .args(["check", ".", "--jobs", "4", "--select", "pynvml"])
        .current_dir(folder.path())
        .output()
        .expect("bash runs");
    let (code, text, errors) = exit_code_and_output(output);
    assert_eq!(code, 1, "{errors}");
    assert!(text.contains("600 findings in 600 files."), "{errors}");
}

#[test]
fn requirements_of_any_name_are_checked_if_a_file_includes_them() {
    let folder = folder(&[
        (
            "app/Dockerfile",
            "FROM python\nRUN pip install -r /srv/deps/gpu\n",
        ),
        ("app/deps/gpu", "-r ../pins.lst\n-r ../../outside\npynvml\n"),
        ("app/pins.lst", "onnxruntime-gpu\n"),
        ("app/notes", "pynvml\n"),
        (
            "app/.github/workflows/ci.yml",
            "jobs:\n  t:\n    steps:\n      - run: pip install -r deps/ci\n",
        ),
        ("app/deps/ci", "pynvml\n"),
        ("app/skipped/more", "pynvml\n"),
        ("app/requirements.txt", "-r skipped/more\n"),
        ("app/hipward.toml", "exclude = [\"skipped\"]\n"),
        ("outside", "pynvml\n"),
    ]);
    let wanted = [
        "app/deps/ci:1 pynvml",
        "app/deps/gpu:3 pynvml",
        "app/pins.lst:1 nvidia-package",
    ];
    assert_eq!(fired(folder.path(), &["app"]), wanted);
    assert_eq!(
        fired(&folder.path().join("app"), &["."]),
        wanted.map(|line| line.strip_prefix("app/").expect("its folder"))
    );
    // Of a file that is passed, nothing else is read.
    assert!(fired(folder.path(), &["app/requirements.txt"]).is_empty());
}
