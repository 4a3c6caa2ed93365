//! HW703: tanh, which `triton.language` does not have.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, values};
use crate::rules::helpers::kernels::is_for_other_vendor;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `tl.math.tanh` and `tl.tanh`.
    ///
    /// ## Why on ROCm
    ///
    /// Triton 3, which comes with PyTorch 2.4 and newer, has neither: compiling the kernel raises `AttributeError`, on
    /// every backend. The choice of the replacement matters on ROCm. `libdevice.tanh` works on AMD GPUs and takes more
    /// instructions than the form below; its fast variant returned NaN for large inputs until Triton 3.6; and
    /// `(e - 1) / (e + 1)` is NaN wherever `e` overflows. `2 * sigmoid(2x) - 1` is the same function and does not
    /// overflow. For GELU, write `x * tl.sigmoid(2 * inner)` directly.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    ///     tl.store(y_ptr + offsets, tl.math.tanh(x), mask=mask)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    ///     tl.store(y_ptr + offsets, (2 * tl.sigmoid(2 * (x)) - 1), mask=mask)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: near zero the subtraction loses digits that an exact tanh has; the absolute error stays at float32's
    /// rounding.
    ///
    /// ## References
    ///
    /// * [triton.language: math operations](https://triton-lang.org/main/python-api/triton.language.html#math-ops)
    /// * [triton#8551: fast_tanhf on AMD GPUs](https://github.com/triton-lang/triton/pull/8551)
    "HW703" "triton-tanh" {
        title: "A tanh that Triton does not have",
        family: Triton,
        severity: Error,
        applicability: Unsafe,
        targets: "PyTorch 2.4 and newer (Triton 3)",
        lesson: Some("optimize/more-fusions"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, call: Node) {
    if called(cx, call) != "tanh" || cx.target().torch < Version::new(2, 4) {
        return;
    }
    let is_missing = cx
        .callee(call)
        .is_some_and(|name| name.is_any(&["triton.language.math.tanh", "triton.language.tanh"]));
    if !is_missing || is_for_other_vendor(cx, call) {
        return;
    }
    let title = "Write it as 2 * tl.sigmoid(2 * x) - 1";
    let fix = match edit(cx, call) {
        Some(text) => RawFix::unsafe_edits(title, vec![(cx.tree().span(call), text)]),
        None => RawFix::display_only(title),
    };
    cx.report(
        &RULE,
        call,
        "Triton 3 has no tanh in triton.language: compiling this kernel raises AttributeError.",
        fix,
    );
}

fn edit(cx: &PythonChecker<'_>, call: Node) -> Option<String> {
    let tree = cx.tree();
    let [argument] = values(cx, call)[..] else {
        return None;
    };
    // `tl` of `tl.math.tanh`
    let mut root = tree.child(call, Field::Function)?;
    while tree.kind(root) == Kind::Attribute {
        root = tree.child(root, Field::Object)?;
    }
    let is_module = cx
        .resolve(root)
        .is_some_and(|name| name.is("triton.language"));
    is_module.then(|| {
        format!(
            "(2 * {}.sigmoid(2 * ({})) - 1)",
            tree.text(root),
            tree.text(argument)
        )
    })
}
