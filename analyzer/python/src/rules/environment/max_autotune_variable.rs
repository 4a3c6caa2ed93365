//! HW208: max-autotune for every compilation, set by environment variable.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `TORCHINDUCTOR_MAX_AUTOTUNE`, `TORCHINDUCTOR_MAX_AUTOTUNE_GEMM` and `TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE` set to 1.
    ///
    /// ## Why on ROCm
    ///
    /// The variable turns autotuning on for every `torch.compile` of the process, regardless of `mode`. Some of AMD's
    /// container images set it, which makes a comparison of modes meaningless. AMD's tuning guide recommends it, and
    /// there are reports of it being slower than the default. In both cases compilation takes far longer. Use the value
    /// that is faster in your measurements.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"
    /// ```
    ///
    /// ## Use instead
    ///
    /// For a baseline, turn it off explicitly, because an image may have set it:
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "0"
    /// ```
    ///
    /// Then measure with it turned on.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the code can become faster or slower, and rounding changes with the choice of kernels.
    ///
    /// ## References
    ///
    /// * [AMD's workload tuning guide](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    /// * [pytorch#193735: max-autotune](https://github.com/pytorch/pytorch/issues/193735)
    "HW208" "max-autotune-variable" {
        title: "Every compilation autotunes",
        family: Environment,
        severity: Advice,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("optimize/compile-options"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const fn variable(name: &'static str, off: &'static str) -> ApiRule {
    ApiRule {
        pattern: ApiPattern::Variable(name, &["1"]),
        when: Condition::ALWAYS,
        severity: Severity::Advice,
        message: "This makes every torch.compile of the process autotune: far longer compilations, with gains and losses reported on ROCm.",
        fix: ApiFix::unsafe_edit("Start with 0 and measure both", off),
    }
}

pub const USES: &[ApiRule] = &[
    variable("TORCHINDUCTOR_MAX_AUTOTUNE", "TORCHINDUCTOR_MAX_AUTOTUNE=0"),
    variable(
        "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM",
        "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM=0",
    ),
    variable(
        "TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE",
        "TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE=0",
    ),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
