//! HW205: the architectures for which an extension is built.

use crate::checker::PythonChecker;
use crate::rules::helpers::counterparts::sets_any;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition};
use crate::semantic::{environment_variable, string};
use crate::syntax::{Field, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds assignments to `TORCH_CUDA_ARCH_LIST`.
    ///
    /// ## Why on ROCm
    ///
    /// In a ROCm build, `torch.utils.cpp_extension` reads `PYTORCH_ROCM_ARCH`, a list of gfx names. If it is not set,
    /// the extension is built for the GPUs that are visible at build time. In a container build no GPU is visible, so
    /// the extension contains no usable code.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0;9.0"
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["PYTORCH_ROCM_ARCH"] = "gfx942"
    /// ```
    ///
    /// For a release, list more architectures: `gfx90a;gfx942;gfx950`. A source that sets both variables is not
    /// reported.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: a CUDA build no longer finds its list. Set both variables if the code is built for both.
    ///
    /// ## References
    ///
    /// * [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html)
    "HW205" "torch-cuda-arch-list" {
        title: "A ROCm build does not read TORCH_CUDA_ARCH_LIST",
        family: Environment,
        severity: Warning,
        also: [Info "where it is set again"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const NAMES: &[&str] = &["TORCH_CUDA_ARCH_LIST"];

const fn variable(severity: Severity) -> ApiRule {
    ApiRule {
        pattern: ApiPattern::Variable("TORCH_CUDA_ARCH_LIST", &[]),
        when: Condition::ALWAYS,
        severity,
        message: "A ROCm build does not read TORCH_CUDA_ARCH_LIST; PYTORCH_ROCM_ARCH sets the architectures of extensions.",
        fix: ApiFix::unsafe_edit(
            "Set PYTORCH_ROCM_ARCH to {arch}",
            "PYTORCH_ROCM_ARCH={arch}",
        ),
    }
}

pub const USES: &[ApiRule] = &[variable(Severity::Warning)];
/// Further assignments, such as one in each branch of a `setup.py`.
const AGAIN: &[ApiRule] = &[variable(Severity::Info)];

fn check(cx: &PythonChecker<'_>, node: Node) {
    // An empty list selects the visible GPUs, as it does on ROCm.
    let asks = environment_variable(&cx.semantics, node, NAMES)
        .and_then(|variable| variable.value)
        .is_some_and(|value| string(&cx.semantics, value) != Some(""));
    if asks && !sets_any(cx, RULE.id, &["PYTORCH_ROCM_ARCH"]) && !corrects(cx, node) {
        let rows = match cx.has_reported(&RULE, &|_, _| true) {
            true => AGAIN,
            false => USES,
        };
        table_rules::check(cx, &RULE, rows, node);
    }
}

/// `if arch_list:` around it, where the user provided the list and the code only corrects it.
fn corrects(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .filter_map(|ancestor| tree.child(ancestor, Field::Condition))
        .map(|condition| cx.semantics.expression(condition))
        .any(|asked| environment_variable(&cx.semantics, asked, NAMES).is_some())
}
