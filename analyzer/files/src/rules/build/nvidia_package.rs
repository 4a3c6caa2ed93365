//! HW003: a required package that is for NVIDIA GPUs.

use crate::checker::Checker;
use crate::rules::helpers::packages;

declare_rule! {
    /// ## What it does
    ///
    /// Finds required packages that are built for CUDA or carry NVIDIA's libraries: `nvidia-cublas-cu12`,
    /// `onnxruntime-gpu`, `jax[cuda12]`, `faiss-gpu`. Packages that a rule on imports speaks of, such as `flash-attn` or
    /// `transformer-engine`, are found under that rule's name.
    ///
    /// ## Why on ROCm
    ///
    /// pip does not look at the GPU. Such a package installs, takes its gigabytes, and fails at its first import or runs
    /// on the CPU. PyTorch's CUDA wheels ask for `nvidia-*` packages; its ROCm wheels carry ROCm's libraries, and a
    /// frozen list from an NVIDIA machine names the former for no use.
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
    /// A requirement with a marker for a machine, or in an optional group that is named for CUDA or GPUs, is left alone.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: another package, and NVIDIA hosts need the first. With a pinned version it is only named, since the other
    /// has versions of its own.
    ///
    /// ## References
    ///
    /// * [ONNX Runtime: MIGraphX execution provider](https://onnxruntime.ai/docs/execution-providers/MIGraphX-ExecutionProvider.html)
    /// * [Deep learning frameworks for ROCm](https://rocm.docs.amd.com/en/latest/how-to/deep-learning-rocm.html)
    "HW003" "nvidia-package" {
        title: "The package is for NVIDIA GPUs",
        family: BuildFiles,
        severity: Error,
        also: [Warning "for a package that installs and is of no use on ROCm"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("01-port/02-vendor-libraries"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &Checker<'_>) {
    packages::check(cx, &RULE);
}
