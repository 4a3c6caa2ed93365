//! HW210: how MIOpen chooses a convolution.

use crate::checker::Checker;
use crate::rules::helpers::table_rules::{self, Condition, Fix, Use, What};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `MIOPEN_FIND_MODE` set to `FAST` (2) or `NORMAL` (1).
    ///
    /// ## Why on ROCm
    ///
    /// MIOpen times its kernels the first time it sees a convolution's shape. `FAST` skips that and takes what a heuristic names:
    /// a quicker start, and often slower convolutions for the rest of the run. `NORMAL` times everything, which makes the first
    /// step of a model with many shapes very long. The default, `DYNAMIC_HYBRID`, reads its database first and times only what is
    /// missing, leaving out kernels that would have to be compiled for it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["MIOPEN_FIND_MODE"] = "FAST"
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["MIOPEN_FIND_MODE"] = "DYNAMIC_HYBRID"
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the first step takes longer, and another kernel can round otherwise. `FAST` is right where a process lives shortly.
    ///
    /// ## References
    ///
    /// * [MIOpen: find modes](https://rocm.docs.amd.com/projects/MIOpen/en/latest/how-to/find-and-immediate.html)
    "HW210" "miopen-find-mode" {
        title: "MIOpen takes the first convolution that fits",
        family: Environment,
        severity: Advice,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("01-port/01-device-abstraction"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const fn mode(values: &'static [&'static str], message: &'static str) -> Use {
    Use {
        what: What::Variable("MIOPEN_FIND_MODE", values),
        when: Condition::ALWAYS,
        severity: Severity::Advice,
        message,
        fix: Fix::unsafe_edit(
            "Use the default, DYNAMIC_HYBRID, and measure",
            "MIOPEN_FIND_MODE=DYNAMIC_HYBRID",
        ),
    }
}

pub const USES: &[Use] = &[
    mode(
        &["FAST", "fast", "2"],
        "In this mode MIOpen takes the kernel that a heuristic names: a quick start, and often slower convolutions after it.",
    ),
    mode(
        &["NORMAL", "normal", "1"],
        "In this mode MIOpen times every kernel for every new shape, which makes first steps very long.",
    ),
];

fn check(cx: &Checker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
