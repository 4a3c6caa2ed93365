//! HW606: key and value heads copied for grouped-query attention.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    called, first_value, function_around, has_text, mentions, mentions_any, operator, receiver,
};
use crate::rules::helpers::modules::is_reference;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;

declare_rule! {
    /// ## What it does
    ///
    /// Finds keys and values that are repeated to the number of query heads, with `repeat_kv` or `repeat_interleave`,
    /// and then used in attention.
    ///
    /// ## Why on ROCm
    ///
    /// Each layer writes and reads the copies. They are larger than the originals by a factor of the number of query
    /// heads per key head: with a long KV cache they cause most of the memory traffic of decoding.
    /// `scaled_dot_product_attention(…, enable_gqa=True)`, flash-attn and aiter accept fewer key and value heads
    /// without a copy. The backend for `enable_gqa` depends on the PyTorch version: measure it, and use
    /// `torch.nn.attention.sdpa_kernel` to check whether a fused backend supports the call.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch.nn.functional as F
    ///
    /// def attend(q, k, v, groups):
    ///     k = k.repeat_interleave(groups, dim=1)
    ///     v = v.repeat_interleave(groups, dim=1)
    ///     return F.scaled_dot_product_attention(q, k, v)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch.nn.functional as F
    ///
    /// def attend(q, k, v, groups):
    ///     return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the call may use a different backend. The order of the heads stays the same: both repeat each head
    /// in place.
    ///
    /// ## References
    ///
    /// * [torch.nn.functional.scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
    /// * [aiter: flash attention](https://github.com/ROCm/aiter)
    "HW606" "repeat-kv" {
        title: "Key and value heads copied for attention",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "PyTorch 2.5 and newer",
        lesson: Some("optimize/attention-masks"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, call: Node) {
    if !repeats(cx, call) || cx.target().torch < Version::new(2, 5) || is_reference(cx, call) {
        return;
    }
    let tree = cx.tree();
    let Some(function) = function_around(cx, call) else {
        return;
    };
    // Keys and values are two calls of one decision: only the first is reported.
    let is_first = !cx
        .within(function)
        .take_while(|node| *node < call)
        .any(|node| tree.kind(node) == Kind::Call && repeats(cx, node));
    let Some(name) = assigned_name(cx, call) else {
        return;
    };
    // The author uses grouped attention if it is available.
    let knows = mentions_any(cx, function, &["gqa"]);
    if !is_first || knows || !goes_into_attention(cx, function, call, name) {
        return;
    }
    cx.report(
        &RULE,
        call,
        format!("{name} is copied once for each query head of its group; fused attention accepts fewer key and value heads without a copy."),
        RawFix::display_only("Remove the copy, pass enable_gqa=True, and measure"),
    );
}

fn repeats(cx: &PythonChecker<'_>, call: Node) -> bool {
    let subject = match called(cx, call) {
        "repeat_kv" => return true,
        "repeat_interleave" if has_text(cx, "torch") => match cx.callee(call) {
            Some(name) if name.is("torch.repeat_interleave") => first_value(cx, call),
            Some(_) => None,
            None => receiver(cx, call),
        },
        _ => None,
    };
    subject.is_some_and(|subject| is_key_or_value(cx, subject))
}

/// `k`, `xv`, `key_states`, `self.keys`; not `g_values`.
fn is_key_or_value(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let name = tree.text(tree.child(node, Field::Attribute).unwrap_or(node));
    let first = name
        .trim_start_matches('_')
        .split('_')
        .next()
        .unwrap_or_default();
    matches!(
        first.to_ascii_lowercase().as_str(),
        "k" | "v" | "xk" | "xv" | "key" | "keys" | "value" | "values"
    )
}

fn assigned_name<'a>(cx: &PythonChecker<'a>, call: Node) -> Option<&'a str> {
    let tree = cx.tree();
    let statement = tree.statement(call);
    let assignment = tree.parts(statement).next()?;
    let left = tree.child(assignment, Field::Left)?;
    let first = cx
        .within(left)
        .find(|node| tree.kind(*node) == Kind::Identifier)?;
    Some(tree.text(first))
}

/// A later call of a fused attention, or a product, uses the copy.
fn goes_into_attention(cx: &PythonChecker<'_>, function: Node, call: Node, name: &str) -> bool {
    const ATTENTION: &[&str] = &[
        "scaled_dot_product_attention",
        "flash_attn_func",
        "flash_attn_varlen_func",
        "matmul",
        "einsum",
        "bmm",
    ];
    let tree = cx.tree();
    let statement = tree.statement(call);
    cx.within(function)
        .filter(|node| *node > statement && !tree.contains(statement, *node))
        .any(|node| match tree.kind(node) {
            Kind::Call => ATTENTION.contains(&called(cx, node)) && mentions(cx, node, name),
            Kind::BinaryOperator => operator(cx, node) == "@" && mentions(cx, node, name),
            _ => false,
        })
}
