//! HW205: the architectures that an extension is built for.

use crate::checker::Checker;
use crate::rules::helpers::counterparts::sets_any;
use crate::rules::helpers::table_rules::{self, Condition, Fix, Use, What};
use crate::semantic::{environment_variable, string};
use crate::syntax::{Field, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `TORCH_CUDA_ARCH_LIST` being set.
    ///
    /// ## Why on ROCm
    ///
    /// `torch.utils.cpp_extension` in a ROCm build looks at `PYTORCH_ROCM_ARCH`, a list of gfx names. Without it the extension is
    /// built for the GPUs that are visible at build time, and where there is none, as in a container build, for nothing useful.
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
    /// The list of a release is longer: `gfx90a;gfx942;gfx950`. A source that sets both is left alone.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: a CUDA build no longer finds its list. Set both where the code serves both.
    ///
    /// ## References
    ///
    /// * [torch.utils.cpp_extension](https://docs.pytorch.org/docs/stable/cpp_extension.html)
    "HW205" "torch-cuda-arch-list" {
        title: "TORCH_CUDA_ARCH_LIST is not read by a ROCm build",
        family: Environment,
        severity: Warning,
        also: [Info "where it is set once more"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("01-port/01-device-abstraction"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const NAMES: &[&str] = &["TORCH_CUDA_ARCH_LIST"];

const fn variable(severity: Severity) -> Use {
    Use {
        what: What::Variable("TORCH_CUDA_ARCH_LIST", &[]),
        when: Condition::ALWAYS,
        severity,
        message: "A ROCm build does not read TORCH_CUDA_ARCH_LIST; extensions are built for what PYTORCH_ROCM_ARCH names.",
        fix: Fix::unsafe_edit(
            "Set PYTORCH_ROCM_ARCH to {arch}",
            "PYTORCH_ROCM_ARCH={arch}",
        ),
    }
}

pub const USES: &[Use] = &[variable(Severity::Warning)];
/// Where it is set once more, as in each branch of a `setup.py`.
const AGAIN: &[Use] = &[variable(Severity::Info)];

fn check(cx: &Checker<'_>, node: Node) {
    // An empty list stands for the GPUs that are there, as it does on ROCm.
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

/// `if arch_list:` around it, where that is what the user asked for: a list that is only put right.
fn corrects(cx: &Checker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .filter_map(|ancestor| tree.child(ancestor, Field::Condition))
        .map(|condition| cx.semantics.expression(condition))
        .any(|asked| environment_variable(&cx.semantics, asked, NAMES).is_some())
}
