//! HW601: three projections of one tensor.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{arguments, own_attribute};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds attention modules that project one tensor with three `nn.Linear` layers for query, key and value.
    ///
    /// ## Why on ROCm
    ///
    /// Three small matrix products read the same input three times and launch three kernels. One product with stacked
    /// weights reads it once and fills the GPU better, above all at small batch sizes, where it is hard to use all
    /// compute units of an Instinct GPU. The gain depends on the shapes: measure it.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch import nn
    ///
    /// class Attention(nn.Module):
    ///     def __init__(self, hidden):
    ///         super().__init__()
    ///         self.q_proj = nn.Linear(hidden, hidden)
    ///         self.k_proj = nn.Linear(hidden, hidden)
    ///         self.v_proj = nn.Linear(hidden, hidden)
    ///
    ///     def forward(self, x):
    ///         return self.q_proj(x), self.k_proj(x), self.v_proj(x)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from torch import nn
    ///
    /// class Attention(nn.Module):
    ///     def __init__(self, hidden):
    ///         super().__init__()
    ///         self.qkv_proj = nn.Linear(hidden, 3 * hidden)
    ///
    ///     def forward(self, x):
    ///         return self.qkv_proj(x).chunk(3, dim=-1)
    /// ```
    ///
    /// With fewer key and value heads than query heads, pass the three sizes to `split`. To load a checkpoint with
    /// separate weights, use `torch.cat([q.weight, k.weight, v.weight])`. If other code accesses `q_proj`, stack the
    /// weights after loading instead.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the names in checkpoints change.
    ///
    /// ## References
    ///
    /// * [torch.nn.Linear](https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html)
    /// * [AMD's workload tuning guide](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    "HW601" "separate-qkv" {
        title: "Query, key and value could be one product",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/one-product"),
        visit: [ClassDefinition],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Query,
    Key,
    Value,
}

/// One projection: an attribute that is an `nn.Linear`.
struct Projection<'a> {
    name: &'a str,
    role: Role,
    /// The name without its role: the part that the three have in common.
    stem: String,
    node: Node,
}

fn check(cx: &PythonChecker<'_>, class: Node) {
    let tree = cx.tree();
    let Some(body) = tree.child(class, Field::Body) else {
        return;
    };
    let projections = projections(cx, body);
    if projections.len() < 3 {
        return;
    }
    let fused_already = tree.subtree(body).any(|node| {
        tree.kind(node) == Kind::Identifier && tree.text(node).to_ascii_lowercase().contains("qkv")
    });
    if fused_already {
        return;
    }
    let looks = projections.len() + tree.size(body);
    for query in projections
        .iter()
        .filter(|projection| projection.role == Role::Query)
    {
        if !cx.may_look_at(looks) {
            return;
        }
        let partner = |role: Role| {
            projections
                .iter()
                .find(|other| other.role == role && other.stem == query.stem)
        };
        let (Some(key), Some(value)) = (partner(Role::Key), partner(Role::Value)) else {
            continue;
        };
        if let Some(input) = common_input(cx, body, [query.name, key.name, value.name]) {
            cx.report(
                &RULE,
                query.node,
                format!(
                    "{}, {} and {} each multiply {input}: one nn.Linear with the weights stacked reads it once.",
                    query.name, key.name, value.name
                ),
                RawFix::display_only("Stack the three weights in one nn.Linear and split its output"),
            );
        }
    }
}

/// The attributes of a class that are `nn.Linear` and named after query, key or value.
fn projections<'a>(cx: &PythonChecker<'a>, body: Node) -> Vec<Projection<'a>> {
    let tree = cx.tree();
    let mut found = Vec::new();
    for node in tree
        .subtree(body)
        .filter(|node| tree.kind(*node) == Kind::Assignment)
    {
        let projection = (|| {
            let attribute = tree.child(node, Field::Left)?;
            let name = own_attribute(cx, attribute)?;
            let (role, stem) = role(name)?;
            let made = tree.child(node, Field::Right)?;
            cx.callee(made)?
                .is("torch.nn.Linear")
                .then_some(Projection {
                    name,
                    role,
                    stem,
                    node: attribute,
                })
        })();
        found.extend(projection);
    }
    found
}

/// The role of names such as `q_proj`, `to_k`, `value`, `Wv`, and the rest of the name.
fn role(name: &str) -> Option<(Role, String)> {
    for (words, role) in [
        (["q", "query", "queries", "wq", "qproj"], Role::Query),
        (["k", "key", "keys", "wk", "kproj"], Role::Key),
        (["v", "value", "values", "wv", "vproj"], Role::Value),
    ] {
        let lower = name.to_ascii_lowercase();
        let parts: Vec<_> = lower.split('_').collect();
        if let Some(position) = parts.iter().position(|part| words.contains(part)) {
            let rest: Vec<_> = parts
                .iter()
                .enumerate()
                .map(|(index, part)| if index == position { "*" } else { part })
                .collect();
            return Some((role, rest.join("_")));
        }
    }
    None
}

/// The name that all three are called with in one function, if it is not reassigned in between.
fn common_input<'a>(cx: &PythonChecker<'a>, body: Node, names: [&str; 3]) -> Option<&'a str> {
    let tree = cx.tree();
    for method in tree.parts(body) {
        let mut calls: [Option<(Node, &str)>; 3] = [None; 3];
        for call in tree
            .subtree(method)
            .filter(|node| tree.kind(*node) == Kind::Call)
        {
            let Some(called) = tree
                .child(call, Field::Function)
                .and_then(|function| own_attribute(cx, function))
            else {
                continue;
            };
            let Some(position) = names.iter().position(|name| *name == called) else {
                continue;
            };
            if let [only] = arguments(cx, call)[..]
                && tree.kind(only) == Kind::Identifier
            {
                calls[position] = Some((only, tree.text(only)));
            }
        }
        let [Some((a, input)), Some((b, second)), Some((c, third))] = calls else {
            continue;
        };
        if input != second || input != third {
            continue;
        }
        let (first, last) = (a.min(b).min(c), a.max(b).max(c));
        let scope = cx.semantics.names.scope_of(a);
        let changes = cx
            .semantics
            .names
            .lookup(scope, input)
            .is_some_and(|(_, bindings)| {
                bindings
                    .iter()
                    .any(|binding| first < binding.node && binding.node < last)
            });
        if !changes {
            return Some(input);
        }
    }
    None
}
