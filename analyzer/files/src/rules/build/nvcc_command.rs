//! HW009: running nvcc and NVIDIA's other tools.

use crate::checker::Checker;
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::diagnostic::Suggestion;

declare_rule! {
    /// ## What it does
    ///
    /// Finds scripts that run `nvcc`, Nsight (`nsys`, `ncu`), `cuda-gdb`, `compute-sanitizer` or `cuobjdump`.
    ///
    /// ## Why on ROCm
    ///
    /// They come with the CUDA toolkit; a ROCm host answers "command not found". ROCm has a tool for each purpose:
    /// `hipcc` compiles, `rocprofv3` and `rocprof-compute` profile, `rocgdb` debugs.
    ///
    /// ## Example
    ///
    /// ```shell
    /// nsys profile -o trace python train.py
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```shell
    /// rocprofv3 --sys-trace -- python train.py
    /// ```
    ///
    /// Behind `command -v nvcc`, or with `|| true`, the rule stays quiet.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the tools' options differ.
    ///
    /// ## References
    ///
    /// * [HIPCC](https://rocm.docs.amd.com/projects/HIPCC/en/latest/)
    /// * [rocprofv3](https://rocm.docs.amd.com/projects/rocprofiler-sdk/en/latest/how-to/using-rocprofv3.html)
    "HW009" "nvcc-command" {
        title: "The CUDA toolkit's tools are not there",
        family: BuildFiles,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: None,
        files: [Shell, Dockerfile, Yaml] check,
    }
}

const TOOLS: &[(&str, &str)] = &[
    (
        "nvcc",
        "Compile with hipcc, after hipify where the sources are CUDA",
    ),
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
        "Look into code objects with llvm-objdump or roc-obj-ls",
    ),
    (
        "nvidia-cuda-mps-control",
        "Leave it out: processes share an AMD GPU without a daemon",
    ),
];

fn check(cx: &Checker<'_>) {
    if cx.is_ported {
        return;
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        let program = command.program();
        if let Some((tool, instead)) = TOOLS.iter().find(|(tool, _)| *tool == program) {
            cx.report(
                &RULE,
                Severity::Error,
                command.range(),
                format!("{tool} belongs to the CUDA toolkit; a ROCm host does not have it."),
                Suggestion::display_only(*instead),
            );
        }
    }
}
