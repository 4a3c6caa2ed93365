//! HW210: how MIOpen selects a convolution kernel.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `MIOPEN_FIND_MODE` set to `FAST` (2) or `NORMAL` (1).
    ///
    /// ## Why on ROCm
    ///
    /// MIOpen benchmarks its kernels the first time it runs a convolution with a new shape. `FAST` skips this and uses
    /// the kernel selected by a heuristic: the start is quicker, and convolutions are often slower for the rest of the
    /// run. `NORMAL` benchmarks every kernel, which makes the first step of a model with many shapes very long. The
    /// default, `DYNAMIC_HYBRID`, reads its database first and benchmarks only missing entries, without kernels that
    /// would have to be compiled.
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
    /// Unsafe: the first step takes longer, and another kernel can round differently. `FAST` is appropriate for a
    /// short-lived process.
    ///
    /// ## References
    ///
    /// * [MIOpen: find modes](https://rocm.docs.amd.com/projects/MIOpen/en/latest/how-to/find-and-immediate.html)
    "HW210" "miopen-find-mode" {
        title: "This MIOpen find mode can cost time",
        family: Environment,
        severity: Advice,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const fn mode(values: &'static [&'static str], message: &'static str) -> ApiRule {
    ApiRule {
        pattern: ApiPattern::Variable("MIOPEN_FIND_MODE", values),
        when: Condition::ALWAYS,
        severity: Severity::Advice,
        message,
        fix: ApiFix::unsafe_edit(
            "Use the default, DYNAMIC_HYBRID, and measure",
            "MIOPEN_FIND_MODE=DYNAMIC_HYBRID",
        ),
    }
}

pub const USES: &[ApiRule] = &[
    mode(
        &["FAST", "fast", "2"],
        "In this mode MIOpen uses the kernel selected by a heuristic: a quick start, and often slower convolutions after it.",
    ),
    mode(
        &["NORMAL", "normal", "1"],
        "In this mode MIOpen benchmarks every kernel for every new shape, which makes first steps very long.",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
