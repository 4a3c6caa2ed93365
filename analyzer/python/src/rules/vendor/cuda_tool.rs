//! HW116: running nvcc, NVIDIA's profilers and other tools of the CUDA toolkit.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, function_around, values};
use crate::rules::helpers::commands::{LENIENT_RUNNERS, command, runner};
use crate::semantic::{is_import_guarded, string};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `nvcc`, `nsys`, `ncu`, `cuda-gdb`, `compute-sanitizer` and other tools of the CUDA toolkit, and `trtexec` and
    /// `trtllm-build` of TensorRT, run through `subprocess`, `os.system`, `os.popen` or `asyncio`, or required by a source
    /// that raises without them. HW009 finds the same commands in scripts.
    ///
    /// ## Why on ROCm
    ///
    /// A ROCm host does not have them: `subprocess.run(["nvcc", …])` raises `FileNotFoundError`, and `os.system` returns
    /// an error. `hipcc` compiles for AMD GPUs, `rocprofv3` and `rocprof-compute` profile, `rocgdb` debugs.
    ///
    /// ## Example
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(["nvcc", "-shared", "-o", "ops.so", "ops.cu"], check=True)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(["hipcc", "-shared", "-o", "ops.so", "ops.hip"], check=True)
    /// ```
    ///
    /// A call in a `try` that catches the error, in a function that looks for the tool with `shutil.which`, or in a source
    /// that checks `torch.version.hip` is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the tools' options differ, and CUDA sources have to be converted first.
    ///
    /// ## References
    ///
    /// * [HIPCC](https://rocm.docs.amd.com/projects/HIPCC/en/latest/)
    /// * [rocprofv3](https://rocm.docs.amd.com/projects/rocprofiler-sdk/en/latest/how-to/using-rocprofv3.html)
    "HW116" "cuda-tool" {
        title: "A tool of the CUDA toolkit is run",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "in code that continues without the tool"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        visit: [Call],
    }
}

/// A tool, and its counterpart.
pub const TOOLS: &[(&str, &str)] = &[
    ("nvcc", "Compile with hipcc; hipify CUDA sources first"),
    ("nsys", "Profile with rocprofv3 --sys-trace"),
    ("ncu", "Profile kernels with rocprof-compute"),
    ("nvprof", "Profile with rocprofv3 --kernel-trace --stats"),
    ("cuda-gdb", "Debug with rocgdb"),
    (
        "compute-sanitizer",
        "Build with clang's address sanitizer for HIP",
    ),
    (
        "cuda-memcheck",
        "Build with clang's address sanitizer for HIP",
    ),
    (
        "cuobjdump",
        "Inspect code objects with llvm-objdump or roc-obj-ls",
    ),
    (
        "trtllm-build",
        "Serve the model with vLLM, which supports ROCm",
    ),
    ("trtexec", "Measure the model with migraphx-driver perf"),
    (
        "nvidia-cuda-mps-control",
        "Remove it: processes share an AMD GPU without a daemon",
    ),
];

fn check(cx: &PythonChecker<'_>, call: Node) {
    let Some((function, inner)) = runner(cx, call) else {
        return check_search(cx, call);
    };
    let Some(command) = command(cx, call) else {
        return;
    };
    let program = command.words.first().copied().unwrap_or_default();
    let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program.trim_end_matches(".exe");
    let Some((tool, instead)) = TOOLS.iter().find(|(tool, _)| *tool == program) else {
        return;
    };
    let is_looked_for = function_around(cx, call)
        .is_some_and(|around| contains_any(cx.tree().text(around), &["which("]));
    // Only a shell reports a missing program by its status.
    let errors: &[&str] = if command.is_shell {
        &["SubprocessError", "CalledProcessError"]
    } else {
        &["FileNotFoundError", "OSError"]
    };
    let is_guarded = [call, inner]
        .iter()
        .any(|call| is_import_guarded(&cx.semantics, *call, errors));
    if is_looked_for || is_guarded || cx.mentions_hip() {
        return;
    }
    let severity = if function.is_any(LENIENT_RUNNERS) {
        Severity::Warning
    } else {
        Severity::Error
    };
    report(cx, severity, call, tool, instead);
}

fn report(
    cx: &PythonChecker<'_>,
    severity: Severity,
    call: Node,
    tool: &str,
    instead: &'static str,
) {
    cx.report_as(
        &RULE,
        severity,
        call,
        format!("{tool} is for NVIDIA GPUs; a ROCm host does not have it."),
        RawFix::display_only(instead),
    );
}

/// `if shutil.which("nvcc") is None: raise …`
fn check_search(cx: &PythonChecker<'_>, call: Node) {
    let tree = cx.tree();
    let Some((tool, instead)) = cx
        .callee(call)
        .filter(|name| name.is("shutil.which"))
        .and_then(|_| string(&cx.semantics, *values(cx, call).first()?))
        .and_then(|name| TOOLS.iter().find(|(tool, _)| *tool == name))
    else {
        return;
    };
    let raises = tree.parent(call).is_some_and(|condition| {
        let text = tree.text(condition);
        let body = tree
            .parent(condition)
            .filter(|_| text.starts_with("not ") || text.ends_with(" is None"))
            .and_then(|statement| tree.child(statement, Field::Consequence));
        body.and_then(|body| tree.parts(body).next())
            .is_some_and(|first| tree.kind(first) == Kind::RaiseStatement)
    });
    if raises && !cx.mentions_hip() {
        report(cx, Severity::Error, call, tool, instead);
    }
}
