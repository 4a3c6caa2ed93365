//! HW309: a causal mask over a key-value cache.

use super::super::calls::contains_any;
use super::super::edits::module_expression;
use crate::checker::{Checker, Suggestion};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `scaled_dot_product_attention(…, is_causal=True)` with keys that come from a cache, or are put behind earlier ones.
    ///
    /// ## Why on ROCm
    ///
    /// With fewer queries than keys `is_causal=True` aligns the mask to the top left: the first query sees only the first key. In
    /// decoding with a cache the queries are the last ones and have to see all that came before, so the result is wrong, on every
    /// vendor. It shows up in a port because flash-attn and aiter align to the bottom right: the swap to PyTorch's function changes
    /// the mask without a word. `torch.nn.attention.bias.causal_lower_right` is the mask that was meant.
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
    /// With a single query no mask is needed at all.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the result changes, to the right one.
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
        lesson: None,
        visit: [KeywordArgument],
    }
}
fn check(cx: &Checker<'_>, argument: Node) {
    let tree = cx.tree();
    let Some((name, value)) = tree
        .child(argument, Field::Name)
        .zip(tree.child(argument, Field::Value))
    else {
        return;
    };
    if tree.text(name) != "is_causal" || tree.kind(value) != Kind::True {
        return;
    }
    let Some(arguments) = tree.parent(argument) else {
        return;
    };
    let is_attention = tree
        .parent(arguments)
        .and_then(|call| cx.callee(call))
        .is_some_and(|name| name.is("torch.nn.functional.scaled_dot_product_attention"));
    let Some((query, key)) = argument_of(cx, arguments, 0, "query")
        .zip(argument_of(cx, arguments, 1, "key"))
        .filter(|_| is_attention)
    else {
        return;
    };
    if !comes_from_cache(cx, key) || is_chosen_by_length(cx, argument) {
        return;
    }
    let title = "Align the mask to the lower right";
    let has_mask = argument_of(cx, arguments, 3, "attn_mask").is_some();
    let are_names =
        tree.kind(query) == Kind::Identifier && tree.kind(key) == Kind::Identifier && !has_mask;
    let fix = if are_names {
        let (mask, import) =
            module_expression(cx, "torch.nn.attention.bias.causal_lower_right", argument);
        let text = format!(
            "attn_mask={mask}({}.size(-2), {}.size(-2))",
            tree.text(query),
            tree.text(key)
        );
        let mut edits = vec![(tree.span(argument), text)];
        edits.extend(import);
        Suggestion::unsafe_edits(title, edits)
    } else {
        Suggestion::display_only(title)
    };
    cx.report(
        &RULE,
        argument,
        "With fewer queries than keys is_causal=True lets the first query see the first key alone, which is wrong behind a cache.",
        fix,
    );
}

fn argument_of(cx: &Checker<'_>, arguments: Node, position: usize, name: &str) -> Option<Node> {
    let tree = cx.tree();
    let named = tree.parts(arguments).find(|argument| {
        tree.kind(*argument) == Kind::KeywordArgument
            && tree
                .child(*argument, Field::Name)
                .is_some_and(|key| tree.text(key) == name)
    });
    if let Some(named) = named {
        return tree.child(named, Field::Value);
    }
    tree.parts(arguments)
        .nth(position)
        .filter(|argument| tree.kind(*argument) != Kind::KeywordArgument)
}

/// True when one of the values that the name has had before is a cache, or is put behind earlier keys.
fn comes_from_cache(cx: &Checker<'_>, key: Node) -> bool {
    let tree = cx.tree();
    if tree.kind(key) != Kind::Identifier {
        return is_cached(cx, key);
    }
    let names = &cx.semantics.names;
    let Some((_, bindings)) = names.lookup(names.scope_of(key), tree.text(key)) else {
        return false;
    };
    bindings
        .before(key)
        .iter()
        .any(|binding| match binding.value {
            Value::Expression(value) | Value::Unpacked(value, _) => is_cached(cx, value),
            _ => false,
        })
}

/// `if cache is None or q.size(-2) == k.size(-2):`: the mask is right where the lengths are the same.
fn is_chosen_by_length(cx: &Checker<'_>, argument: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(argument)
        .take_while(|ancestor| tree.kind(*ancestor) != Kind::FunctionDefinition)
        .filter_map(|ancestor| tree.child(ancestor, Field::Condition))
        .any(|condition| {
            let lower = tree.text(condition).to_ascii_lowercase();
            contains_any(&lower, &["len", "size", "shape", "prefill", "is none"])
        })
}

/// `torch.cat([past_k, k])`, `cache.update(k, v)`, `self.k_cache[:, :end]`
fn is_cached(cx: &Checker<'_>, value: Node) -> bool {
    let tree = cx.tree();
    let joins = match tree.kind(value) {
        Kind::Call => tree
            .child(value, Field::Function)
            .and_then(|function| tree.child(function, Field::Attribute))
            .is_some_and(|method| {
                matches!(
                    tree.text(method),
                    "cat" | "concat" | "concatenate" | "update"
                )
            }),
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
