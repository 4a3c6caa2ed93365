//! HW311: looking for CUDA in an error's text.

use crate::checker::{Checker, Suggestion};
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds tests of an error's text for "CUDA out of memory" or "CUDA error".
    ///
    /// ## Why on ROCm
    ///
    /// A ROCm build of PyTorch says "HIP out of memory" and "HIP error", so the test fails. What was meant for such an error, a
    /// smaller batch or a restarted worker, does not happen.
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
    /// `except torch.OutOfMemoryError` asks for the same without a text. A source that knows it, or HIP's texts, is left alone, and
    /// so is an assertion. Other errors of the device are `torch.AcceleratorError`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the shorter text is in more errors. For other errors than memory's the fix is only described.
    ///
    /// ## References
    ///
    /// * [torch.OutOfMemoryError](https://docs.pytorch.org/docs/stable/generated/torch.OutOfMemoryError.html)
    /// * [HIP (ROCm) semantics](https://docs.pytorch.org/docs/stable/notes/hip.html)
    "HW311" "error-text" {
        title: "On ROCm an error's text names HIP",
        family: BackendCode,
        severity: Warning,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("01-port/01-device-abstraction"),
        visit: [ComparisonOperator],
    }
}

fn check(cx: &Checker<'_>, node: Node) {
    let tree = cx.tree();
    let parts: Vec<_> = tree.parts(node).collect();
    let [text, operator, _] = parts[..] else {
        return;
    };
    if tree.kind(text) != Kind::String || !matches!(tree.kind(operator), Kind::In | Kind::NotIn) {
        return;
    }
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
            Suggestion::unsafe_edits(
                "Look for what both vendors' builds say",
                vec![(cuda..cuda + "cuda ".len(), String::new())],
            )
        }
        None => Suggestion::display_only("Look for \"HIP error\" as well"),
    };
    cx.report(
        &RULE,
        node,
        "A ROCm build of PyTorch says \"HIP\" in its errors' texts, so this is never found there.",
        fix,
    );
}

/// True within `assert`: a test's own text.
fn is_asserted(cx: &Checker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .any(|around| tree.kind(around) == Kind::AssertStatement)
}

/// True for a source that has HIP's texts beside CUDA's, or asks for the class of the error when memory is short.
fn knows_better(source: &str, about_memory: bool) -> bool {
    about_memory && source.contains("OutOfMemoryError")
        || ["HIP out of", "HIP error", "hip out of", "hip error"]
            .iter()
            .any(|known| source.contains(known))
}
