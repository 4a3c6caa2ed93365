//! HW006: options of nvcc in CMake.

use crate::checker::FileChecker;
use crate::facts::CmakeCall;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds options that only nvcc accepts, such as `-gencode`, `--use_fast_math` and `-Xptxas`, in CMake commands, and in the
    /// variables and recipes of makefiles. In Dockerfiles, scripts and workflows, finds variables whose value begins with `-gencode`.
    ///
    /// ## Why on ROCm
    ///
    /// `hipcc` is clang, and clang stops at an unknown argument. A project that compiles its kernels as HIP needs
    /// different options for them: `--offload-arch=gfx942` in place of `-gencode` and `-arch=sm_80`, `-ffast-math` in
    /// place of `--use_fast_math`, and `-fgpu-rdc` in place of `-rdc=true`. Relaxed `constexpr` and device lambdas need
    /// no option in clang. clang ignores `-Xcompiler` with a warning.
    ///
    /// ## Example
    ///
    /// ```cmake
    /// set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --use_fast_math --expt-relaxed-constexpr")
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cmake
    /// set(CMAKE_HIP_FLAGS "${CMAKE_HIP_FLAGS} -ffast-math")
    /// ```
    ///
    /// A file that already uses HIP is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the options are correct for nvcc.
    ///
    /// ## References
    ///
    /// * [Clang: HIP support](https://clang.llvm.org/docs/HIPSupport.html)
    /// * [nvcc: command options](https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#nvcc-command-options)
    "HW006" "nvcc-options" {
        title: "hipcc does not accept nvcc's options",
        family: BuildFiles,
        severity: Error,
        also: [Info "behind a condition on CUDA, and in a workflow"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        files: [Cmake, Makefile, Dockerfile, Shell, Yaml] check,
    }
}

/// Prefixes of the options for which clang 22 prints `unknown argument` when it compiles HIP, with their equivalents.
const UNKNOWN: &[(&str, &str)] = &[
    ("-gencode", "--offload-arch={arch}"),
    ("--generate-code", "--offload-arch={arch}"),
    ("-arch=sm_", "--offload-arch={arch}"),
    ("-arch=compute_", "--offload-arch={arch}"),
    ("--gpu-architecture", "--offload-arch={arch}"),
    ("--use_fast_math", "-ffast-math"),
    ("--expt-relaxed-constexpr", "nothing: clang supports it"),
    ("-expt-relaxed-constexpr", "nothing: clang supports it"),
    ("--expt-extended-lambda", "nothing: clang supports it"),
    ("-expt-extended-lambda", "nothing: clang supports it"),
    ("--extended-lambda", "nothing: clang supports it"),
    ("-extended-lambda", "nothing: clang supports it"),
    (
        "--ptxas-options",
        "-Rpass-analysis=kernel-resource-usage, to see registers and spills",
    ),
    (
        "-Xptxas",
        "-Rpass-analysis=kernel-resource-usage, to see registers and spills",
    ),
    ("--resource-usage", "-Rpass-analysis=kernel-resource-usage"),
    ("-maxrregcount", "__launch_bounds__ in the kernel"),
    ("--maxrregcount", "__launch_bounds__ in the kernel"),
    ("-rdc=", "-fgpu-rdc"),
    ("--relocatable-device-code", "-fgpu-rdc"),
    ("--generate-line-info", "-gline-tables-only"),
    ("--default-stream", "-fgpu-default-stream=per-thread"),
    ("-diag-suppress=", "-Wno-…"),
    ("--diag-suppress", "-Wno-…"),
    ("-Xcudafe", "-Wno-…"),
    ("--compiler-options", "the option itself"),
    ("--threads", "nothing"),
    ("--fmad", "-ffp-contract=off"),
    ("-Xfatbin", "--offload-compress"),
    ("-ccbin", "nothing: hipcc compiles the host code too"),
    ("-Xcompiler=", "the option itself"),
];

/// CMake commands that contain compiler options.
const CMAKE: &[&str] = &[
    "set",
    "list",
    "add_compile_options",
    "target_compile_options",
    "set_target_properties",
    "set_property",
    "add_definitions",
    "set_source_files_properties",
];

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    // In scripts, options in a variable that a build passes on; `NVCC_APPEND_FLAGS` has a rule of its own.
    let is_script = !matches!(cx.language, Language::Cmake | Language::Makefile);
    for setting in &cx.facts.settings {
        let value = setting.value.unquoted();
        if !is_script
            || value.as_str().starts_with("-gencode") && !setting.key.as_str().starts_with("NVCC_")
        {
            let is_info = setting.guarded || cx.language == Language::Yaml;
            first(cx, severity(is_info), &[value]);
        }
    }
    if is_script {
        return;
    }
    for command in &cx.facts.commands {
        first(cx, severity(command.guarded), &command.words);
    }
    for call in &cx.facts.cmake_calls {
        let carries = CMAKE.iter().any(|name| call.is(name))
            || call.is("string") && joins(call)
            || call.name.as_str().to_ascii_lowercase().contains("cuda");
        if carries {
            // CACHE is followed by a type and a description.
            let cache = call
                .arguments
                .iter()
                .position(|word| word.as_str() == "CACHE");
            let options = cache.unwrap_or(call.arguments.len());
            first(cx, severity(call.guarded), &call.arguments[..options]);
        }
    }
}

fn severity(guarded: bool) -> Severity {
    if guarded {
        Severity::Info
    } else {
        Severity::Error
    }
}

/// `string(APPEND CMAKE_CUDA_FLAGS " --use_fast_math")`; `string(REPLACE "-gencode" …)` only reads options.
fn joins(call: &CmakeCall<'_>) -> bool {
    let operation = call.arguments.first().map_or("", |word| word.as_str());
    matches!(operation, "APPEND" | "PREPEND" | "CONCAT" | "JOIN")
}

/// One finding per call, at its first option.
fn first(cx: &FileChecker<'_>, severity: Severity, arguments: &[Text<'_>]) {
    for argument in arguments {
        for word in argument
            .unquoted()
            .split(|c| c.is_whitespace() || matches!(c, ';' | ',' | '>' | ':' | '"'))
        {
            let text = word.as_str();
            if let Some((option, instead)) =
                UNKNOWN.iter().find(|(option, _)| text.starts_with(option))
            {
                let option = option.trim_end_matches(['=', '_']);
                let message = match severity {
                    Severity::Error => {
                        format!(
                            "Only nvcc accepts {option}; hipcc stops at it when these sources are compiled as HIP."
                        )
                    }
                    _ => format!("Only nvcc accepts {option}; HIP sources need different options."),
                };
                cx.report(
                    &RULE,
                    severity,
                    word.range(),
                    message,
                    RawFix::display_only(format!(
                        "For HIP: {}",
                        instead.replace("{arch}", cx.target.arch.name())
                    )),
                );
                return;
            }
        }
    }
}
