//! HW706: a fixed block size for rows of any length.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    arguments, called, first_value, function_around, mentions, mentions_any, receiver, sides,
    values,
};
use crate::rules::helpers::kernels::{
    constants, given, is_tl, kernel_around, launched, launches, parameters,
};
use crate::semantic::integer;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds kernels that reduce a row in one block, without a loop, and are launched with a fixed block size although
    /// the source does not limit the length of the row.
    ///
    /// ## Why on ROCm
    ///
    /// The mask `columns < n` hides the error: if a row is longer than the block, its remaining elements are left out
    /// of the sum and are not written. The result is wrong, on every GPU, without an error message.
    /// `triton.next_power_of_2(n)` covers the row. On Instinct GPUs increase `num_warps` as well: with 4 warps a row of
    /// 65536 spills registers.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     row = tl.program_id(0)
    ///     columns = tl.arange(0, BLOCK)
    ///     x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    ///     tl.store(y_ptr + row, tl.sum(x, axis=0))
    ///
    /// def run(x, y):
    ///     row_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     row = tl.program_id(0)
    ///     columns = tl.arange(0, BLOCK)
    ///     x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    ///     tl.store(y_ptr + row, tl.sum(x, axis=0))
    ///
    /// def run(x, y):
    ///     row_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: a separate kernel is compiled for each length, and a long row needs more warps.
    ///
    /// ## References
    ///
    /// * [Triton tutorial: fused softmax](https://triton-lang.org/main/getting-started/tutorials/02-fused-softmax.html)
    /// * [Optimizing Triton kernels (ROCm)](https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/optimization/optimize-triton-kernels.html)
    "HW706" "triton-block-covers-row" {
        title: "A block that may be shorter than the row",
        family: Triton,
        severity: Warning,
        applicability: Unsafe,
        targets: "every target",
        lesson: Some("optimize/fused-rmsnorm"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, call: Node) {
    if !is_tl(cx, call, "arange") {
        return;
    }
    let tree = cx.tree();
    let Some(kernel) = kernel_around(cx, call) else {
        return;
    };
    let Some(block) = values(cx, call)
        .get(1)
        .copied()
        .filter(|end| tree.kind(*end) == Kind::Identifier)
    else {
        return;
    };
    let Some(length) = row_length(cx, kernel, call, tree.text(block)) else {
        return;
    };
    let launches: Vec<Node> = launches(cx)
        .iter()
        .copied()
        .filter(|launch| launched(cx, *launch) == Some(kernel))
        .collect();
    let mut sizes = constants(cx, kernel, tree.text(block));
    sizes.extend(launches.iter().filter_map(|launch| {
        let value = given(cx, kernel, *launch, tree.text(block))?;
        Some((value, most(cx, value)?))
    }));
    for (value, size) in sizes {
        // A value in a launch applies to that launch; a value in a configuration applies to all.
        let own = launches
            .iter()
            .copied()
            .find(|launch| tree.contains(*launch, value));
        let Some((launch, given_length)) = own
            .map_or_else(|| launches.clone(), |own| vec![own])
            .into_iter()
            .filter_map(|launch| Some((launch, given(cx, kernel, launch, length)?)))
            .find(|(launch, given_length)| {
                integer(&cx.semantics, *given_length).is_none()
                    && !is_checked(cx, *launch, *given_length)
                    && literal_size(cx, *given_length).is_none_or(|length| length > size)
            })
        else {
            continue;
        };
        let title = "Cover the row with triton.next_power_of_2";
        let has_triton = cx.semantics.names.at_top_level("triton").len() == 1;
        let fix = if has_triton && tree.contains(launch, value) {
            let text = format!("triton.next_power_of_2({})", tree.text(given_length));
            RawFix::unsafe_edits(title, vec![(tree.span(value), text)])
        } else {
            RawFix::display_only(title)
        };
        cx.report(
            &RULE,
            value,
            format!("The end of a row longer than {size} is lost: the kernel has one block for it, and the mask hides the rest."),
            fix,
        );
    }
}

/// The 1024 of `min(1024, triton.next_power_of_2(n))`.
fn most(cx: &PythonChecker<'_>, value: Node) -> Option<i64> {
    let value = cx.semantics.expression(value);
    if called(cx, value) != "min" || !mentions(cx, value, "next_power_of_2") {
        return None;
    }
    values(cx, value)
        .into_iter()
        .find_map(|limit| integer(&cx.semantics, limit))
}

/// The parameter that masks the columns, for a kernel that reduces a single block of columns without a loop.
fn row_length<'a>(
    cx: &PythonChecker<'a>,
    kernel: Node,
    arange: Node,
    block: &str,
) -> Option<&'a str> {
    let tree = cx.tree();
    // `tl.program_id(1) * BLOCK`: other programs process the rest of the row.
    let moves_on = cx.any_within(kernel, &|node| {
        let product = sides(cx, node, "*");
        product
            .is_some_and(|(left, right)| [left, right].map(|side| tree.text(side)).contains(&block))
    });
    let assignment = tree.parent(arange)?;
    let columns = tree.child(assignment, Field::Left)?;
    let has_loop = cx.any_within(kernel, &|node| {
        matches!(tree.kind(node), Kind::ForStatement | Kind::WhileStatement)
    });
    let reduces = cx.any_within(kernel, &|node| {
        ["sum", "max", "min", "softmax", "argmax", "cumsum"]
            .iter()
            .any(|name| is_tl(cx, node, name))
    });
    if moves_on || has_loop || !reduces || tree.kind(assignment) != Kind::Assignment {
        return None;
    }
    let name = tree.text(columns);
    let parameters = parameters(cx, kernel);
    cx.within(kernel)
        .filter(|node| tree.kind(*node) == Kind::ComparisonOperator)
        .find_map(|comparison| {
            let parts: Vec<_> = tree.parts(comparison).collect();
            let [left, less, right] = parts[..] else {
                return None;
            };
            let is_mask = tree.text(left) == name && tree.kind(less) == Kind::Less;
            let is_parameter = parameters.iter().any(|p| tree.text(*p) == tree.text(right));
            (is_mask && is_parameter).then(|| tree.text(right))
        })
}

