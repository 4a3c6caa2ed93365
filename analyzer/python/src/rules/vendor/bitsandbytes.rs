//! HW107: bitsandbytes, whose recent wheels contain ROCm libraries.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `bitsandbytes`, and requirements pinned to a release without support for AMD GPUs.
    ///
    /// ## Why on ROCm
    ///
    /// The import is reported as information, not as an error. For years bitsandbytes needed a fork or a build from
    /// source on ROCm. Since 0.50 AMD GPUs are officially supported, and the regular wheel contains libraries for ROCm
    /// 6.4 to 7.14. It loads the library that matches PyTorch's ROCm version. With an older pinned version of
    /// bitsandbytes, or a ROCm release without a matching library, the library is not found when the first operation
    /// runs.
    ///
    /// ## Example
    ///
    /// ```python
    /// import bitsandbytes as bnb
    ///
    /// optimizer_class = bnb.optim.AdamW8bit
    /// ```
    ///
    /// ## Use instead
    ///
    /// The same code with `bitsandbytes>=0.50` in the requirements. If the package may be missing, catch the import
    /// error:
    ///
    /// ```python
    /// try:
    ///     import bitsandbytes as bnb
    /// except ImportError:
    ///     bnb = None
    ///
    /// optimizer_class = bnb.optim.AdamW8bit if bnb else None
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the requirement has to change, not the code.
    ///
    /// ## References
    ///
    /// * [bitsandbytes: installation, AMD ROCm](https://huggingface.co/docs/bitsandbytes/main/en/installation#rocm)
    "HW107" "bitsandbytes" {
        title: "bitsandbytes has to be a recent version",
        family: VendorLibraries,
        severity: Info,
        also: [Warning "for a requirement of a release before 0.49"],
        applicability: DisplayOnly,
        targets: "every ROCm target; an error-free import needs a wheel built for its ROCm",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const USES: &[ApiRule] = &[api_rule(
    ApiPattern::Import("bitsandbytes"),
    Severity::Info,
    "bitsandbytes runs on {arch} from 0.50 on, with the wheel's library for ROCm {rocm} or a build from source; older wheels contain CUDA only.",
    "Require bitsandbytes>=0.50",
)];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
