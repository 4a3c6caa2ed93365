//! HW009: running nvcc and NVIDIA's other tools.

use crate::checker::FileChecker;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity};
use hipward_analyzer_python::rules::vendor::cuda_tool::TOOLS;

declare_rule! {
    /// ## What it does
    ///
    /// Finds scripts and makefiles that run `nvcc`, Nsight (`nsys`, `ncu`), `cuda-gdb`, `compute-sanitizer`,
    /// `cuobjdump` and other programs of NVIDIA, or `ffmpeg` with NVIDIA's encoder, and variables of a makefile with the path of `nvcc`.
    ///
    /// ## Why on ROCm
    ///
    /// They are part of the CUDA toolkit; on a ROCm host the shell prints "command not found". ROCm has a tool for each
    /// purpose: `hipcc` compiles, `rocprofv3` and `rocprof-compute` profile, `rocgdb` debugs.
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
    /// A command behind `command -v nvcc`, or with `|| true`, is not reported.
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
        title: "CUDA toolkit command on a ROCm host",
        family: BuildFiles,
        severity: Error,
        also: [
            Warning "for a question for nvcc's version",
            Info "for a variable with a default value that another compiler can replace (`NVCC ?= nvcc`)",
        ],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        files: [Shell, Dockerfile, Yaml, Makefile, Pyproject] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    if cx.language == Language::Makefile {
        compiler_variables(cx);
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        let program = command.program();
        let encoder = command
            .words
            .iter()
            .find(|word| word.as_str().ends_with("_nvenc"));
        if let Some(encoder) = encoder.filter(|_| program == "ffmpeg") {
            cx.report(
                &RULE,
                Severity::Error,
                encoder.range(),
                "This encoder needs an NVIDIA GPU, so ffmpeg stops.",
                RawFix::display_only("Encode with libx264 or libx265"),
            );
        }
        if let Some((tool, instead)) = TOOLS.iter().find(|(tool, _)| *tool == program) {
            // Its output may only be printed.
            let asks_version = program == "nvcc"
                && command
                    .words
                    .iter()
                    .skip(1)
                    .all(|word| matches!(word.as_str(), "--version" | "-V"));
            let (severity, instead) = match asks_version {
                true => (Severity::Warning, "Ask hipcc for its version"),
                false => (Severity::Error, *instead),
            };
            cx.report(
                &RULE,
                severity,
                command.range(),
                format!("{tool} is for NVIDIA GPUs; a ROCm host does not have it."),
                RawFix::display_only(instead),
            );
        }
    }
}

/// `NVCC = $(CUDA_HOME)/bin/nvcc`
fn compiler_variables(cx: &FileChecker<'_>) {
    for setting in cx.facts.settings.iter().filter(|setting| !setting.guarded) {
        let Some(program) = setting.value.words().next() else {
            continue;
        };
        if program.as_str().rsplit('/').next() != Some("nvcc") {
            continue;
        }
        let assignment = cx
            .source
            .get(setting.key.range().end..program.range().start)
            .unwrap_or_default();
        let (severity, message) = if assignment.trim_start().starts_with('?') {
            (
                Severity::Info,
                "nvcc is part of the CUDA toolkit; on a ROCm host this default has to be replaced.",
            )
        } else {
            (
                Severity::Error,
                "nvcc is part of the CUDA toolkit; a ROCm host does not have it.",
            )
        };
        cx.report(
            &RULE,
            severity,
            program.range(),
            message,
            RawFix::display_only("Compile with hipcc; hipify CUDA sources first"),
        );
    }
}
