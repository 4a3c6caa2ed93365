//! HW109: NVIDIA DALI, the data loader.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `nvidia.dali`, and requirements on its packages.
    ///
    /// ## Why on ROCm
    ///
    /// DALI is built on CUDA, nvJPEG and NVDEC. AMD's equivalent is rocAL, whose Python package `amd.rocal` has a
    /// similar structure: `amd.rocal.pipeline`, `amd.rocal.fn`, `amd.rocal.types`, and an iterator in
    /// `amd.rocal.plugin.pytorch`. It has fewer operators, and some take different arguments.
    ///
    /// ## Example
    ///
    /// ```python
    /// from nvidia.dali import fn
    /// from nvidia.dali.pipeline import Pipeline
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from amd.rocal import fn
    /// from amd.rocal.pipeline import Pipeline
    /// ```
    ///
    /// As an alternative, torchvision's transforms run on the GPU too.
    ///
    /// ## Fix safety
    ///
    /// Display-only: compare the operators of the pipeline one by one.
    ///
    /// ## References
    ///
    /// * [rocAL: Python API](https://rocm.docs.amd.com/projects/rocAL/en/latest/reference/rocAL-python-api.html)
    "HW109" "dali" {
        title: "DALI runs on NVIDIA GPUs only",
        family: VendorLibraries,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const USES: &[ApiRule] = &[api_rule(
    ApiPattern::Import("nvidia.dali"),
    Severity::Error,
    "DALI is built on CUDA and NVIDIA's decoders, so this import fails on a ROCm host.",
    "Use rocAL (amd.rocal), whose pipelines are similar, or torchvision's transforms",
)];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
