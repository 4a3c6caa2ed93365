//! HW602: the two projections of a gated MLP.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, class_of, first_value, function_around, latest, own_attribute, sides, values,
};
use crate::rules::helpers::modules::linear;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds gated MLPs that apply two `nn.Linear` layers of equal size to one tensor, one for the gate and one for the
    /// gated value.
    ///
    /// ## Why on ROCm
    ///
    /// Two matrix products read the same input twice. With the weights stacked there is one product with twice the
    /// columns, which fills the compute units of an Instinct GPU better, above all with few rows. The stacked product
    /// has a different GEMM shape: tuning results for the two parts do not apply to it. Measure it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class GatedMLP(nn.Module):
    ///     def __init__(self, hidden, inner):
    ///         super().__init__()
    ///         self.gate_proj = nn.Linear(hidden, inner)
    ///         self.up_proj = nn.Linear(hidden, inner)
    ///         self.down_proj = nn.Linear(inner, hidden)
    ///
    ///     def forward(self, x):
    ///         return self.down_proj(torch.sigmoid(self.gate_proj(x)) * self.up_proj(x))
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class GatedMLP(nn.Module):
    ///     def __init__(self, hidden, inner):
    ///         super().__init__()
    ///         self.gate_up_proj = nn.Linear(hidden, 2 * inner)
    ///         self.down_proj = nn.Linear(inner, hidden)
    ///
    ///     def forward(self, x):
    ///         gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
    ///         return self.down_proj(torch.sigmoid(gate) * up)
    /// ```
    ///
    /// To load a checkpoint with separate weights, use `torch.cat([gate.weight, up.weight])`. `chunk` returns strided
    /// views: a kernel that uses them has to support strides, or a copy cancels the gain.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the names in checkpoints change.
    ///
    /// ## References
    ///
    /// * [torch.nn.Linear](https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html)
    /// * [AMD's workload tuning guide](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    /// * [GLU Variants Improve Transformer](https://arxiv.org/abs/2002.05202)
    "HW602" "separate-gate-up" {
        title: "Gate and up projection could be one product",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/one-product"),
        visit: [BinaryOperator],
    }
}

fn check(cx: &PythonChecker<'_>, product: Node) {
    let Some((left, right)) = sides(cx, product, "*") else {
        return;
    };
    let Some((gate, up, input)) = pair(cx, left, right).or_else(|| pair(cx, right, left)) else {
        return;
    };
    let layers = function_around(cx, product)
        .and_then(|function| class_of(cx, function))
        .and_then(|class| {
            let (attribute, first) = linear(cx, class, gate)?;
            let (_, second) = linear(cx, class, up)?;
            let size =
                |call: Node| argument(cx, call, 1, "out_features").map(|n| cx.tree().text(n));
            (size(first) == size(second)).then_some(attribute)
        });
    if let Some(attribute) = layers {
        cx.report(
            &RULE,
            attribute,
            format!("{gate} and {up} both multiply {input}: one nn.Linear with the weights stacked reads it once."),
            RawFix::display_only("Stack the two weights in one nn.Linear and split its output"),
        );
    }
}

/// `act(self.gate(x))` and `self.up(x)`, directly or through names: the two layers and the input.
fn pair<'a>(
    cx: &PythonChecker<'a>,
    gated: Node,
    plain: Node,
) -> Option<(&'a str, &'a str, &'a str)> {
    let (up, input) = projection(cx, latest(cx, plain))?;
    let tree = cx.tree();
    let activation = latest(cx, gated);
    if tree.kind(activation) != Kind::Call {
        return None;
    }
    // The activation's argument, or the receiver of `.sigmoid()`.
    let inner = first_value(cx, activation)
        .or_else(|| tree.child(tree.child(activation, Field::Function)?, Field::Object))?;
    let (gate, same) = projection(cx, latest(cx, inner))?;
    (gate != up && same == input).then_some((gate, up, input))
}

/// `self.layer(x)`: the layer and the name of its single argument.
fn projection<'a>(cx: &PythonChecker<'a>, call: Node) -> Option<(&'a str, &'a str)> {
    let tree = cx.tree();
    if tree.kind(call) != Kind::Call {
        return None;
    }
    let layer = own_attribute(cx, tree.child(call, Field::Function)?)?;
    match values(cx, call)[..] {
        [only] if tree.kind(only) == Kind::Identifier => Some((layer, tree.text(only))),
        _ => None,
    }
}
