//! HW209: HIP variables that repeat a default, or are rarely useful.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule};
use crate::semantic::environment_variable;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds HIP and ROCm variables set to their default value, and two that tuning scripts often set without need:
    /// `GPU_MAX_HW_QUEUES=2` and `HSA_OVERRIDE_GFX_VERSION`.
    ///
    /// ## Why on ROCm
    ///
    /// Lists of "ROCm optimizations" are copied from release to release. `HIP_FORCE_DEV_KERNARG=1`,
    /// `AMD_DIRECT_DISPATCH=1` and `HSA_ENABLE_SDMA=1` are now the defaults, and PyTorch prefers hipBLASLt on Instinct
    /// GPUs without `TORCH_BLAS_PREFER_HIPBLASLT=1`. These settings do no harm, but make it hard to see which setting
    /// has an effect. AMD recommends `GPU_MAX_HW_QUEUES=2` only for some multi-node training; elsewhere it disables two
    /// of four hardware queues. `HSA_OVERRIDE_GFX_VERSION` makes the runtime load code for another GPU. This is a way
    /// to try unsupported consumer cards; on an Instinct GPU it causes a crash or wrong results. A setting behind a
    /// condition that selects such cards is not reported.
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
    /// Remove it:
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
        also: [Warning "for a variable that changes the code that runs"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const OVERRIDE: &str = "HSA_OVERRIDE_GFX_VERSION";

const LEAVE: &str = "Remove it, or measure with and without it";

const fn default(name: &'static str) -> ApiRule {
    api_rule(
        ApiPattern::Variable(name, &["1"]),
        Severity::Info,
        "This is the default on {arch} with ROCm {rocm}.",
        LEAVE,
    )
}

pub const USES: &[ApiRule] = &[
    default("HIP_FORCE_DEV_KERNARG"),
    default("TORCH_BLAS_PREFER_HIPBLASLT"),
    default("AMD_DIRECT_DISPATCH"),
    default("HSA_ENABLE_SDMA"),
    api_rule(
        ApiPattern::Variable("GPU_MAX_HW_QUEUES", &["2"]),
        Severity::Info,
        "AMD recommends two hardware queues for some multi-node training; elsewhere it halves the default of four.",
        LEAVE,
    ),
    api_rule(
        ApiPattern::Variable(OVERRIDE, &[]),
        Severity::Warning,
        "ROCm takes the GPU for the architecture in this variable; {arch} is supported without it.",
        "Remove it",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !is_for_some_cards(cx, node) {
        table_rules::check(cx, &RULE, USES, node);
    }
}

/// `if card == "gfx1031": os.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"`: an Instinct GPU does not get it.
fn is_for_some_cards(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    environment_variable(&cx.semantics, node, &[OVERRIDE]).is_some()
        && tree.ancestors(node).any(|around| {
            tree.kind(around) == Kind::IfStatement
                && tree
                    .child(around, Field::Condition)
                    .is_some_and(|condition| !tree.text(condition).contains("__name__"))
        })
}
