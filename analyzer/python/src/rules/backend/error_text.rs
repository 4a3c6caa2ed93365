//! HW311: searching an error message for CUDA.

use crate::checker::{PythonChecker, RawFix};
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds code that searches an error message for "CUDA out of memory" or "CUDA error".
    ///
    /// ## Why on ROCm
    ///
    /// The errors of a ROCm build of PyTorch contain "HIP out of memory" and "HIP error", so the test fails. The code
    /// that handles the error, such as a retry with a smaller batch or a restart of the worker, does not run.
    ///
    /// ## Example
    ///
    /// ```python
    /// def fits(run):
    ///     try:
    ///         run()
    ///     except RuntimeError as error:
    ///         if "CUDA out of memory" in str(error):
    ///             return False
    ///         raise
    ///     return True
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// def fits(run):
    ///     try:
    ///         run()
    ///     except RuntimeError as error:
    ///         if "out of memory" in str(error):
    ///             return False
    ///         raise
    ///     return True
    /// ```
    ///
    /// `except torch.OutOfMemoryError` does the same without comparing text. A source that uses it, or checks for HIP's
    /// messages, is not reported; neither is an assertion. Other device errors are `torch.AcceleratorError`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: more errors contain the shorter text. For errors other than out of memory, the fix is display-only.
    ///
    /// ## References
    ///
    /// * [torch.OutOfMemoryError](https://docs.pytorch.org/docs/stable/generated/torch.OutOfMemoryError.html)
    /// * [HIP (ROCm) semantics](https://docs.pytorch.org/docs/stable/notes/hip.html)
    "HW311" "error-text" {
        title: "On ROCm an error message names HIP",
        family: BackendCode,
        severity: Warning,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("how-to/debug"),
        visit: [ComparisonOperator],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let parts: Vec<_> = tree.parts(node).collect();
    let [text, operator, _] = parts[..] else {
        return;
    };
    if tree.kind(text) == Kind::String && matches!(tree.kind(operator), Kind::In | Kind::NotIn) {
        check_text(cx, node, text);
    }
}

/// Reports a test for a text of CUDA.
pub(in crate::rules) fn check_text(cx: &PythonChecker<'_>, node: Node, text: Node) {
    let tree = cx.tree();
    let lower = tree.text(text).to_ascii_lowercase();
    let memory = lower.find("cuda out of memory");
    let is_one = memory.is_some()
        || lower.contains("cuda error:")
        || lower
            .trim_end_matches(['"', '\'', ' '])
            .ends_with("cuda error");
    if !is_one || is_asserted(cx, node) || knows_better(tree.source(), memory.is_some()) {
        return;
    }
    let fix = match memory {
        Some(at) => {
            let cuda = tree.span(text).start + at;
            RawFix::unsafe_edits(
                "Search for the text that both builds have in common",
                vec![(cuda..cuda + "cuda ".len(), String::new())],
            )
        }
        None => RawFix::display_only("Search for \"HIP error\" as well"),
    };
    cx.report(
        &RULE,
        node,
        "A ROCm build of PyTorch writes \"HIP\" in its error messages, so this text never matches.",
        fix,
    );
}

/// True within `assert`: the test's own text.
fn is_asserted(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .any(|around| tree.kind(around) == Kind::AssertStatement)
}

/// True for a source that checks for HIP's messages as well as CUDA's, or catches the class of the out-of-memory error.
fn knows_better(source: &str, about_memory: bool) -> bool {
    about_memory && source.contains("OutOfMemoryError")
        || ["HIP out of", "HIP error", "hip out of", "hip error"]
            .iter()
            .any(|known| source.contains(known))
}
