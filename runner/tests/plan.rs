//! `hipward plan`: its order, its formats, and the progress since an earlier plan.

#[path = "support/check.rs"]
mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{folder, write};

fn plan(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_hipward"))
        .current_dir(folder)
        .args(["plan", "--quiet", "--isolated"])
        .args(arguments)
        .output()
        .expect("hipward runs");
    support::exit_code_and_output(output)
}

const TRAIN: &str =
    "import pynvml\nimport torch\nfast = \"H100\" in torch.cuda.get_device_name()\n";
const HEADER: &str =
    "__global__ void k(int *x) { x[0] = __shfl_down_sync(0xffffffff, x[0], 16); }\n";

#[test]
fn steps_are_in_the_order_of_a_port() {
    let folder = folder(&[
        ("train.py", TRAIN),
        (
            "requirements.txt",
            "--index-url https://download.pytorch.org/whl/cu124\ntorch\n",
        ),
        ("csrc/z.cu", HEADER),
        ("csrc/z.cuh", HEADER),
    ]);
    let (code, text, errors) = plan(folder.path(), &[]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}"));
    let parts = [
        "Porting plan for gfx942",
        "First\n",
        "Without a person\n",
        "A. Packages, images and libraries (",
        "error[HW001 cuda-wheel-index]",
        "train.py:1",
        "C. Conditions that only NVIDIA passes (",
        "HW306 device-name]",
        "E. CUDA C++ and Triton kernels (",
        "csrc/z.cuh:1, csrc/z.cu:1",
        "Then\n",
        "Porting effort: ",
        "Estimated from a table, not measured",
    ];
    assert!(parts.map(at).is_sorted(), "{text}");
}

#[test]
fn markdown_is_a_checklist() {
    let folder = folder(&[("train.py", TRAIN)]);
    let (_, text, _) = plan(folder.path(), &["--format", "markdown"]);
    for line in [
        "# Porting plan for gfx942",
        "## A. Packages",
        "- [ ] **pynvml** (HW101, error)",
        "| Work | Findings | Minutes |",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn progress_is_reported_since_an_earlier_plan() {
    let folder = folder(&[("train.py", TRAIN)]);
    let (_, json, _) = plan(folder.path(), &["--format", "json"]);
    write(folder.path(), "before/plan.json", &json);
    let changed = "import apex\nimport torch\nfast = \"H100\" in torch.cuda.get_device_name()\n";
    write(folder.path(), "train.py", changed);
    let since = ["--since", "before/plan.json"];
    let (code, text, _) = plan(folder.path(), &since);
    assert_eq!(code, 0);
    let line = "Since the earlier plan: 1 of 2 findings are done, 1 new.";
    assert!(text.contains(line), "{text}");
    let (_, text, _) = plan(
        folder.path(),
        &[&since[..], &["--format", "markdown"]].concat(),
    );
    assert!(text.contains("- [x] pynvml (HW101): 1 finding"), "{text}");
}

#[test]
fn invalid_input_is_refused() {
    let folder = folder(&[("train.py", TRAIN), ("plan.json", "{}")]);
    let (code, text, errors) = plan(folder.path(), &["--since", "plan.json"]);
    assert_eq!((code, text.as_str()), (2, ""));
    assert!(
        errors.starts_with("hipward: plan.json: not a plan of `hipward plan --format json`"),
        "{errors}"
    );
    let (code, _, errors) = plan(folder.path(), &["missing"]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("missing: no such file or folder"),
        "{errors}"
    );
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    let (code, _, errors) = plan(folder.path(), &["empty"]);
    assert_eq!(
        (code, errors.as_str()),
        (2, "hipward: there are no files that it can check\n")
    );
}

#[test]
fn second_plan_uses_the_stored_reports_and_those_of_a_check() {
    let folder = folder(&[("train.py", TRAIN), ("csrc/z.cu", HEADER)]);
    let caches = tempfile::tempdir().expect("a folder");
    let cache = caches.path().to_str().expect("UTF-8");
    // Files that change just before a run are not stored.
    std::thread::sleep(std::time::Duration::from_millis(150));
    let fresh = plan(folder.path(), &["--no-cache"]);
    assert!(fs::read_dir(cache).expect("the folder").next().is_none());
    support::check(folder.path(), &[".", "--isolated", "--cache-dir", cache]);
    let stored = || {
        let files: Vec<_> = fs::read_dir(cache).expect("the folder").flatten().collect();
        assert_eq!(files.len(), 1, "check and plan share a file");
        files[0].path()
    };
    let file = stored();
    assert_eq!(plan(folder.path(), &["--cache-dir", cache]), fresh);
    // A stored report with another rule is the one that is counted.
    let text = fs::read_to_string(stored()).expect("text");
    fs::write(&file, text.replace("HW306", "HW999")).expect("written");
    let (_, text, _) = plan(folder.path(), &["--cache-dir", cache]);
    assert!(text.contains("HW999"), "{text}");
    // A server links to the program, which changes the time of the program's last change.
    let program = Path::new(env!("CARGO_BIN_EXE_hipward"));
    let link = program.with_extension("link");
    fs::hard_link(program, &link).expect("a link");
    fs::remove_file(link).expect("the link");
    let (_, text, _) = plan(folder.path(), &["--cache-dir", cache]);
    assert!(text.contains("HW999"), "{text}");
    write(folder.path(), "train.py", "import torch\n");
    let (_, text, _) = plan(folder.path(), &["--cache-dir", cache]);
    assert!(!text.contains("train.py"), "{text}");
}
