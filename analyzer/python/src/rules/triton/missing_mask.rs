//! HW707: a load or store without a mask.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, function_around, mentions, values};
use crate::rules::helpers::kernels::{
    is_tl, kernel_around, launched, launches, mask, parameters, pointer,
};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `tl.load` and `tl.store` without a mask at offsets that are masked in another access of the same kernel,
    /// and kernels without any mask whose grid is rounded up with `triton.cdiv`.
    ///
    /// ## Why on ROCm
    ///
    /// The memory past the end of a tensor belongs to other allocations. Reading a few elements too far often goes
    /// unnoticed, until another allocator, another size or another GPU puts an unmapped page there: then it is a memory
    /// access fault. A store past the end changes another tensor. Allocators and page sizes differ between CUDA and
    /// ROCm, so code that never failed on one may fail on the other.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def scale(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask)
    ///     w = tl.load(w_ptr + offsets)
    ///     tl.store(y_ptr + offsets, x * w, mask=mask)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def scale(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask)
    ///     w = tl.load(w_ptr + offsets, mask=mask)
    ///     tl.store(y_ptr + offsets, x * w, mask=mask)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the value of a masked load is undefined where the mask is false, unless `other` is set. A reduction
    /// needs it.
    ///
    /// ## References
    ///
    /// * [triton.language.load](https://triton-lang.org/main/python-api/generated/triton.language.load.html)
    /// * [Triton tutorial: vector addition](https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html)
    "HW707" "triton-missing-mask" {
        title: "An access without the mask of the other accesses",
        family: Triton,
        severity: Warning,
        applicability: Unsafe,
        targets: "every target",
        lesson: Some("optimize/fused-rmsnorm"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, access: Node) {
    if !matches!(called(cx, access), "load" | "store") || mask(cx, access).is_some() {
        return;
    }
    if !is_access(cx, access) {
        return;
    }
    let tree = cx.tree();
    let Some((kernel, pointer)) = kernel_around(cx, access).zip(pointer(cx, access)) else {
        return;
    };
    let Some((base, offsets)) = base_and_offsets(cx, kernel, pointer) else {
        return;
    };
    let neighbour = cx.within(kernel).find_map(|other| {
        if other == access || !is_access(cx, other) {
            return None;
        }
        let mask = mask(cx, other)?;
        let (_, same) = base_and_offsets(
            cx,
            kernel,
            crate::rules::helpers::kernels::pointer(cx, other)?,
        )?;
        let is_bound_by_it = tree.text(same) == tree.text(offsets)
            && same_value(cx, same, offsets)
            && compares(cx, mask, tree.text(offsets));
        is_bound_by_it.then_some(mask)
    });
    // An `if EVEN:` around it means that no mask is needed.
    let is_chosen = tree
        .ancestors(access)
        .take_while(|ancestor| *ancestor != kernel)
        .any(|ancestor| tree.kind(ancestor) == Kind::IfStatement);
    if is_chosen {
        return;
    }
    let Some(mask) = neighbour else {
        check_rounded_grid(cx, kernel, access);
        return;
    };
    let title = "Add the mask of the other accesses";
    let is_in_scope = tree.kind(mask) == Kind::Identifier && is_bound_before(cx, mask, access);
    let fix = if is_in_scope {
        let end = tree.end(access) - 1;
        RawFix::unsafe_edits(
            title,
            vec![(end..end, format!(", mask={}", tree.text(mask)))],
        )
    } else {
        RawFix::display_only(title)
    };
    cx.report(
        &RULE,
        access,
        format!(
            "{} is accessed past its end where the mask of the other accesses is false.",
            tree.text(base)
        ),
        fix,
    );
}

/// A kernel without masks, launched with a grid that is rounded up.
fn check_rounded_grid(cx: &PythonChecker<'_>, kernel: Node, access: Node) {
    let tree = cx.tree();
    let accesses: Vec<Node> = cx
        .within(kernel)
        .filter(|node| is_access(cx, *node))
        .collect();
    if accesses.first() != Some(&access) || accesses.iter().any(|node| mask(cx, *node).is_some()) {
        return;
    }
    let is_rounded_up = launches(cx).iter().any(|launch| {
        launched(cx, *launch) == Some(kernel) && {
            let around = function_around(cx, *launch).unwrap_or(tree.root());
            let grid = tree
                .child(*launch, Field::Function)
                .and_then(|function| tree.child(function, Field::Subscript));
            // `assert n % BLOCK == 0` makes rounding up an exact division.
            let is_exact = tree.text(around).contains('%');
            !is_exact
                && grid.is_some_and(|grid| mentions(cx, cx.semantics.expression(grid), "cdiv"))
        }
    });
    if is_rounded_up {
        cx.report(
            &RULE,
            access,
            "The grid is rounded up with cdiv, so the last program reads and writes past the end.",
            RawFix::display_only("Compare the offsets with the length, and pass that as the mask"),
        );
    }
}

fn is_access(cx: &PythonChecker<'_>, call: Node) -> bool {
    is_tl(cx, call, "load") || is_tl(cx, call, "store")
}

/// `ptr + offsets`: a parameter, and the single name that is added to it.
fn base_and_offsets(cx: &PythonChecker<'_>, kernel: Node, pointer: Node) -> Option<(Node, Node)> {
    let tree = cx.tree();
    let (base, offsets) = crate::rules::helpers::calls::sides(cx, pointer, "+")?;
    let is_parameter = parameters(cx, kernel)
        .iter()
        .any(|parameter| tree.text(*parameter) == tree.text(base));
    let is_range = tree.kind(offsets) == Kind::Identifier
        && matches!(cx.semantics.binding(offsets)?.value, Value::Expression(value) if has_range(cx, value));
    (is_parameter && is_range).then_some((base, offsets))
}

/// The offsets are different for each program: `tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)`.
///
/// A range without the program id may index a buffer of exactly that size.
fn has_range(cx: &PythonChecker<'_>, value: Node) -> bool {
    let tree = cx.tree();
    let by_program = |node: Node| {
        cx.any_within(node, &|inner| {
            is_tl(cx, inner, "program_id")
                || tree.kind(inner) == Kind::Identifier
                    && is_tl(cx, cx.semantics.expression(inner), "program_id")
        })
    };
    let has = |name: &str| cx.any_within(value, &|node| is_tl(cx, node, name));
    let starts_elsewhere = cx
        .within(value)
        .filter(|node| tree.kind(*node) == Kind::Identifier)
        .any(|name| {
            let held = cx.semantics.expression(name);
            held != name && by_program(held)
        });
    has("arange") && (by_program(value) || starts_elsewhere)
}

/// Both names have the value of the same assignment.
fn same_value(cx: &PythonChecker<'_>, a: Node, b: Node) -> bool {
    let value = |node| cx.semantics.binding(node).map(|binding| binding.node);
    value(a) == value(b)
}

/// The mask limits `offsets`.
fn compares(cx: &PythonChecker<'_>, mask: Node, offsets: &str) -> bool {
    let tree = cx.tree();
    let mask = cx.semantics.expression(mask);
    cx.any_within(mask, &|node| {
        tree.kind(node) == Kind::ComparisonOperator
            && tree
                .parts(node)
                .next()
                .is_some_and(|left| mentions(cx, left, offsets))
    })
}

fn is_bound_before(cx: &PythonChecker<'_>, mask: Node, access: Node) -> bool {
    let tree = cx.tree();
    let is_positional_only = values(cx, access).len() <= 2
        && tree.child(access, Field::Arguments).is_some_and(|list| {
            !tree
                .text(list)
                .trim_end_matches(')')
                .trim_end()
                .ends_with(',')
        });
    is_positional_only
        && cx
            .semantics
            .binding(mask)
            .is_some_and(|binding| binding.node < access)
}
