//! HW903: CUDA names without a HIP equivalent.

use crate::{CudaChecker, Kind, Name, RocName, defines, name};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::sort;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds functions, types and constants of CUDA that have no equivalent in HIP and its libraries, and NVRTC's option for an
    /// NVIDIA architecture. Also `cuda_pipeline.h` and similar headers, and intrinsics that round down, up or to zero, such as
    /// `__fadd_rd`, which HIP declares only with a macro, and most conversions of `bfloat16` with a rounding in their names.
    /// CUB's `CubDebugExit` is one of them: hipCUB has `HipcubDebug`, which does not exit. So are CUB's macros, such as
    /// `CUB_WARP_THREADS`, outside of CUB's own sources.
    ///
    /// ## Why on ROCm
    ///
    /// About a third of the declarations in CUDA's headers do not exist in HIP: newer graph nodes, clusters and tensor
    /// maps, texture formats, parts of cuSOLVER and cuSPARSE. A converter that replaces `cuda` by `hip` invents a name
    /// here, and the error appears only at link time. This rule reports the line and suggests no name.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// void describe(CUtensorMap* map);
    /// ```
    ///
    /// ## Use instead
    ///
    /// Put the code for NVIDIA behind a guard, with a separate path for AMD:
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// #ifndef __HIP_PLATFORM_AMD__
    /// void describe(CUtensorMap* map);
    /// #endif
    /// ```
    ///
    /// In a PyTorch extension the macro is `USE_ROCM`.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the replacement depends on the purpose of the call.
    ///
    /// ## References
    ///
    /// * [Supported CUDA APIs](https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/supported_apis.html)
    "HW903" "cuda-unsupported" {
        title: "No HIP equivalent for a CUDA name",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    // nvcc's and NVRTC's names of architectures
    let is_option = |at: &u32| {
        let text = cx.source.token_text(*at);
        cx.source.kind(*at) == Kind::Text
            && ["compute_", "sm_"]
                .iter()
                .any(|arch| text.contains("--gpu-architecture=") && text.contains(arch))
    };
    for at in (0..cx.source.token_count()).filter(is_option) {
        cx.report(
            &RULE,
            at..at + 1,
            "hipRTC has no such architecture: the compilation fails.",
            RawFix::display_only("Pass `--offload-arch` with the name of the AMD GPU, or nothing"),
        );
    }
    let has_macro = !cx.source.places("OCML_BASIC_ROUNDED_OPERATIONS").is_empty();
    let is_in_miopen = |word: &str| match cx.roc_name(word) {
        Some(RocName::Unsupported) => Some(false),
        Some(RocName::Known(..)) => Some(true),
        None => None,
    };
    // Asynchronous copies and barriers, and types of the driver's functions.
    for (header, token) in cx.source.includes() {
        if ["cuda_pipeline", "cuda_awbarrier", "cudaTypedefs"]
            .iter()
            .any(|start| header.starts_with(start))
        {
            cx.report(
                &RULE,
                token..token + 1,
                format!("HIP has no equivalent of `{header}`."),
                RawFix::display_only(under_guard(cx)),
            );
        }
    }
    let rounds = |word: &str| !has_macro && is_rounded(word);
    let is_cub = ["CUB_NAMESPACE_BEGIN", "CUB_NS_PREFIX"]
        .iter()
        .any(|word| !cx.source.places(word).is_empty());
    let found: Vec<_> = cx
        .source
        .words()
        .filter(|(word, _)| match is_in_miopen(word) {
            Some(known) => !known,
            None => {
                name(word) == Some(Name::Unsupported)
                    || rounds(word)
                    || is_bfloat16_conversion(word)
                    || OTHERS.contains(word)
                    || (is_macro_of_cub(word) && !is_cub)
            }
        })
        .filter(|(word, _)| !is_defined(cx, word))
        .flat_map(|(word, _)| cx.uses(word).map(move |at| (at, word)))
        .filter(|(at, _)| !defines(cx.source, *at))
        .collect();
    for (at, word) in sort::by_key(found, |(at, _)| [*at as usize, 0, 0]) {
        let library = match is_in_miopen(word) {
            Some(_) => "MIOpen",
            None => "HIP",
        };
        // The device library has no division and no square root with these roundings.
        let is_in_library = || {
            !["div", "rcp", "sqrt"]
                .iter()
                .any(|part| word.contains(part))
        };
        let mut message = format!("{library} has no equivalent of `{word}`.");
        let fix = match word {
            "CubDebugExit" => "Define it for AMD, with `HipcubDebug`".to_owned(),
            "CUB_WARP_THREADS" => "Use `HIPCUB_WARP_THREADS` on AMD, which is 64 there".to_owned(),
            "__trap" => "Call `abort()` or `__builtin_trap()` on AMD".to_owned(),
            "__float2bfloat16_rn" => {
                "Use `__float2bfloat16`, which rounds in the same way".to_owned()
            }
            "__float2bfloat162_rn" => "Use `__bfloat162bfloat162(__float2bfloat16(x))`".to_owned(),
            "__floats2bfloat162_rn" => {
                "Use `__halves2bfloat162(__float2bfloat16(x), __float2bfloat16(y))`".to_owned()
            }
            "__dp4a" => "Use `__builtin_amdgcn_sdot4(a, b, c, false)`, for signed bytes".to_owned(),
            "__device_builtin__" => "Remove it: it marks a type of CUDA's own headers".to_owned(),
            "make_bfloat162" => "Use `__halves2bfloat162(x, y)`".to_owned(),
            _ if is_bfloat16_conversion(word) => "Convert through `float` on AMD".to_owned(),
            _ if is_rounded(word) && is_in_library() => {
                message = format!("By default HIP does not declare `{word}`.");
                "Compile with `-DOCML_BASIC_ROUNDED_OPERATIONS` on AMD".to_owned()
            }
            _ => under_guard(cx),
        };
        cx.report(&RULE, at..at + 1, message, RawFix::display_only(fix));
    }
}

