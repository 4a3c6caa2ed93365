//! HW603: attention written as product, softmax, product.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, called, contains_any, earlier, first_value, function_around, has_text, latest,
    mentions, name_of, operator, receiver, sides, values,
};
use crate::rules::helpers::modules::{has_fused_attention, is_reference};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds attention that is written out: a product of queries and keys, a softmax over the last dimension, and a
    /// product with the values. The message names the mask that is applied between them, because it determines the
    /// replacement.
    ///
    /// ## Why on ROCm
    ///
    /// In this form the matrix of scores is written to memory and read back several times: for long sequences it causes
    /// most of the traffic and takes most of the memory. `scaled_dot_product_attention` never stores it if a fused
    /// backend supports the call. On ROCm the fused backend is AOTriton by default, Composable Kernel on request. Not
    /// every mask has a fused path: a boolean or additive mask may use a slower backend than no mask or a causal one.
    /// Measure it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import math
    ///
    /// import torch
    ///
    /// def attend(q, k, v):
    ///     scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    ///     weights = torch.softmax(scores, dim=-1)
    ///     return weights @ v
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch.nn.functional as F
    ///
    /// def attend(q, k, v):
    ///     return F.scaled_dot_product_attention(q, k, v)
    /// ```
    ///
    /// Depending on the mask:
    ///
    /// * **causal**: `is_causal=True`, only if queries and keys have the same length. It is aligned to the top left, so
    ///   with a KV cache it masks the wrong keys; in this case pass `torch.nn.attention.bias.causal_lower_right(…)` as
    ///   `attn_mask`, or no mask for a single query.
    /// * **boolean**: `attn_mask=mask` with `True` where attention is allowed: the opposite of the mask for
    ///   `masked_fill`.
    /// * **additive**: `attn_mask=bias`, in the dtype of the query.
    ///
    /// For a factor other than 1/√d, pass `scale=…`; for dropout, `dropout_p=p if self.training else 0.0`; for fewer
    /// key than query heads, `enable_gqa=True`. The function does not return the attention weights: keep this path for
    /// callers that need them.
    ///
    /// ## Fix safety
    ///
    /// Display-only: mask, scale and layout need a review, and results change within rounding.
    ///
    /// ## References
    ///
    /// * [torch.nn.functional.scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
    /// * [torch.nn.attention.bias](https://docs.pytorch.org/docs/stable/nn.attention.bias.html)
    /// * [HIP (ROCm) semantics](https://docs.pytorch.org/docs/stable/notes/hip.html)
    "HW603" "manual-attention" {
        title: "Attention without a fused kernel",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/attention-memory"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, softmax: Node) {
    let name = called(cx, softmax);
    if !matches!(name, "softmax" | "Softmax") && !name.ends_with("softmax") || name.contains("log")
    {
        return;
    }
    if !has_text(cx, "torch") {
        return;
    }
    let Some((function, weights)) = attention(cx, softmax) else {
        return;
    };
    let is_for_show = contains_any(name_of(cx, function), &["map", "visual", "plot"]);
    if is_for_show || is_reference(cx, softmax) || has_fused_attention(cx) {
        return;
    }
    let (mask, title) = classify(cx, function, softmax);
    let returned = if is_returned(cx, function, weights) {
        " The weights are also returned: keep this path for callers that need them."
    } else {
        ""
    };
    cx.report(
        &RULE,
        softmax,
        format!("Written out like this ({mask}), attention stores its scores in memory; F.scaled_dot_product_attention can avoid it.{returned}"),
        RawFix::display_only(title),
    );
}

/// The function around an attention's softmax, and the name of its weights.
fn attention<'a>(cx: &PythonChecker<'a>, softmax: Node) -> Option<(Node, &'a str)> {
    let tree = cx.tree();
    let function = function_around(cx, softmax)?;
    let is_method = receiver(cx, softmax).is_some_and(|object| cx.resolve(object).is_none())
        && called(cx, softmax) == "softmax"
        && !tree
            .text(tree.child(softmax, Field::Function)?)
            .starts_with("self.");
    let (scores, dim) = if is_method {
        (receiver(cx, softmax)?, argument(cx, softmax, 0, "dim"))
    } else {
        let is_torch = cx.resolve(tree.child(softmax, Field::Function)?);
        if is_torch.is_some_and(|name| name.root() != "torch") {
            return None;
        }
        (first_value(cx, softmax)?, argument(cx, softmax, 1, "dim"))
    };
    let is_last = dim.is_none_or(|dim| matches!(tree.text(dim), "-1" | "2" | "3"));
    if !is_last || !comes_from_scores(cx, scores, 6) {
        return None;
    }
    weigh(cx, function, softmax)
}

/// True if the scores are a product with a transposed operand, or computed from one.
fn comes_from_scores(cx: &PythonChecker<'_>, node: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let node = tree.unparenthesized(node);
    if is_score_product(cx, node) {
        return true;
    }
    match tree.kind(node) {
        Kind::Identifier => earlier(cx, node)
            .into_iter()
            .rev()
            .take(6)
            .any(|value| comes_from_scores(cx, value, depth)),
        Kind::BinaryOperator => [Field::Left, Field::Right]
            .into_iter()
            .filter_map(|side| tree.child(node, side))
            .any(|side| comes_from_scores(cx, side, depth)),
        Kind::Call => {
            // `scores.masked_fill(…)`, `scores.float()`, `torch.where(mask, scores, …)`
            receiver(cx, node).is_some_and(|object| comes_from_scores(cx, object, depth))
                || values(cx, node)
                    .into_iter()
                    .take(3)
                    .any(|value| comes_from_scores(cx, value, depth))
        }
        _ => false,
    }
}

