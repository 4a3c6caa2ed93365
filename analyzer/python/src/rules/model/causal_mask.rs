//! HW610: a causal mask in memory where a flag is enough.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, arguments, called, has_text, keyword, receiver, values,
};
use crate::semantic::integer;
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `scaled_dot_product_attention` with a mask that the source builds as a square causal mask:
    /// `torch.ones(n, n, dtype=torch.bool).tril()`, `torch.full((n, n), float("-inf")).triu(1)`, or
    /// `Transformer.generate_square_subsequent_mask(n)`.
    ///
    /// ## Why on ROCm
    ///
    /// PyTorch's flash kernel takes no mask: with `attn_mask` PyTorch selects another kernel, which also reads n² values
    /// for the mask. For the causal pattern `is_causal=True` needs neither, on ROCm as on CUDA.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    /// import torch.nn.functional as F
    ///
    /// def attention(q, k, v):
    ///     n = q.size(-2)
    ///     mask = torch.ones(n, n, dtype=torch.bool, device=q.device).tril()
    ///     return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// import torch.nn.functional as F
    ///
    /// def attention(q, k, v):
    ///     n = q.size(-2)
    ///     mask = torch.ones(n, n, dtype=torch.bool, device=q.device).tril()
    ///     return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    /// ```
    ///
    /// The mask can be deleted afterwards. A mask that is combined with another one, and a triangle that is not square, is
    /// not reported.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: a different kernel is selected, whose rounding differs.
    ///
    /// ## References
    ///
    /// * [scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
    /// * [PyTorch: conditions of the flash kernel (check_for_attn_mask)](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/transformers/sdp_utils_cpp.h)
    "HW610" "causal-mask" {
        title: "A causal mask prevents the flash kernel",
        family: ModelPerformance,
        severity: Advice,
        applicability: Unsafe,
        targets: "every target",
        lesson: Some("optimize/attention-masks"),
        visit: [Call],
    }
}

/// How many methods such as `.to(device)` are followed.
const MAX_METHODS: usize = 4;

fn check(cx: &PythonChecker<'_>, call: Node) {
    if !has_text(cx, "scaled_dot_product_attention") {
        return;
    }
    let Some(mask) = argument(cx, call, 3, "attn_mask") else {
        return;
    };
    if !is_causal(cx, mask)
        || !cx
            .callee(call)
            .is_some_and(|function| function.is("torch.nn.functional.scaled_dot_product_attention"))
    {
        return;
    }
    let tree = cx.tree();
    let edited = tree
        .parent(mask)
        .filter(|parent| tree.kind(*parent) == Kind::KeywordArgument);
    let title = "Use is_causal=True";
    let fix = match edited {
        Some(argument) if keyword(cx, call, "is_causal").is_none() => {
            let edits = vec![(tree.span(argument), "is_causal=True".to_owned())];
            RawFix::unsafe_edits(title, edits)
        }
        _ => RawFix::display_only(title),
    };
    cx.report(
        &RULE,
        mask,
        "This mask is causal: as a mask in memory it prevents the flash kernel, which takes is_causal=True.",
        fix,
    );
}

/// A lower triangle of `torch.ones(n, n)` as booleans, or minus infinity above the diagonal, through methods that change the
/// device or the type.
fn is_causal(cx: &PythonChecker<'_>, mask: Node) -> bool {
    let mut node = cx.semantics.expression(mask);
    let mut is_lower = false;
    let mut is_upper = false;
    let mut is_bool = false;
    for _ in 0..MAX_METHODS {
        if is_square(cx, node, "torch.ones") {
            return is_lower
                && (is_bool
                    || keyword(cx, node, "dtype").is_some_and(|dtype| is_bool_type(cx, dtype)));
        }
        let given = values(cx, node);
        if is_square(cx, node, "torch.full") {
            return is_upper
                && given
                    .get(1)
                    .is_some_and(|fill| is_minus_infinity(cx, *fill));
        }
        if called(cx, node) == "generate_square_subsequent_mask" {
            return true;
        }
        let is_function = |name: &str| cx.callee(node).is_some_and(|function| function.is(name));
        let is_strict = |position| {
            argument(cx, node, position, "diagonal")
                .is_some_and(|diagonal| integer(&cx.semantics, diagonal) == Some(1))
        };
        node = match (called(cx, node), receiver(cx, node)) {
            ("tril", _) if is_function("torch.tril") && given.len() == 1 => {
                is_lower = true;
                given[0]
            }
            ("tril", Some(object)) if given.is_empty() => {
                is_lower = true;
                object
            }
            ("triu", _) if is_function("torch.triu") && is_strict(1) => {
                is_upper = true;
                given[0]
            }
            ("triu", Some(object)) if is_strict(0) => {
                is_upper = true;
                object
            }
            ("bool", Some(object)) if given.is_empty() => {
                is_bool = true;
                object
            }
            ("to", Some(object)) => {
                is_bool |= given.iter().any(|value| is_bool_type(cx, *value));
                object
            }
            ("cuda", Some(object)) => object,
            _ => return false,
        };
        node = cx.semantics.expression(node);
    }
    false
}

fn is_bool_type(cx: &PythonChecker<'_>, node: Node) -> bool {
    cx.tree().text(node) == "bool" || cx.resolve(node).is_some_and(|name| name.is("torch.bool"))
}

/// `float("-inf")`, `-torch.inf`
fn is_minus_infinity(cx: &PythonChecker<'_>, value: Node) -> bool {
    let text = cx.tree().text(value);
    text.contains("-inf") || text.starts_with('-') && text.ends_with("inf")
}

/// `torch.ones(n, n)`, `torch.ones((n, n))`, `torch.full((n, n), value)`
fn is_square(cx: &PythonChecker<'_>, call: Node, function: &str) -> bool {
    let tree = cx.tree();
    if !cx.callee(call).is_some_and(|callee| callee.is(function)) {
        return false;
    }
    let mut sizes: Vec<Node> = arguments(cx, call)
        .into_iter()
        .filter(|argument| tree.kind(*argument) != Kind::KeywordArgument)
        .collect();
    if let [only, ..] = sizes[..]
        && matches!(tree.kind(only), Kind::Tuple | Kind::List)
    {
        sizes = tree.parts(only).collect();
    }
    matches!(sizes[..], [rows, columns] if tree.text(rows) == tree.text(columns))
}
