//! HW110: the nvtx package, as opposed to torch.cuda.nvtx.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of the package `nvtx`, and requirements on it. `torch.cuda.nvtx` is a different module
    /// and works on ROCm.
    ///
    /// ## Why on ROCm
    ///
    /// The package sends its ranges to NVIDIA's profilers. On a ROCm host the code runs, but a trace of rocprofv3 does
    /// not contain the ranges. In a ROCm build `torch.cuda.nvtx` calls AMD's roctx, so the same line marks the trace on
    /// both vendors.
    ///
    /// ## Example
    ///
    /// ```python
    /// import nvtx
    ///
    /// with nvtx.annotate("step"):
    ///     pass
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// with torch.cuda.nvtx.range("step"):
    ///     pass
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: `annotate` also accepts colors and domains, which `torch.cuda.nvtx` does not support.
    ///
    /// ## References
    ///
    /// * [torch.cuda.nvtx.range](https://docs.pytorch.org/docs/stable/generated/torch.cuda.nvtx.range.html)
    /// * [rocTX, in ROCprofiler-SDK](https://rocm.docs.amd.com/projects/rocprofiler-sdk/en/latest/)
    "HW110" "nvtx" {
        title: "The nvtx package has no effect on ROCm",
        family: VendorLibraries,
        severity: Info,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const USES: &[ApiRule] = &[api_rule(
    ApiPattern::Import("nvtx"),
    Severity::Info,
    "The nvtx package supports NVIDIA's profilers only: its ranges do not appear in a trace on ROCm.",
    "Use torch.cuda.nvtx (range, range_push, range_pop, mark), which is roctx on ROCm",
)];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
