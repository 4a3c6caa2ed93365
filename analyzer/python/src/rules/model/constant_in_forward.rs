//! HW608: a constant tensor that each `forward` creates again.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{arguments, called, first_value, own_attribute, values};
use crate::rules::helpers::modules::forward_around;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds tensors that a `forward` builds only from constants and settings of the module:
    /// `torch.arange(0, self.dim, 2)` for rotary frequencies, `torch.linspace`, `torch.eye`, windows, and triangular
    /// masks of a fixed size.
    ///
    /// ## Why on ROCm
    ///
    /// The result is the same in each call. The cost of small kernels like these is mostly their launch, which on a
    /// fast GPU can take longer than they run; a large triangular mask also costs memory traffic. `torch.compile`
    /// recomputes the tensors too, although in fused kernels. A buffer is created once, moves with the module, and is
    /// available when a HIP graph is captured.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// class Rotary(torch.nn.Module):
    ///     def __init__(self, dim):
    ///         super().__init__()
    ///         self.dim = dim
    ///
    ///     def forward(self, position):
    ///         steps = torch.arange(0, self.dim, 2, device=position.device)
    ///         return position[:, None] * 10000.0 ** (-steps / self.dim)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// class Rotary(torch.nn.Module):
    ///     def __init__(self, dim):
    ///         super().__init__()
    ///         frequencies = 10000.0 ** (-torch.arange(0, dim, 2) / dim)
    ///         self.register_buffer("frequencies", frequencies, persistent=False)
    ///
    ///     def forward(self, position):
    ///         return position[:, None] * self.frequencies
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: a buffer is cast with the module, so a buffer that has to stay in float32 needs extra code.
    ///
    /// ## References
    ///
    /// * [torch.nn.Module.register_buffer](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer)
    "HW608" "constant-in-forward" {
        title: "A constant tensor created in each forward",
        family: ModelPerformance,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/graphs"),
        visit: [Call],
    }
}

const FACTORIES: &[&str] = &[
    "torch.arange",
    "torch.linspace",
    "torch.logspace",
    "torch.eye",
    "torch.hann_window",
    "torch.hamming_window",
    "torch.blackman_window",
];

fn check(cx: &PythonChecker<'_>, call: Node) {
    let name = called(cx, call);
    let is_triangle = matches!(name, "tril" | "triu");
    if !is_triangle && !FACTORIES.iter().any(|path| path.ends_with(name)) || name.is_empty() {
        return;
    }
    let Some(callee) = cx.callee(call) else {
        return;
    };
    let made = if is_triangle && callee.root() == "torch" {
        // `torch.triu(torch.ones(n, n))`
        match first_value(cx, call) {
            Some(inner) if matches!(called(cx, inner), "ones" | "full") => inner,
            _ => return,
        }
    } else if callee.is_any(FACTORIES) {
        call
    } else {
        return;
    };
    let Some(forward) = forward_around(cx, call) else {
        return;
    };
    if !is_constant_call(cx, made) || is_stored(cx, call, forward) || is_host_copy(cx, call) {
        return;
    }
    cx.report(
        &RULE,
        call,
        "Each call of forward builds this tensor again, with the same values.",
        RawFix::display_only(
            "Build it once and store it with register_buffer(…, persistent=False)",
        ),
    );
}

/// Every argument that affects the value is a constant; `device` and `dtype` may come from the input.
fn is_constant_call(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    let given = arguments(cx, call);
    !given.is_empty()
        && given.into_iter().all(|argument| match tree.kind(argument) {
            Kind::KeywordArgument => {
                tree.child(argument, Field::Name).is_some_and(|name| {
                    matches!(tree.text(name), "device" | "dtype" | "requires_grad")
                }) || tree
                    .child(argument, Field::Value)
                    .is_some_and(|value| is_constant(cx, value, 5))
            }
            _ => is_constant(cx, argument, 5),
        })
}

fn is_constant(cx: &PythonChecker<'_>, node: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let node = tree.unparenthesized(node);
    let all = |parts: Vec<Node>| parts.into_iter().all(|part| is_constant(cx, part, depth));
    match tree.kind(node) {
        Kind::Integer | Kind::Float | Kind::True | Kind::False | Kind::None | Kind::String => true,
        Kind::Attribute => own_attribute(cx, node).is_some_and(|name| !is_state(name)),
        Kind::UnaryOperator => all(tree.child(node, Field::Argument).into_iter().collect()),
        Kind::BinaryOperator => all([Field::Left, Field::Right]
            .into_iter()
            .filter_map(|side| tree.child(node, side))
            .collect()),
        Kind::Tuple | Kind::List => all(tree.parts(node).collect()),
        Kind::Call => {
            matches!(
                called(cx, node),
                "int" | "float" | "min" | "max" | "len" | "log" | "sqrt" | "prod"
            ) && all(values(cx, node))
        }
        Kind::Identifier => match cx.semantics.binding(node).map(|binding| binding.value) {
            Some(Value::Expression(value)) => is_constant(cx, value, depth),
            _ => false,
        },
        _ => false,
    }
}

/// Attributes that a module may change between calls.
fn is_state(name: &str) -> bool {
    crate::rules::helpers::calls::contains_any(
        name,
        &[
            "cache",
            "current",
            "step",
            "offset",
            "counter",
            "seqlen_so_far",
            "seen",
            "training",
        ],
    )
}

/// The author stores it already: it is assigned to an attribute, or created only if it is missing.
fn is_stored(cx: &PythonChecker<'_>, call: Node, forward: Node) -> bool {
    let tree = cx.tree();
    let statement = tree.statement(call);
    let to_attribute = tree
        .parts(statement)
        .next()
        .and_then(|assignment| tree.child(assignment, Field::Left))
        .is_some_and(|left| tree.kind(left) == Kind::Attribute);
    to_attribute
        || tree
            .ancestors(call)
            .take_while(|ancestor| *ancestor != forward)
            .any(|ancestor| {
                matches!(
                    tree.kind(ancestor),
                    Kind::IfStatement | Kind::ConditionalExpression
                )
            })
}

/// `torch.arange(n).to(device)` is reported by `host-tensor-in-forward`.
fn is_host_copy(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    crate::rules::helpers::calls::keyword(cx, call, "device").is_none()
        && tree
            .parent(call)
            .and_then(|attribute| tree.child(attribute, Field::Attribute))
            .is_some_and(|name| matches!(tree.text(name), "to" | "cuda"))
}
