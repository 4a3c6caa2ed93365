//! HW105: CuPy, and the CUDA source that it compiles.

use super::cuda_wheels::installed;
use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `cupy`, its CUDA wheels in requirements, and CUDA source passed to `RawKernel`,
    /// `RawModule`, `ElementwiseKernel` and `ReductionKernel`.
    ///
    /// ## Why on ROCm
    ///
    /// The usual wheels, `cupy-cuda12x` and `cupy-cuda13x`, load CUDA's libraries and find no AMD GPU: the first use of a
    /// device fails, with older releases the import. CuPy's support for ROCm is experimental and in a separate package:
    /// `cupy-rocm-7-0`, or AMD's own `amd-cupy`. On ROCm, kernels passed as text are compiled by hipRTC. Most CUDA C++
    /// compiles, but the source is not converted: 32 lanes in a warp, 32-bit lane masks and inline PTX stay as written.
    /// Hipward analyzes the source as CUDA C++ and reports the findings in it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import cupy as cp
    ///
    /// scale = cp.RawKernel(
    ///     'extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }', "scale"
    /// )
    /// scale((1,), (64,), (cp.ones(64, dtype=cp.float32),))
    /// ```
    ///
    /// ```requirements
    /// cupy-cuda12x
    /// ```
    ///
    /// ## Use instead
    ///
    /// Use PyTorch operations if they suffice, or a Triton kernel:
    ///
    /// ```python
    /// import torch
    ///
    /// x = torch.ones(64, device="cuda")
    /// x *= 2.0
    /// ```
    ///
    /// ```requirements
    /// cupy-rocm-7-0
    /// ```
    ///
    /// In a `try` with `except ImportError` the import is not reported.
    ///
    /// ## Fix safety
    ///
    /// In code display-only: the author has to decide how to change the kernel's source. In requirements unsafe: an
    /// NVIDIA host needs the original package.
    ///
    /// ## References
    ///
    /// * [CuPy on AMD GPUs](https://docs.cupy.dev/en/stable/install.html#using-cupy-on-amd-gpu-experimental)
    /// * [Porting CUDA kernels: warp size](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW105" "cupy" {
        title: "CuPy needs a ROCm build",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "for a requirement of its source", Info "for kernels that it compiles"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const SOURCE: &str = "On ROCm this source is compiled by hipRTC for {arch}, unconverted: a warp has {wavefront} lanes, and inline PTX is an error.";
const CHECK: &str = "Check the source for warp size, lane masks and PTX, or write it in Triton";

const USES: &[ApiRule] = &[
    api_rule(
        ApiPattern::Import("cupy"),
        Severity::Error,
        "The usual wheels of cupy are built for CUDA and find no AMD GPU; its ROCm wheels are a separate package.",
        "Install cupy-rocm-7-0 or AMD's amd-cupy",
    ),
    api_rule(
        ApiPattern::Call("cupy.RawKernel"),
        Severity::Info,
        SOURCE,
        CHECK,
    ),
    api_rule(
        ApiPattern::Call("cupy.RawModule"),
        Severity::Info,
        SOURCE,
        CHECK,
    ),
    api_rule(
        ApiPattern::Call("cupy.ElementwiseKernel"),
        Severity::Info,
        SOURCE,
        CHECK,
    ),
    api_rule(
        ApiPattern::Call("cupy.ReductionKernel"),
        Severity::Info,
        SOURCE,
        CHECK,
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    installed(cx, &RULE, node);
    table_rules::check(cx, &RULE, USES, node);
}
