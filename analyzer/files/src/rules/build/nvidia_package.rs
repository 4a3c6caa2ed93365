//! HW003: a required package that is for NVIDIA GPUs.

use crate::checker::FileChecker;
use crate::rules::helpers::packages;

declare_rule! {
    /// ## What it does
    ///
    /// Finds required packages that are built for CUDA or contain NVIDIA's libraries: `nvidia-cublas-cu12`,
    /// `onnxruntime-gpu`, `jax[cuda12]`, `faiss-gpu`. Packages that have a rule for their import, such as `flash-attn`
    /// or `transformer-engine`, are reported under that rule.
    ///
    /// ## Why on ROCm
    ///
    /// pip does not check the GPU. Such a package installs, uses gigabytes of disk space, and fails at its first import
    /// or runs on the CPU. PyTorch's CUDA wheels require `nvidia-*` packages; its ROCm wheels include the ROCm
    /// libraries. In a frozen list from an NVIDIA machine, the `nvidia-*` packages are therefore unnecessary on ROCm.
    ///
    /// ## Example
    ///
    /// ```requirements
    /// onnxruntime-gpu
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```requirements
    /// onnxruntime-migraphx
    /// ```
    ///
    /// A requirement with a marker for a machine, or in an optional group that is named for CUDA or GPUs, is not
    /// reported.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the fix replaces the package, and NVIDIA hosts need the original. With a pinned version the fix is
    /// display-only, because the replacement has different versions.
    ///
    /// ## References
    ///
    /// * [ONNX Runtime: MIGraphX execution provider](https://onnxruntime.ai/docs/execution-providers/MIGraphX-ExecutionProvider.html)
    /// * [Deep learning frameworks for ROCm](https://rocm.docs.amd.com/en/latest/how-to/deep-learning-rocm.html)
    "HW003" "nvidia-package" {
        title: "The package is for NVIDIA GPUs",
        family: BuildFiles,
        severity: Error,
        also: [
            Warning "for a package that installs but has no use on ROCm",
            Info "for vLLM of any release, which a ROCm build satisfies"
        ],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    packages::check(cx, &RULE);
}
