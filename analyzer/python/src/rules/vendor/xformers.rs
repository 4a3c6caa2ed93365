//! HW106: xFormers wheels, and its attention operators for NVIDIA GPUs only.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition, api_rule};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `xformers`, the package in requirements, and attention operators selected by name
    /// that its ROCm build does not have.
    ///
    /// ## Why on ROCm
    ///
    /// `pip install xformers` installs CUDA kernels. PyTorch's index has experimental ROCm wheels, with attention from
    /// Composable Kernel. They do not contain the CUTLASS and FlashAttention operators, so code that selects one by
    /// name raises `NotImplementedError`; without a name `memory_efficient_attention` selects an available operator.
    /// PyTorch's own `scaled_dot_product_attention` does the same and needs no installation.
    ///
    /// ## Example
    ///
    /// ```python
    /// try:
    ///     import xformers.ops as xops
    /// except ImportError:
    ///     xops = None
    ///
    /// def attention(q, k, v):
    ///     return xops.memory_efficient_attention(q, k, v, op=xops.MemoryEfficientAttentionCutlassOp)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// try:
    ///     import xformers.ops as xops
    /// except ImportError:
    ///     xops = None
    ///
    /// def attention(q, k, v):
    ///     return xops.memory_efficient_attention(q, k, v, op=xops.MemoryEfficientAttentionCkOp)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the new operator is for AMD GPUs only. Omitting `op` works on both vendors. The import is display-only.
    ///
    /// ## References
    ///
    /// * [xFormers: installing](https://github.com/facebookresearch/xformers#installing-xformers)
    /// * [Contents of the ROCm wheel: xformers#1365](https://github.com/facebookresearch/xformers/issues/1365)
    /// * [scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
    "HW106" "xformers" {
        title: "xFormers needs its ROCm wheels",
        family: VendorLibraries,
        severity: Warning,
        also: [Error "for an operator that the ROCm build lacks"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call, Attribute],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const fn operator(name: &'static str) -> ApiRule {
    ApiRule {
        pattern: ApiPattern::Name(name),
        when: Condition::ALWAYS,
        severity: Severity::Error,
        message: "xFormers' ROCm build does not have this operator; its attention there comes from Composable Kernel.",
        fix: ApiFix::unsafe_edit(
            "Use the Composable Kernel operator, or omit `op`",
            "xformers.ops.MemoryEfficientAttentionCkOp",
        ),
    }
}

const USES: &[ApiRule] = &[
    operator("xformers.ops.MemoryEfficientAttentionCutlassOp"),
    operator("xformers.ops.MemoryEfficientAttentionCutlassFwdFlashBwOp"),
    operator("xformers.ops.MemoryEfficientAttentionFlashAttentionOp"),
    api_rule(
        ApiPattern::Import("xformers"),
        Severity::Warning,
        "The xformers wheel on the package index contains CUDA kernels; the experimental ROCm one is on PyTorch's own index.",
        "Install it from PyTorch's ROCm index, or use scaled_dot_product_attention",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