/// `q @ k.transpose(-2, -1)`, `torch.matmul(q, k.mT)`, `torch.einsum("bhid,bhjd->bhij", q, k)`.
fn is_score_product(cx: &PythonChecker<'_>, node: Node) -> bool {
    let Some((_, right)) = operands(cx, node) else {
        return called(cx, node) == "einsum" && cx.tree().text(node).contains("->");
    };
    let tree = cx.tree();
    let right = latest(cx, right);
    // Logits of a vocabulary or of a router are not scores.
    if contains_any(tree.text(right), &["weight", "embed", "lm_head", "rout"]) {
        return false;
    }
    cx.any_within(right, &|part| {
        matches!(
            tree.text(part),
            "transpose" | "permute" | "swapaxes" | "swapdims" | "mT" | "T" | "t" | "rearrange"
        )
    }) || contains_any(
        &tree.text(right).to_ascii_lowercase(),
        &["key_t", "k_t", "kt"],
    )
}

/// The operands of a matrix product.
fn operands(cx: &PythonChecker<'_>, node: Node) -> Option<(Node, Node)> {
    if let Some(sides) = sides(cx, node, "@") {
        return Some(sides);
    }
    match (called(cx, node), &values(cx, node)[..]) {
        ("matmul" | "bmm", [left, right, ..]) => Some((*left, *right)),
        ("matmul" | "bmm", [right]) => Some((receiver(cx, node)?, *right)),
        ("baddbmm", [_, left, right, ..]) => Some((*left, *right)),
        _ => None,
    }
}

/// The product of the result of `softmax` with another value, later in `function`, and the name of that result.
fn weigh<'a>(cx: &PythonChecker<'a>, function: Node, softmax: Node) -> Option<(Node, &'a str)> {
    let tree = cx.tree();
    let statement = tree.statement(softmax);
    let mut carriers: Vec<&str> = Vec::new();
    for node in cx
        .within(function)
        .filter(|node| node.index() >= statement.index())
    {
        match tree.kind(node) {
            Kind::Assignment => {
                let (Some(left), Some(right)) = (
                    tree.child(node, Field::Left),
                    tree.child(node, Field::Right),
                ) else {
                    continue;
                };
                let carries = tree.contains(right, softmax)
                    || carriers.iter().any(|name| mentions(cx, right, name));
                // A product inside the softmax computes the scores, not the result.
                let is_result = cx.any_within(right, &|inner| {
                    operands(cx, inner).is_some() && !tree.contains(softmax, inner)
                });
                if carries && tree.kind(left) == Kind::Identifier && !is_result {
                    carriers.push(tree.text(left));
                }
            }
            Kind::BinaryOperator | Kind::Call => {
                let weighs = is_product(cx, node)
                    && !tree.contains(softmax, node)
                    && (tree.contains(node, softmax)
                        || node > softmax && carriers.iter().any(|name| mentions(cx, node, name)));
                if weighs {
                    return Some((function, carriers.last().copied().unwrap_or_default()));
                }
            }
            _ => {}
        }
    }
    None
}

/// Any product.
fn is_product(cx: &PythonChecker<'_>, node: Node) -> bool {
    operands(cx, node).is_some() || called(cx, node) == "einsum"
}

/// True if `function` returns `name` itself, not only a product with it.
fn is_returned(cx: &PythonChecker<'_>, function: Node, name: &str) -> bool {
    let tree = cx.tree();
    cx.within(function)
        .filter(|node| tree.kind(*node) == Kind::ReturnStatement)
        .flat_map(|statement| cx.within(statement))
        .filter(|node| tree.kind(*node) == Kind::Identifier && tree.text(*node) == name)
        .any(|node| {
            !tree
                .ancestors(node)
                .take_while(|around| tree.kind(*around) != Kind::ReturnStatement)
                .any(|around| is_product(cx, around))
        })
}

/// The mask that is applied before the softmax, and the replacement for the whole.
fn classify(cx: &PythonChecker<'_>, function: Node, softmax: Node) -> (&'static str, &'static str) {
    let tree = cx.tree();
    let mut fills = false;
    let mut adds = false;
    for node in cx
        .within(function)
        .take_while(|node| node.index() <= softmax.index() || tree.contains(softmax, *node))
    {
        let text = tree.text(node);
        match tree.kind(node) {
            Kind::Identifier if contains_any(text, &["tril", "triu", "causal"]) => {
                return (
                    "causal mask",
                    "F.scaled_dot_product_attention(q, k, v, is_causal=True) if q and k have the same length, else causal_lower_right as attn_mask",
                );
            }
            Kind::Identifier if matches!(text, "masked_fill" | "masked_fill_" | "where") => {
                fills = true
            }
            Kind::BinaryOperator | Kind::AugmentedAssignment => {
                let plus = operator(cx, node).starts_with('+');
                let with_mask = tree.child(node, Field::Right).is_some_and(|right| {
                    contains_any(tree.text(right), &["mask", "bias", "alibi"])
                });
                adds |= plus && with_mask;
            }
            _ => {}
        }
    }
    if fills {
        (
            "boolean mask",
            "F.scaled_dot_product_attention(q, k, v, attn_mask=allowed), where True means: may attend",
        )
    } else if adds {
        (
            "additive mask",
            "F.scaled_dot_product_attention(q, k, v, attn_mask=mask), the mask in the query's dtype",
        )
    } else {
        ("no mask", "F.scaled_dot_product_attention(q, k, v)")
    }
}
