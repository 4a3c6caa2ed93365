//! HW209: HIP variables that say what holds anyway, or less than they seem to.

use crate::checker::Checker;
use crate::rules::helpers::table_rules::{self, Use, What, row};
use crate::semantic::environment_variable;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds HIP and ROCm variables set to the value that they have by default, and two that tuning scripts hand on without need:
    /// `GPU_MAX_HW_QUEUES=2` and `HSA_OVERRIDE_GFX_VERSION`.
    ///
    /// ## Why on ROCm
    ///
    /// Lists of "ROCm optimizations" are copied from release to release. `HIP_FORCE_DEV_KERNARG=1`, `AMD_DIRECT_DISPATCH=1` and
    /// `HSA_ENABLE_SDMA=1` are the defaults by now, and PyTorch prefers hipBLASLt on Instinct GPUs without
    /// `TORCH_BLAS_PREFER_HIPBLASLT=1`. They do no harm, but hide which setting made the difference. `GPU_MAX_HW_QUEUES=2` is
    /// AMD's advice for some multi-node training alone; elsewhere it takes two of four hardware queues away.
    /// `HSA_OVERRIDE_GFX_VERSION` makes the runtime load code for another GPU: a way to try unsupported consumer cards, and a crash
    /// or wrong results on an Instinct GPU. Where a condition chooses the cards that get it, nothing is said.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["HIP_FORCE_DEV_KERNARG"] = "1"
    /// ```
    ///
    /// ## Use instead
    ///
    /// Leave it out:
    ///
    /// ```python
    /// import os
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only.
    ///
    /// ## References
    ///
    /// * [HIP environment variables](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html)
    /// * [AMD's workload tuning guide](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    "HW209" "redundant-hip-variable" {
        title: "A HIP variable without effect",
        family: Environment,
        severity: Info,
        also: [Warning "for a variable that changes what is run"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("01-port/01-device-abstraction"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const OVERRIDE: &str = "HSA_OVERRIDE_GFX_VERSION";

const LEAVE: &str = "Leave it out, or measure with and without it";

const fn default(name: &'static str) -> Use {
    row(
        What::Variable(name, &["1"]),
        Severity::Info,
        "This is the default on {arch} with ROCm {rocm}.",
        LEAVE,
    )
}

pub const USES: &[Use] = &[
    default("HIP_FORCE_DEV_KERNARG"),
    default("TORCH_BLAS_PREFER_HIPBLASLT"),
    default("AMD_DIRECT_DISPATCH"),
    default("HSA_ENABLE_SDMA"),
    row(
        What::Variable("GPU_MAX_HW_QUEUES", &["2"]),
        Severity::Info,
        "Two hardware queues are AMD's advice for some multi-node training; elsewhere it halves the default of four.",
        LEAVE,
    ),
    row(
        What::Variable(OVERRIDE, &[]),
        Severity::Warning,
        "This makes ROCm load code for another GPU; {arch} is supported as it is.",
        "Leave it out",
    ),
];

fn check(cx: &Checker<'_>, node: Node) {
    if !is_for_some_cards(cx, node) {
        table_rules::check(cx, &RULE, USES, node);
    }
}

/// `if card == "gfx1031": os.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"`: an Instinct GPU does not get it.
fn is_for_some_cards(cx: &Checker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    environment_variable(&cx.semantics, node, &[OVERRIDE]).is_some()
        && tree.ancestors(node).any(|around| {
            tree.kind(around) == Kind::IfStatement
                && tree
                    .child(around, Field::Condition)
                    .is_some_and(|condition| !tree.text(condition).contains("__name__"))
        })
}
