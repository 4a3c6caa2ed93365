//! HW309: a causal mask with a key-value cache.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, called, contains_any, function_around, own_attribute, receiver,
};
use crate::rules::helpers::edits::module_expression;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `scaled_dot_product_attention(…, is_causal=True)` with keys that come from a cache or are appended to
    /// earlier keys.
    ///
    /// ## Why on ROCm
    ///
    /// With fewer queries than keys, `is_causal=True` aligns the mask to the top left: the first query attends to the
    /// first key only. When decoding with a cache, the queries are the last positions and must attend to all earlier
    /// keys, so the result is wrong on every vendor. The error appears in a port because flash-attn and aiter align to
    /// the bottom right: replacing them with PyTorch's function silently changes the mask.
    /// `torch.nn.attention.bias.causal_lower_right` is the equivalent mask.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    /// import torch.nn.functional as F
    ///
    ///
    /// def decode(q, k, v, past_k, past_v):
    ///     k = torch.cat([past_k, k], dim=-2)
    ///     v = torch.cat([past_v, v], dim=-2)
    ///     return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// import torch.nn.functional as F
    ///
    ///
    /// def decode(q, k, v, past_k, past_v):
    ///     k = torch.cat([past_k, k], dim=-2)
    ///     v = torch.cat([past_v, v], dim=-2)
    ///     return F.scaled_dot_product_attention(q, k, v, attn_mask=torch.nn.attention.bias.causal_lower_right(q.size(-2), k.size(-2)))
    /// ```
    ///
    /// A single query needs no mask.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the result changes. The new result is the correct one.
    ///
    /// ## References
    ///
    /// * [scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
    /// * [torch.nn.attention.bias.causal_lower_right](https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.bias.causal_lower_right.html)
    "HW309" "causal-alignment" {
        title: "is_causal aligns to the top left",
        family: BackendCode,
        severity: Warning,
        applicability: Unsafe,
        targets: "every target; it is wrong on every vendor",
        lesson: Some("optimize/attention-masks"),
        visit: [KeywordArgument],
    }
}
fn check(cx: &PythonChecker<'_>, setting: Node) {
    let tree = cx.tree();
    let Some((name, value)) = tree
        .child(setting, Field::Name)
        .zip(tree.child(setting, Field::Value))
    else {
        return;
    };
    // `self.causal` is a setting of the layer; a plain name is decided by the caller.
    let is_set = match tree.kind(value) {
        Kind::True => true,
        Kind::Attribute => own_attribute(cx, value).is_some_and(|own| own.contains("causal")),
        _ => false,
    };
    if tree.text(name) != "is_causal" || !is_set {
        return;
    }
    let Some(call) = tree
        .parent(setting)
        .and_then(|arguments| tree.parent(arguments))
    else {
        return;
    };
    let is_attention = cx
        .callee(call)
        .is_some_and(|name| name.is("torch.nn.functional.scaled_dot_product_attention"));
    let Some((query, key)) = argument(cx, call, 0, "query")
        .zip(argument(cx, call, 1, "key"))
        .filter(|_| is_attention)
    else {
        return;
    };
    if !comes_from_cache(cx, key, MAX_DEPTH) || is_chosen_by_length(cx, setting) {
        return;
    }
    let title = "Align the mask to the lower right";
    let has_mask = argument(cx, call, 3, "attn_mask").is_some();
    let are_names = tree.kind(value) == Kind::True
        && tree.kind(query) == Kind::Identifier
        && tree.kind(key) == Kind::Identifier
        && !has_mask;
    let fix = if are_names {
        let (mask, import) =
            module_expression(cx, "torch.nn.attention.bias.causal_lower_right", setting);
        let text = format!(
            "attn_mask={mask}({}.size(-2), {}.size(-2))",
            tree.text(query),
            tree.text(key)
        );
        let mut edits = vec![(tree.span(setting), text)];
        edits.extend(import);
        RawFix::unsafe_edits(title, edits)
    } else {
        RawFix::display_only(title)
    };
    cx.report(
        &RULE,
        setting,
        "With fewer queries than keys, is_causal=True lets the first query attend to the first key only, which is wrong with a cache.",
        fix,
    );
}

/// How many names and calls are followed to find where the keys come from.
const MAX_DEPTH: u8 = 6;

