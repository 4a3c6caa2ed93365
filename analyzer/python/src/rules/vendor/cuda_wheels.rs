//! HW115: CUDA packages that Python code installs.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, values};
use crate::rules::helpers::commands::{command, runner};
use crate::semantic::string;
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::rule::Rule;

declare_rule! {
    /// ## What it does
    ///
    /// Finds CUDA packages in a `pip install` that Python code runs: NVIDIA's own (`nvidia-cublas-cu12`),
    /// `onnxruntime-gpu`, a version for CUDA (`torch==2.1.0+cu121`), and PyTorch's CUDA index, also as the default of an
    /// environment variable. The helper `check_requirements` of YOLO installs packages too. A package that another rule reports in requirements, such as `cupy-cuda12x` or `tensorrt`, is reported under that rule here too. The
    /// requirements of a `setup.py` are checked by the rules for requirements.
    ///
    /// ## Why on ROCm
    ///
    /// The packages install, use gigabytes, and have no effect; or the CUDA build of PyTorch replaces the ROCm build,
    /// and `torch.cuda.is_available()` returns false from then on. PyTorch's ROCm wheels are in a separate index.
    ///
    /// ## Example
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(
    ///     ["pip", "install", "torch", "--index-url", "https://download.pytorch.org/whl/cu128"], check=True
    /// )
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(
    ///     ["pip", "install", "torch", "--index-url", "https://download.pytorch.org/whl/rocm7.0"], check=True
    /// )
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the index has to match the host's ROCm version, and a package may have a different name.
    ///
    /// ## References
    ///
    /// * [PyTorch: get started](https://pytorch.org/get-started/locally/)
    /// * [PyTorch for ROCm](https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html)
    "HW115" "cuda-wheels" {
        title: "A package or index for CUDA is installed",
        family: VendorLibraries,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [Call],
    }
}
/// Packages for NVIDIA's stack: the rule that reports each, here as in requirements, and the package to install
/// instead.
const PACKAGES: &[(&str, &str, &str)] = &[
    (
        "nvidia-ml-py",
        "pynvml",
        "Install amdsmi, which comes with ROCm",
    ),
    ("pynvml", "pynvml", "Install amdsmi, which comes with ROCm"),
    (
        "onnxruntime-gpu",
        "cuda-wheels",
        "Install onnxruntime-migraphx",
    ),
    (
        "tensorrt",
        "tensorrt",
        "Remove it; MIGraphX comes with ROCm",
    ),
    (
        "flash-attn",
        "flash-attn",
        "Build it for ROCm from source, or use PyTorch's attention",
    ),
    ("torch-tensorrt", "tensorrt", "Install torch_migraphx"),
    (
        "paddlepaddle-gpu",
        "cuda-wheels",
        "Install PaddlePaddle's build for ROCm",
    ),
    (
        "NVIDIA/apex",
        "apex",
        "Use PyTorch's equivalent, or build AMD's fork of apex",
    ),
    ("cuda-python", "cuda-python", "Install hip-python"),
    ("pycuda", "cuda-python", "Install hip-python"),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    installed(cx, &RULE, node);
}

/// Reports the packages of the rule `of` that Python code installs at `node`.
pub(in crate::rules) fn installed(cx: &PythonChecker<'_>, of: &'static Rule, node: Node) {
    if !cx.may_install {
        return;
    }
    if cx
        .callee(node)
        .is_some_and(|callee| callee.is_any(&["os.environ.get", "os.getenv"]))
    {
        default(cx, of, node);
        return;
    }
    // `check_requirements(("onnx", "onnxruntime-gpu" if cuda else "onnxruntime"))`
    if called(cx, node) == "check_requirements" {
        cx.any_within(node, &|part| {
            cx.tree().kind(part) == Kind::StringContent
                && report(cx, of, part, cx.tree().text(part))
        });
        return;
    }
    let Some(command) = runner(cx, node).and_then(|_| command(cx, node)) else {
        return;
    };
    let words = &command.words;
    let installs = words
        .iter()
        .any(|word| matches!(*word, "pip" | "pip3" | "uv") || word.ends_with("/pip"))
        && words.contains(&"install");
    if installs {
        // One finding per command is enough.
        words.iter().any(|word| report(cx, of, node, word));
    }
}

/// `os.environ.get("TORCH_COMMAND", "pip install torch --index-url https://download.pytorch.org/whl/cu121")`
fn default(cx: &PythonChecker<'_>, of: &'static Rule, call: Node) {
    if let Some(text) = values(cx, call)
        .get(1)
        .and_then(|value| string(&cx.semantics, *value))
    {
        // A source that uses ROCm selects one of several indexes.
        text.split_whitespace()
            .filter(|word| {
                word.contains("//download.pytorch.org/") && !cx.tree().source().contains("rocm")
            })
            .any(|word| report(cx, of, call, word));
    }
}

/// Reports `word` if it is a package of the rule `of`.
fn report(cx: &PythonChecker<'_>, of: &'static Rule, node: Node, word: &str) -> bool {
    let Some((_, title)) = for_cuda(word).filter(|(owner, _)| *owner == of.name) else {
        return false;
    };
    cx.report_as(
        of,
        Severity::Warning,
        node,
        format!("{word} is for CUDA: on a ROCm host it has no use, or replaces the ROCm build."),
        RawFix::display_only(title),
    );
    true
}

/// The rule that reports the installation of `word`, and the alternative.
fn for_cuda(word: &str) -> Option<(&'static str, &'static str)> {
    if let Some((_, build)) = word.split_once("download.pytorch.org/whl/") {
        let build = build.trim_start_matches("nightly/");
        return build.starts_with("cu").then_some((
            "cuda-wheels",
            "Install from PyTorch's index for the host's ROCm version",
        ));
    }
    // `git+https://github.com/NVIDIA/apex.git`
    let name = word
        .split("github.com/")
        .last()
        .unwrap_or_default()
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/')))
        .next()
        .unwrap_or_default();
    let is_build = ["-cu11", "-cu12", "-cu13"]
        .iter()
        .any(|build| name.ends_with(build));
    // `…/whl/{build}`, whose parts are two words.
    let is_index = name
        .strip_prefix("cu1")
        .is_some_and(|rest| rest.len() == 2 && rest.bytes().all(|byte| byte.is_ascii_digit()));
    if is_index || word.contains("+cu1") {
        Some((
            "cuda-wheels",
            "Install from PyTorch's index for the host's ROCm version",
        ))
    } else if name.starts_with("cupy-cuda") {
        Some(("cupy", "Install cupy-rocm-7-0 or AMD's amd-cupy"))
    } else if name.starts_with("nvidia-") && is_build {
        Some((
            "cuda-wheels",
            "Remove it: the ROCm build of PyTorch includes its own libraries",
        ))
    } else {
        PACKAGES
            .iter()
            .find(|(package, _, _)| *package == name)
            .map(|(_, owner, title)| (*owner, *title))
    }
}
