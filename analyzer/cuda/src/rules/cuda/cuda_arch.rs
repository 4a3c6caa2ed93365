//! HW912: branches that test `__CUDA_ARCH__` or CUDA's version.

use crate::{CUDA_NUMBERS, CudaArch, CudaChecker, Setting, chains, evaluate};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `#if` lines whose result on AMD depends on `__CUDA_ARCH__`, `CUDA_VERSION` or `CUDART_VERSION`: a branch
    /// for newer GPUs or toolkits that is never compiled on AMD, or a test for device code that is never true.
    ///
    /// ## Why on ROCm
    ///
    /// A HIP compiler does not define these macros, and an undefined macro counts as 0: AMD gets the path of the oldest
    /// GPU or toolkit, or none. (PyTorch's hipify writes `TORCH_HIP_VERSION` for `CUDA_VERSION`, whose numbers are
    /// smaller than any of CUDA's.) Use `__HIP_DEVICE_COMPILE__` to test for device code.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __host__ __device__ int where() {
    /// #ifdef __CUDA_ARCH__
    ///     return 1;
    /// #else
    ///     return 0;
    /// #endif
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __host__ __device__ int where() {
    /// #if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    ///     return 1;
    /// #else
    ///     return 0;
    /// #endif
    /// }
    /// ```
    ///
    /// A comparison such as `__CUDA_ARCH__ >= 800` tests for a feature: name AMD's side explicitly, as in
    /// `__CUDA_ARCH__ >= 800 || defined(USE_ROCM)`, once the branch works there. If there is another branch, AMD has a
    /// working path, and the severity is advice. A branch for a newer toolkit is usually optional on AMD, so a version
    /// test without another branch has the severity info.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: code that was not compiled for AMD's device before is now compiled. The fixes for comparisons are
    /// display-only.
    ///
    /// ## References
    ///
    /// * [HIP porting guide: identifying compilation passes](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    "HW912" "cuda-arch" {
        title: "CUDA's version macros are not defined on AMD",
        family: CudaCpp,
        severity: Warning,
        also: [
            Advice "where the target compiles another branch",
            Info "for a version of CUDA, and where the project defines the macro",
        ],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    if CUDA_NUMBERS
        .iter()
        .all(|number| source.places(number).is_empty())
    {
        return;
    }
    // Some projects define the macro for AMD as well, and their headers for HIP do.
    let is_defined = source.directives.iter().any(|line| {
        source.directive_name(line) == "define"
            && source.token_text(line.start + 2) == "__CUDA_ARCH__"
    });
    let serious = if is_defined || cx.has_hip_names {
        Severity::Info
    } else {
        Severity::Warning
    };
    for (line, chain) in source.directives.iter().zip(chains(source)) {
        let asks = |word: &str| line.clone().any(|token| source.token_text(token) == word);
        let name = source.directive_name(line);
        if !matches!(name, "if" | "ifdef" | "elif") {
            continue;
        }
        let Some(number) = CUDA_NUMBERS.iter().find(|number| asks(number)) else {
            continue;
        };
        if asks("__HIP_DEVICE_COMPILE__") {
            continue;
        }
        // There is a separate branch for AMD.
        if chain.names_amd {
            continue;
        }
        // A branch for old GPUs is correctly skipped on AMD.
        let verdict = evaluate(source, line, CudaArch::Newest);
        if verdict.amd != Some(false) || verdict.nvidia == Some(false) {
            continue;
        }
        let asks_alone = match name {
            "ifdef" => line.len() == 3,
            _ => {
                let rest = line.start + 2;
                (line.len() == 6 && source.reads(rest, &["defined", "(", "__CUDA_ARCH__", ")"]))
                    || (line.len() == 4 && source.reads(rest, &["defined", "__CUDA_ARCH__"]))
            }
        };
        if asks_alone && *number == "__CUDA_ARCH__" {
            let condition = if name == "ifdef" { "if" } else { name };
            let edits = vec![(
                source.span(line.start + 1..line.end),
                format!("{condition} defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)"),
            )];
            cx.report_as(
                &RULE,
                serious,
                HandledBy::You,
                line.clone(),
                "`__CUDA_ARCH__` is never defined on AMD, so this treats device code as host code.",
                RawFix::unsafe_edits("Test for `__HIP_DEVICE_COMPILE__` too", edits),
            );
            continue;
        }
        let who = match cx.setting {
            Setting::PyTorchExtension => "USE_ROCM",
            Setting::Plain => "__HIP_PLATFORM_AMD__",
        };
        let arch = cx.target.arch.name();
        let (severity, takes) = if chain.has_else {
            (Severity::Advice, "compiles the other branch")
        } else if *number == "__CUDA_ARCH__" {
            (serious, "never compiles this branch")
        } else {
            (Severity::Info, "never compiles this branch")
        };
        cx.report_as(
            &RULE,
            severity,
            HandledBy::You,
            line.clone(),
            format!("`{number}` is not defined on AMD: {arch} {takes}."),
            RawFix::display_only(format!("Define the AMD case: `|| defined({who})`")),
        );
    }
}
