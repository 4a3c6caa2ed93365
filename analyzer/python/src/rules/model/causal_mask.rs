//! HW610: a causal mask in memory where a flag is enough.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, arguments, called, has_text, keyword, receiver, values,
};
use crate::syntax::{Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `scaled_dot_product_attention` with a mask that the source builds as a square lower triangle, such as
    /// `torch.ones(n, n, dtype=torch.bool).tril()`.
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

/// A lower triangle of `torch.ones(n, n)` as booleans, through methods that change the device or the type.
fn is_causal(cx: &PythonChecker<'_>, mask: Node) -> bool {
    let mut node = cx.semantics.expression(mask);
    let mut is_lower = false;
    let mut is_bool = false;
    for _ in 0..MAX_METHODS {
        if is_square_of_ones(cx, node) {
            return is_lower
                && (is_bool
                    || keyword(cx, node, "dtype").is_some_and(|dtype| is_bool_type(cx, dtype)));
        }
        let given = values(cx, node);
        let is_function = |name: &str| cx.callee(node).is_some_and(|function| function.is(name));
        node = match (called(cx, node), receiver(cx, node)) {
            ("tril", _) if is_function("torch.tril") && given.len() == 1 => {
                is_lower = true;
                given[0]
            }
            ("tril", Some(object)) if given.is_empty() => {
                is_lower = true;
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

/// `torch.ones(n, n)`, `torch.ones((n, n))`
fn is_square_of_ones(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    if !cx
        .callee(call)
        .is_some_and(|function| function.is("torch.ones"))
    {
        return false;
    }
    let mut sizes: Vec<Node> = arguments(cx, call)
        .into_iter()
        .filter(|argument| tree.kind(*argument) != Kind::KeywordArgument)
        .collect();
    if let [only] = sizes[..]
        && matches!(tree.kind(only), Kind::Tuple | Kind::List)
    {
        sizes = tree.parts(only).collect();
    }
    matches!(sizes[..], [rows, columns] if tree.text(rows) == tree.text(columns))
}
