//! HW704: quotients of exponentials that overflow to NaN.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, first_value, latest, sides, values};
use crate::rules::helpers::kernels::{is_tl, kernel_around};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds, in Triton kernels, `(e - 1) / (e + 1)` and `(e - f) / (e + f)` where `e = tl.exp(…)` of an unbounded
    /// value, and a softmax that does not subtract the maximum.
    ///
    /// ## Why on ROCm
    ///
    /// In float32 `exp` overflows above 88. The quotient is then `inf / inf`, which is NaN, on every GPU. It appears in
    /// ports because tanh is commonly rewritten in this way for ROCm. `1 - 2 / (e + 1)` is the same function without
    /// such a quotient: where `e` overflows the result is 1.
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
    ///     e = tl.exp(2 * x)
    ///     tl.store(y_ptr + offsets, (e - 1) / (e + 1), mask=mask)
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
    ///     e = tl.exp(2 * x)
    ///     tl.store(y_ptr + offsets, (1 - 2 / (e + 1)), mask=mask)
    /// ```
    ///
    /// For a softmax: `tl.exp(x - tl.max(x, axis=0))`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: equal in exact arithmetic; in float32 the last digits near zero differ.
    ///
    /// ## References
    ///
    /// * [triton.language.exp](https://triton-lang.org/main/python-api/generated/triton.language.exp.html)
    /// * [triton.language.softmax](https://triton-lang.org/main/python-api/generated/triton.language.softmax.html)
    "HW704" "triton-unclamped-exp" {
        title: "A quotient of exponentials that can be NaN",
        family: Triton,
        severity: Warning,
        applicability: Unsafe,
        targets: "every target",
        lesson: Some("optimize/more-fusions"),
        visit: [BinaryOperator],
    }
}

/// Operations that bound the argument of `exp`.
const BOUNDS: &[&str] = &[
    "minimum", "maximum", "clamp", "min", "max", "abs", "where", "clip",
];

fn check(cx: &PythonChecker<'_>, quotient: Node) {
    let tree = cx.tree();
    let Some((above, below)) = sides(cx, quotient, "/") else {
        return;
    };
    if kernel_around(cx, quotient).is_none() {
        return;
    }
    let (above, below) = (latest(cx, above), latest(cx, below));
    if let Some((e, other)) = tanh_form(cx, above, below) {
        let fix = if is_one(cx, other) {
            let edit = format!("(1 - 2 / ({} + 1))", tree.text(e));
            let edits = vec![(tree.span(quotient), edit)];
            RawFix::unsafe_edits("Write it as 1 - 2 / (e + 1)", edits)
        } else {
            RawFix::display_only("Write it as 2 * tl.sigmoid(2 * x) - 1")
        };
        cx.report(
            &RULE,
            quotient,
            "Where the exponential overflows this is inf / inf: NaN.",
            fix,
        );
    } else if is_plain_softmax(cx, above, below) {
        cx.report(
            &RULE,
            quotient,
            "This softmax does not subtract the maximum: one large input makes it inf / inf, NaN.",
            RawFix::display_only("Use tl.exp(x - tl.max(x, axis=0))"),
        );
    }
}

/// `(e - 1) / (e + 1)` and `(e - f) / (e + f)`: the `e`, if it is an unbounded exponential, and the value subtracted
/// from it.
fn tanh_form(cx: &PythonChecker<'_>, above: Node, below: Node) -> Option<(Node, Node)> {
    let tree = cx.tree();
    let (e, other) = sides(cx, above, "-")?;
    let (left, right) = sides(cx, below, "+")?;
    let same = |a: Node, b: Node| tree.text(a) == tree.text(b) || (is_one(cx, a) && is_one(cx, b));
    let is_it = same(e, left) && same(other, right) || same(e, right) && same(other, left);
    (is_it && is_unbounded(cx, e)).then_some((e, other))
}

fn is_one(cx: &PythonChecker<'_>, node: Node) -> bool {
    matches!(cx.tree().text(node), "1" | "1.0" | "1.")
}

/// `exp(x) / sum(exp(x))` where `x` is not a difference.
fn is_plain_softmax(cx: &PythonChecker<'_>, above: Node, below: Node) -> bool {
    let tree = cx.tree();
    let is_sum_of_it = is_tl(cx, below, "sum")
        && values(cx, below).first().is_some_and(|summed| {
            let summed = latest(cx, *summed);
            summed == above || tree.text(summed) == tree.text(above)
        });
    is_sum_of_it
        && is_unbounded(cx, above)
        && values(cx, above).first().is_some_and(|argument| {
            let argument = latest(cx, *argument);
            !cx.any_within(argument, &|node| sides(cx, node, "-").is_some())
        })
}

/// An `exp` or `exp2` with an unbounded argument.
fn is_unbounded(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let call = latest(cx, node);
    if !is_tl(cx, call, "exp") && !is_tl(cx, call, "exp2") {
        return false;
    }
    let Some(argument) = first_value(cx, call) else {
        return false;
    };
    // Follows two names: `x2 = 2 * x`, `x = tl.minimum(x, 10)`.
    let is_bounded = |node: Node| {
        cx.any_within(node, &|inner| {
            tree.kind(inner) == Kind::Identifier && contains_any(tree.text(inner), BOUNDS)
        })
    };
    let first = latest(cx, argument);
    let through_names = cx
        .within(first)
        .filter(|inner| {
            tree.kind(*inner) == Kind::Identifier && tree.field(*inner) != Field::Attribute
        })
        .any(|name| is_bounded(latest(cx, name)));
    !is_bounded(first) && !through_names
}
