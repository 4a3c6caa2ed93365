//! HW008: compute capabilities in CMake.

use crate::checker::FileChecker;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `CMAKE_CUDA_ARCHITECTURES`, the property `CUDA_ARCHITECTURES` and `TORCH_CUDA_ARCH_LIST` set in CMake, and
    /// `-DCMAKE_CUDA_ARCHITECTURES=…` on the command line of `cmake`.
    ///
    /// ## Why on ROCm
    ///
    /// These list compute capabilities of NVIDIA GPUs, and apply to CUDA sources only. HIP uses
    /// `CMAKE_HIP_ARCHITECTURES` and `HIP_ARCHITECTURES`, with names such as `gfx942`. If they are not set, CMake
    /// compiles for the GPUs of the build machine.
    ///
    /// ## Example
    ///
    /// ```shell
    /// cmake -B build -DCMAKE_CUDA_ARCHITECTURES=80
    /// ```
    ///
    /// ```cmake
    /// set(CMAKE_CUDA_ARCHITECTURES 80 90)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```shell
    /// cmake -B build -DCMAKE_HIP_ARCHITECTURES=gfx942
    /// ```
    ///
    /// ```cmake
    /// set(CMAKE_HIP_ARCHITECTURES gfx942)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: a build for NVIDIA GPUs needs the existing list as well.
    ///
    /// ## References
    ///
    /// * [CMake: CMAKE_HIP_ARCHITECTURES](https://cmake.org/cmake/help/latest/variable/CMAKE_HIP_ARCHITECTURES.html)
    "HW008" "cmake-cuda-architectures" {
        title: "HIP has a separate list of architectures",
        family: BuildFiles,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        files: [Cmake, Shell, Dockerfile, Yaml] check,
    }
}

const NAMES: &[&str] = &[
    "CMAKE_CUDA_ARCHITECTURES",
    "CUDA_ARCHITECTURES",
    "TORCH_CUDA_ARCH_LIST",
];

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    let arch = cx.target.arch.name();
    let advice = || RawFix::display_only(format!("For HIP: CMAKE_HIP_ARCHITECTURES, with {arch}"));
    let message =
        "These are compute capabilities of NVIDIA GPUs; HIP sources are not compiled for them.";
    if cx.language == Language::Cmake {
        for call in &cx.facts.cmake_calls {
            let sets = ["set", "set_property", "set_target_properties", "list"]
                .iter()
                .any(|name| call.is(name));
            let at = call
                .arguments
                .iter()
                .position(|word| NAMES.contains(&word.as_str()));
            // `OFF` and an empty list name no architecture.
            let named = at.filter(|at| {
                let value = call.arguments.get(at + 1);
                value.is_some_and(|value| !matches!(value.as_str(), "" | "OFF" | "FALSE"))
            });
            let name = named.and_then(|at| call.arguments.get(at));
            if let Some(name) = name.filter(|_| sets) {
                let severity = if call.guarded {
                    Severity::Info
                } else {
                    Severity::Warning
                };
                // Projects add to the list in many places; only the first is reported.
                cx.report(&RULE, severity, name.range(), message, advice());
                return;
            }
        }
        return;
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        let option = command
            .words
            .iter()
            .find(|word| word.as_str().starts_with("-DCMAKE_CUDA_ARCHITECTURES"));
        if let Some(option) = option.filter(|_| command.program() == "cmake") {
            cx.report(&RULE, Severity::Warning, option.range(), message, advice());
        }
    }
}
