//! HW107: bitsandbytes, whose recent wheels carry ROCm libraries.

use crate::checker::Checker;
use crate::rules::helpers::table_rules::{self, Use, What, row};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of `bitsandbytes`, and requirements that pin one from before it supported AMD GPUs.
    ///
    /// ## Why on ROCm
    ///
    /// This is a note, not a fault. For years bitsandbytes needed a fork or a build from source on ROCm. Since 0.50 AMD GPUs are
    /// officially supported and the ordinary wheel carries libraries for ROCm 6.4 to 7.14. It loads the one that matches PyTorch's
    /// ROCm version, so an older pin of bitsandbytes, or a ROCm release that no wheel was built for, ends in a library that can't
    /// be found when the first operation runs.
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
    /// The same code with `bitsandbytes>=0.50` in the requirements. Where it may be missing, let the import fail softly:
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
    /// Display-only: it is the requirement that changes, not the code.
    ///
    /// ## References
    ///
    /// * [bitsandbytes: installation, AMD ROCm](https://huggingface.co/docs/bitsandbytes/main/en/installation#rocm)
    "HW107" "bitsandbytes" {
        title: "bitsandbytes has to be a recent one",
        family: VendorLibraries,
        severity: Info,
        also: [Warning "for a requirement of a release before 0.49"],
        applicability: DisplayOnly,
        targets: "every ROCm target; an error-free import needs a wheel built for its ROCm",
        lesson: Some("01-port/02-vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const USES: &[Use] = &[row(
    What::Import("bitsandbytes"),
    Severity::Info,
    "bitsandbytes runs on {arch} from 0.50 on, with the wheel's library for ROCm {rocm} or a build from source; older wheels hold CUDA alone.",
    "Require bitsandbytes>=0.50",
)];

fn check(cx: &Checker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
}