/// True if an earlier value of the keys is a cache, or is concatenated with earlier keys.
fn comes_from_cache(cx: &PythonChecker<'_>, keys: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    if is_cached(cx, keys) {
        return true;
    }
    match tree.kind(keys) {
        Kind::Identifier => {
            let names = &cx.semantics.names;
            let Some((_, bindings)) = names.lookup(names.scope_of(keys), tree.text(keys)) else {
                return false;
            };
            bindings
                .before(keys)
                .iter()
                .rev()
                .take(MAX_BINDINGS)
                .any(|binding| match binding.value {
                    Value::Expression(value) | Value::Unpacked(value, _) => {
                        !tree.contains(value, keys) && comes_from_cache(cx, value, depth)
                    }
                    _ => false,
                })
        }
        // `k.transpose(1, 2)`, `kv.unbind(dim=2)`, `torch.repeat_interleave(k, 4)`
        Kind::Call => {
            let reshaped = match called(cx, keys) {
                "repeat_interleave" | "repeat_kv" if cx.callee(keys).is_some() => {
                    argument(cx, keys, 0, "input")
                }
                _ => receiver(cx, keys),
            };
            reshaped.is_some_and(|inner| comes_from_cache(cx, inner, depth))
        }
        _ => false,
    }
}

/// How many assignments of one name are checked.
const MAX_BINDINGS: usize = 8;

/// `if cache is None or q.size(-2) == k.size(-2):`: the mask is correct where the lengths are equal.
fn is_chosen_by_length(cx: &PythonChecker<'_>, argument: Node) -> bool {
    let tree = cx.tree();
    let around = function_around(cx, argument);
    let encloses = tree
        .ancestors(argument)
        .take_while(|ancestor| Some(*ancestor) != around)
        .filter_map(|ancestor| tree.child(ancestor, Field::Condition))
        .any(|condition| checks_length(cx, condition));
    // `if q_len == 1: return …` before it
    encloses
        || around.is_some_and(|function| {
            cx.within(function)
                .take_while(|node| *node < argument)
                .filter(|node| tree.kind(*node) == Kind::ReturnStatement)
                .filter_map(|leave| {
                    let branch = tree.parent(tree.block(leave))?;
                    tree.child(branch, Field::Condition)
                })
                .any(|condition| checks_length(cx, condition))
        })
}

/// True if each alternative of the condition tests a length, or whether there is a cache.
fn checks_length(cx: &PythonChecker<'_>, condition: Node) -> bool {
    let tree = cx.tree();
    // Also `is_causal = q.shape[2] == k.shape[2]` before `if is_causal:`.
    let condition = cx.semantics.expression(condition);
    let sides = [Field::Left, Field::Right].map(|side| tree.child(condition, side));
    if let [Some(left), Some(right)] = sides
        && tree.kind(condition) == Kind::BooleanOperator
        && tree
            .children(condition)
            .any(|word| tree.kind(word) == Kind::Or)
    {
        return checks_length(cx, left) && checks_length(cx, right);
    }
    // `flash_attn_with_kvcache is None`: whether a package is installed is independent of the lengths.
    let first = tree.parts(condition).next().unwrap_or(condition);
    if tree.kind(first) == Kind::Identifier
        && !cx.semantics.names.at_top_level(tree.text(first)).is_empty()
    {
        return false;
    }
    let lower = tree.text(condition).to_ascii_lowercase();
    contains_any(
        &lower,
        &[
            "len", "size", "shape", "prefill", "is none", "offset", "> 0",
        ],
    )
}

/// `torch.cat([past_k, k])`, `cache.update(k, v)`, `self._update_kv_cache(kv)`, `self.k_cache[:, :end]`
fn is_cached(cx: &PythonChecker<'_>, value: Node) -> bool {
    let tree = cx.tree();
    let joins = match tree.kind(value) {
        Kind::Call => {
            let function = called(cx, value);
            matches!(function, "cat" | "concat" | "concatenate" | "update")
                || function.contains("update") && function.contains("cache")
        }
        Kind::Subscript => true,
        _ => false,
    };
    joins
        && tree.subtree(value).any(|part| {
            tree.kind(part) == Kind::Identifier && {
                let name = tree.text(part).to_ascii_lowercase();
                name.contains("cache") || name.contains("past")
            }
        })
}