/// The function that launches the kernel checks the length first: `assert n <= 1024`.
fn is_checked(cx: &PythonChecker<'_>, launch: Node, length: Node) -> bool {
    let tree = cx.tree();
    let Some(function) = function_around(cx, launch) else {
        return false;
    };
    let name = cx
        .within(length)
        .find(|node| tree.kind(*node) == Kind::Identifier)
        .map_or("", |node| tree.text(node));
    cx.within(function)
        .filter(|node| matches!(tree.kind(*node), Kind::AssertStatement | Kind::IfStatement))
        .any(|node| mentions(cx, node, name) || mentions_any(cx, node, &["block", "BLOCK"]))
}

/// The 512 of `x.shape[1]` or `x.size(1)`, after `x = torch.randn((1024, 512))` in the same scope.
fn literal_size(cx: &PythonChecker<'_>, length: Node) -> Option<i64> {
    let tree = cx.tree();
    let length = cx.semantics.expression(length);
    let (holder, index) = match tree.kind(length) {
        Kind::Subscript => {
            let shape = tree.child(length, Field::Value)?;
            let is_shape = tree.text(tree.child(shape, Field::Attribute)?) == "shape";
            let index = tree.child(length, Field::Subscript)?;
            is_shape.then_some((tree.child(shape, Field::Object)?, index))?
        }
        Kind::Call if called(cx, length) == "size" => {
            (receiver(cx, length)?, first_value(cx, length)?)
        }
        _ => return None,
    };
    let made = cx.semantics.expression(holder);
    if !cx.callee(made).is_some_and(|name| {
        name.is_any(&[
            "torch.randn",
            "torch.rand",
            "torch.empty",
            "torch.ones",
            "torch.zeros",
        ])
    }) {
        return None;
    }
    let mut sizes: Vec<Node> = arguments(cx, made)
        .into_iter()
        .filter(|argument| tree.kind(*argument) != Kind::KeywordArgument)
        .collect();
    if let [shape] = sizes[..]
        && matches!(tree.kind(shape), Kind::Tuple | Kind::List)
    {
        sizes = tree.parts(shape).collect();
    }
    let last = i64::try_from(sizes.len()).ok()? - 1;
    let index = match tree.text(index) {
        "-1" => last,
        text => text.parse().ok()?,
    };
    let size = sizes.get(usize::try_from(index).ok()?)?;
    integer(&cx.semantics, *size)
}
