//! HW207: cuBLAS's workspace setting, which only sets a size on ROCm.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition};
use crate::syntax::Node;
use hipward_analyzer_core::{Arch, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `CUBLAS_WORKSPACE_CONFIG` set to `:4096:8` or `:16:8`.
    ///
    /// ## Why on ROCm
    ///
    /// On CUDA these two values make cuBLAS deterministic, and `torch.use_deterministic_algorithms(True)` requires one
    /// of them. A ROCm build has no such requirement. It does read the variable, as the size of the workspace it passes
    /// to hipBLAS: `:4096:8` is 32 MiB and `:16:8` is 128 KiB, while the default is 128 MiB on gfx942 and gfx950. With
    /// a small workspace, kernels that need a larger one cannot be used.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// import torch
    ///
    /// if torch.version.hip is None:
    ///     os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the cost of the smaller workspace depends on the shapes.
    ///
    /// ## References
    ///
    /// * [HIP (ROCm) semantics: hipBLAS workspaces](https://docs.pytorch.org/docs/stable/notes/hip.html#hipblas-workspaces)
    /// * [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html)
    "HW207" "cublas-workspace-config" {
        title: "CUBLAS_WORKSPACE_CONFIG is a size on ROCm, not determinism",
        family: Environment,
        severity: Info,
        also: [Warning "for a workspace far below hipBLAS's default"],
        applicability: DisplayOnly,
        targets: "every ROCm target; the message depends on the architecture",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const TITLE: &str = "Set it only if torch.version.hip is None";

pub const USES: &[ApiRule] = &[
    ApiRule {
        pattern: ApiPattern::Variable("CUBLAS_WORKSPACE_CONFIG", &[":16:8"]),
        when: Condition::ALWAYS,
        severity: Severity::Warning,
        message: "On ROCm this sets hipBLAS's workspace to 128 KiB, far below the default, and does not affect determinism.",
        fix: ApiFix::described(TITLE),
    },
    ApiRule {
        pattern: ApiPattern::Variable("CUBLAS_WORKSPACE_CONFIG", &[":4096:8"]),
        when: Condition::on(|arch| matches!(arch, Arch::Gfx942 | Arch::Gfx950)),
        severity: Severity::Info,
        message: "On ROCm this reduces hipBLAS's workspace from 128 to 32 MiB on {arch}, and does not affect determinism.",
        fix: ApiFix::described(TITLE),
    },
    ApiRule {
        pattern: ApiPattern::Variable("CUBLAS_WORKSPACE_CONFIG", &[":4096:8"]),
        when: Condition::ALWAYS,
        severity: Severity::Info,
        message: "On ROCm this sets hipBLAS's workspace to 32 MiB, the default on {arch}, and does not affect determinism.",
        fix: ApiFix::described(TITLE),
    },
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