/// Names in CUDA's headers and functions of NVIDIA's compiler that HIPIFY's tables do not have.
const OTHERS: [&str; 3] = [
    "make_bfloat162",
    "__nvvm_get_smem_pointer",
    "__device_builtin__",
];

/// `CUB_LOG_WARP_THREADS(0)`: hipCUB's macros begin with `HIPCUB_` and `ROCPRIM_`.
fn is_macro_of_cub(word: &str) -> bool {
    word.strip_prefix("CUB_").is_some_and(|name| {
        listed(
            "WARP_THREADS LOG_WARP_THREADS PTX_LOG_WARP_THREADS MAX MIN \
             QUOTIENT_FLOOR QUOTIENT_CEILING ROUND_UP_NEAREST ROUND_DOWN_NEAREST",
            name,
        )
    })
}

/// True if AMD compiles a definition of the word in this source. `#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800)`
/// is around many.
fn is_defined(cx: &CudaChecker<'_>, word: &str) -> bool {
    let source = cx.source;
    let mut places = source.places(word).iter();
    source.is_macro(word) || places.any(|at| !cx.is_skipped(*at) && defines(source, *at))
}

fn under_guard(cx: &CudaChecker<'_>) -> String {
    format!(
        "Guard it with `#ifndef {}` and write AMD's path",
        cx.amd_macro()
    )
}

/// `__float2bfloat16_rn`, `__bfloat162int_rz`: of these conversions, HIP's header `amd_hip_bf16.h` has two.
fn is_bfloat16_conversion(word: &str) -> bool {
    let rounds = ["_rn", "_rz", "_ru", "_rd"]
        .iter()
        .any(|end| word.ends_with(end));
    rounds
        && (word.contains("2bfloat16") || word.starts_with("__bfloat162"))
        && word.starts_with("__")
        && !matches!(word, "__int2bfloat16_rn" | "__float22bfloat162_rn")
}

/// `__fadd_rd`, `__dsqrt_ru`, `__fmaf_rz`: not those that round to nearest.
fn is_rounded(word: &str) -> bool {
    let start = word
        .strip_suffix(['d', 'u', 'z'])
        .and_then(|word| word.strip_suffix("_r"));
    start.is_some_and(|start| match start.strip_prefix("__") {
        Some("fmaf" | "fma") => true,
        Some(name) => name
            .strip_prefix(['f', 'd'])
            .is_some_and(|operation| listed("add sub mul div rcp sqrt", operation)),
        None => false,
    })
}
