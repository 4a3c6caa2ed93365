//! HW202: synchronous kernel launches for debugging.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::counterparts::sets_any;
use crate::semantic::{Access, environment_variable, string};
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `CUDA_LAUNCH_BLOCKING` in `os.environ` and in the environment passed to a child process.
    ///
    /// ## Why on ROCm
    ///
    /// The HIP runtime does not read it, so launches stay asynchronous and an error is still reported at a later,
    /// unrelated line. `AMD_SERIALIZE_KERNEL=3` waits before and after each kernel; PyTorch's own error message
    /// recommends it on ROCm. `HIP_LAUNCH_BLOCKING=1` also exists.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    /// ```
    ///
    /// ```shell
    /// CUDA_LAUNCH_BLOCKING=1 python train.py
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["AMD_SERIALIZE_KERNEL"] = "3"
    /// ```
    ///
    /// ```shell
    /// AMD_SERIALIZE_KERNEL=3 python train.py
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: on an NVIDIA host the new variable does nothing. Set both variables if the code runs on both.
    ///
    /// ## References
    ///
    /// * [HIP environment variables](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html)
    "HW202" "cuda-launch-blocking" {
        title: "CUDA_LAUNCH_BLOCKING does nothing on HIP",
        family: Environment,
        severity: Warning,
        also: [Info "where the variable is read"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}

/// The HIP runtime variables with the same effect; a source that sets one is not reported.
const COUNTERPARTS: &[&str] = &["AMD_SERIALIZE_KERNEL", "HIP_LAUNCH_BLOCKING"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some(variable) = environment_variable(&cx.semantics, node, &["CUDA_LAUNCH_BLOCKING"])
    else {
        return;
    };
    let tree = cx.tree();
    if variable.access == Access::Read {
        cx.report_as(
            &RULE,
            Severity::Info,
            node,
            "HIP does not read CUDA_LAUNCH_BLOCKING, so its value has no meaning on ROCm.",
            RawFix::display_only("Check AMD_SERIALIZE_KERNEL or HIP_LAUNCH_BLOCKING as well"),
        );
        return;
    }
    let value = variable
        .value
        .and_then(|value| string(&cx.semantics, value));
    if value == Some("0") || sets_any(cx, RULE.id, COUNTERPARTS) {
        return;
    }
    let title = "Set AMD_SERIALIZE_KERNEL to 3";
    let fix = match variable.value {
        Some(literal)
            if value == Some("1")
                && tree.kind(literal) == Kind::String
                && tree.kind(variable.key) == Kind::String =>
        {
            let renamed = tree
                .text(variable.key)
                .replace("CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL");
            RawFix::unsafe_edits(
                title,
                vec![
                    (tree.span(variable.key), renamed),
                    (tree.span(literal), tree.text(literal).replace('1', "3")),
                ],
            )
        }
        _ => RawFix::display_only(title),
    };
    cx.report(
        &RULE,
        variable.key,
        "CUDA_LAUNCH_BLOCKING has no effect on HIP: kernels stay asynchronous, and errors appear at a later line.",
        fix,
    );
}
