//! HW111: Python bindings of CUDA itself: cuda-python, PyCUDA, numba.cuda.

use super::cuda_wheels::installed;
use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{
    self, ApiPattern, ApiRule, api_rule, imported, may_import,
};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of NVIDIA's `cuda-python` (`cuda.bindings`, `cuda.core`, and the older `cuda.cuda`, `cuda.cudart`,
    /// `cuda.nvrtc`), of cuTile (`cuda.tile`), of `pycuda` and of `numba.cuda`, and requirements on their packages.
    ///
    /// ## Why on ROCm
    ///
    /// They load NVIDIA's driver and compilers. AMD's `hip-python` provides the HIP runtime, hipRTC and the math
    /// libraries as `hip.hip`, `hip.hiprtc`, `hip.hipblas`; the package `hip-python-interop` (formerly
    /// `hip-python-as-cuda`) provides them under the names of cuda-python. For `numba.cuda` AMD has `numba-hip`; with
    /// its `hip.pose_as_cuda()` the code can keep the CUDA names. A custom kernel in Triton has the same source on both
    /// vendors.
    ///
    /// ## Example
    ///
    /// ```python
    /// from cuda.bindings import runtime
    ///
    /// error, count = runtime.cudaGetDeviceCount()
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from hip import hip
    ///
    /// error, count = hip.hipGetDeviceCount()
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: error codes and some signatures differ.
    ///
    /// ## References
    ///
    /// * [HIP Python](https://rocm.docs.amd.com/projects/hip-python/en/latest/)
    /// * [CUDA Python interoperability](https://rocm.docs.amd.com/projects/hip-python/en/latest/user_guide/2_cuda_python_interop.html)
    /// * [Numba HIP](https://github.com/ROCm/numba-hip)
    "HW111" "cuda-python" {
        title: "CUDA's Python bindings need CUDA",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "for a requirement of the package"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const fn binding(module: &'static str) -> ApiRule {
    api_rule(
        ApiPattern::Import(module),
        Severity::Error,
        "cuda-python binds NVIDIA's driver and compilers, which a ROCm host does not have.",
        "Use hip-python (hip.hip, hip.hiprtc); hip-python-interop keeps the CUDA names",
    )
}

const USES: &[ApiRule] = &[
    binding("cuda.bindings"),
    binding("cuda.core"),
    binding("cuda.cuda"),
    binding("cuda.cudart"),
    binding("cuda.nvrtc"),
    api_rule(
        ApiPattern::Import("cuda.tile"),
        Severity::Error,
        "cuTile compiles kernels for NVIDIA GPUs only.",
        "Write the kernel in Triton",
    ),
    api_rule(
        ApiPattern::Import("pycuda"),
        Severity::Error,
        "PyCUDA loads NVIDIA's driver and runs nvcc, neither of which a ROCm host has.",
        "Use hip-python with hipRTC, or write the kernel in Triton",
    ),
    api_rule(
        ApiPattern::Import("numba.cuda"),
        Severity::Error,
        "numba.cuda compiles for NVIDIA GPUs; on a ROCm host it finds no device.",
        "Use AMD's numba-hip (`from numba import hip; hip.pose_as_cuda()`), or Triton",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    installed(cx, &RULE, node);
    if !may_import(cx, node) {
        return;
    }
    // With CUTLASS the whole source is for NVIDIA, and HW112 reports it.
    let with_cutlass = || {
        cx.tree()
            .nodes()
            .find(|other| imported(cx, *other, "cutlass").is_some())
            .into_iter()
            .collect()
    };
    let is_import = USES.iter().any(
        |found| matches!(found.pattern, ApiPattern::Import(module) if imported(cx, node, module).is_some()),
    );
    if is_import && cx.once(RULE.id, with_cutlass).is_empty() {
        table_rules::check(cx, &RULE, USES, node);
    }
}
