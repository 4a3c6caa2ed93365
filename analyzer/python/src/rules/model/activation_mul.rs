//! HW605: an activation followed by a product.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    called, contains_any, first_value, function_around, has_text, latest, mentions_any,
    own_attribute, receiver, sides,
};
use crate::rules::helpers::modules::{has_kernel, is_reference};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `silu(gate) * up` and `gelu(gate) * up`: the activation of a gated MLP followed by an elementwise product.
    ///
    /// ## Why on ROCm
    ///
    /// In eager mode the activation writes its result to memory and the product reads it again: five passes over a
    /// tensor instead of three, so a fused kernel speeds up these two steps by at most 1.67 times. `torch.compile`
    /// fuses them automatically. Fused kernels for eager mode and for inference servers are `silu_and_mul` and
    /// `gelu_tanh_and_mul` of AMD's aiter, vLLM and SGLang, and Liger-Kernel's `LigerSiLUMulFunction`, which has a
    /// backward. This takes little time compared with the matrix products around it: measure it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch.nn.functional as F
    ///
    /// def gate(x):
    ///     gate, up = x.chunk(2, dim=-1)
    ///     return F.silu(gate) * up
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from liger_kernel.ops.swiglu import LigerSiLUMulFunction
    ///
    /// def gate(x):
    ///     gate, up = x.chunk(2, dim=-1)
    ///     return LigerSiLUMulFunction.apply(gate, up)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: it adds a dependency or a custom kernel, and results change within rounding.
    ///
    /// ## References
    ///
    /// * [aiter: activation kernels](https://github.com/ROCm/aiter)
    /// * [sglang#7135: activation kernels on AMD GPUs](https://github.com/sgl-project/sglang/pull/7135)
    /// * [Liger-Kernel: swiglu.py](https://github.com/linkedin/Liger-Kernel/blob/main/src/liger_kernel/ops/swiglu.py)
    "HW605" "activation-mul" {
        title: "An activation and a product in two kernels",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/more-fusions"),
        visit: [BinaryOperator],
    }
}

fn check(cx: &PythonChecker<'_>, product: Node) {
    let Some((left, right)) = sides(cx, product, "*") else {
        return;
    };
    if !has_text(cx, "torch") {
        return;
    }
    let gate = if gates(cx, left, right) {
        left
    } else if gates(cx, right, left) {
        right
    } else {
        return;
    };
    let has_fused = function_around(cx, product).is_some_and(|function| {
        mentions_any(
            cx,
            function,
            &[
                "and_mul",
                "AndMul",
                "swiglu",
                "geglu",
                "SiLUMul",
                "GELUMul",
                "use_fused",
            ],
        )
    });
    if has_fused || is_reference(cx, product) || has_kernel(cx, product) {
        return;
    }
    let name = called(cx, latest(cx, gate));
    let name = if matches!(name, "silu" | "gelu") {
        name
    } else {
        "the activation"
    };
    cx.report(
        &RULE,
        product,
        format!("In eager mode {name} writes a tensor that the product reads again; one fused kernel, or torch.compile, does both."),
        RawFix::display_only("Use a fused kernel such as silu_and_mul, or compile the module, and measure"),
    );
}

/// `gate` is an activation, and `other` another tensor that is multiplied with it.
fn gates(cx: &PythonChecker<'_>, gate: Node, other: Node) -> bool {
    let tree = cx.tree();
    let activation = latest(cx, gate);
    if !is_activation(cx, activation) {
        return false;
    }
    // The activation of a parameter, `self.act(self.alpha)`, is a scale.
    let Some(argument) =
        first_value(cx, activation).filter(|argument| tree.kind(*argument) != Kind::Attribute)
    else {
        return false;
    };
    // `x * gelu(x)` is not gated; a scale is one number or one for each row, and a mask is not half of an MLP.
    let text = tree.text(other);
    let is_factor = contains_any(
        text,
        &[
            "scale", "factor", "alpha", "beta", "weight", "mask", "prob", "score",
        ],
    );
    let is_other_tensor = match tree.kind(other) {
        Kind::Call => !matches!(
            called(cx, other),
            "float" | "int" | "sqrt" | "exp" | "unsqueeze" | "view"
        ),
        Kind::Identifier => !is_factor,
        Kind::Subscript => true,
        _ => false,
    } && !text.contains("mask");
    is_other_tensor && tree.text(argument) != tree.text(other)
}

fn is_activation(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    if tree.kind(call) != Kind::Call {
        return false;
    }
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    if matches!(called(cx, call), "silu" | "gelu") {
        return cx
            .resolve(function)
            .is_some_and(|name| name.is_in("torch.nn.functional"));
    }
    // `self.act_fn(…)`, `self.activation(…)`
    receiver(cx, call).is_some()
        && own_attribute(cx, function).is_some_and(|name| {
            let first = name
                .trim_start_matches('_')
                .split('_')
                .next()
                .unwrap_or_default();
            matches!(first, "act" | "activation" | "silu" | "gelu" | "hidden")
                && (first != "hidden" || name.contains("act"))
        })
}
