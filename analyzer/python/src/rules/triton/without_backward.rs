//! HW713: a kernel's result without a gradient.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    arguments, called, class_of, contains_any, decorators, function_around, mentions, name_of,
    own_attribute, values,
};
use crate::rules::helpers::kernels::{launched, launches};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds modules with trainable parameters whose `forward` returns a new tensor written by a Triton kernel, without
    /// a `torch.autograd.Function`.
    ///
    /// ## Why on ROCm
    ///
    /// Autograd does not record a kernel launch: the tensor from `torch.empty_like` has no history, so the graph ends
    /// there, without an error. The parameters of this layer and of all layers before it get no gradient, the backward
    /// pass becomes very fast, the optimizer has no state for parameters that it never updates, and the loss decreases
    /// a little because of the later layers. In a public training example for AMD GPUs this was reported as a speedup
    /// of three times: its backward fell from 107 ms to 0.6 ms. A backward that is much faster than the forward
    /// indicates this error.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def scale_kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask)
    ///     tl.store(y_ptr + offsets, x * tl.load(w_ptr), mask=mask)
    ///
    /// class Scale(torch.nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.weight = torch.nn.Parameter(torch.ones(1))
    ///
    ///     def forward(self, x):
    ///         y = torch.empty_like(x)
    ///         scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, self.weight, y, x.numel(), BLOCK=1024)
    ///         return y
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def scale_kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask)
    ///     tl.store(y_ptr + offsets, x * tl.load(w_ptr), mask=mask)
    ///
    /// class ScaleFunction(torch.autograd.Function):
    ///     @staticmethod
    ///     def forward(ctx, x, weight):
    ///         ctx.save_for_backward(x, weight)
    ///         y = torch.empty_like(x)
    ///         scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, weight, y, x.numel(), BLOCK=1024)
    ///         return y
    ///
    ///     @staticmethod
    ///     def backward(ctx, dy):
    ///         x, weight = ctx.saved_tensors
    ///         return dy * weight, (dy * x).sum().reshape(1)
    ///
    /// class Scale(torch.nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.weight = torch.nn.Parameter(torch.ones(1))
    ///
    ///     def forward(self, x):
    ///         return ScaleFunction.apply(x, self.weight)
    /// ```
    ///
    /// Test that every parameter has a gradient after one step, and that the loss decreases as it does without the
    /// kernel. For a model that is only used for inference, write `requires_grad=False`, or `@torch.inference_mode()`
    /// on `forward`; it is then not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the backward has to be derived by hand.
    ///
    /// ## References
    ///
    /// * [Extending torch.autograd](https://docs.pytorch.org/docs/stable/notes/extending.html)
    /// * [HPCTrainingExamples: TinyTransformer, version 3](https://github.com/amd/HPCTrainingExamples/tree/main/MLExamples/TinyTransformer)
    /// * [Triton tutorial: layer norm with its backward](https://triton-lang.org/main/getting-started/tutorials/05-layer-norm.html)
    "HW713" "triton-without-backward" {
        title: "A kernel's result without a gradient",
        family: Triton,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/missing-backward"),
        visit: [FunctionDefinition],
    }
}

fn check(cx: &PythonChecker<'_>, forward: Node) {
    if name_of(cx, forward) != "forward" {
        return;
    }
    let Some(class) = class_of(cx, forward) else {
        return;
    };
    let Some(launch) =
        launch_that_is_returned(cx, forward).or_else(|| launch_in_helper(cx, forward))
    else {
        return;
    };
    if is_autograd_function(cx, class)
        || !has_trainable_parameter(cx, class)
        || runs_without_gradients(cx, forward)
    {
        return;
    }
    cx.report(
        &RULE,
        launch,
        "Autograd does not record this launch: this layer's parameters and all layers before it get no gradient.",
        RawFix::display_only("Wrap the launch in a torch.autograd.Function with a backward"),
    );
}

/// A launch in `function` with a new tensor as an argument that `function` returns.
fn launch_that_is_returned(cx: &PythonChecker<'_>, function: Node) -> Option<Node> {
    let tree = cx.tree();
    let launches = launches(cx);
    if !cx.may_look_at(launches.len()) {
        return None;
    }
    launches
        .iter()
        .copied()
        .filter(|launch| function_around(cx, *launch) == Some(function))
        .find(|launch| {
            values(cx, *launch).into_iter().any(|argument| {
                tree.kind(argument) == Kind::Identifier
                    && is_fresh(cx, argument)
                    && flows_to_return(cx, function, tree.text(argument))
            })
        })
}

/// `y = torch.empty_like(x)`, possibly reshaped.
fn is_fresh(cx: &PythonChecker<'_>, name: Node) -> bool {
    let tree = cx.tree();
    let value = cx.semantics.expression(name);
    cx.within(value)
        .filter(|node| tree.kind(*node) == Kind::Call)
        .any(|call| {
            matches!(
                called(cx, call),
                "empty_like" | "empty" | "zeros_like" | "zeros" | "new_empty"
            ) && cx.callee(call).is_none_or(|name| name.root() == "torch")
        })
}

/// `return y`, `return y.view(…)`, or of a name computed from it.
fn flows_to_return(cx: &PythonChecker<'_>, function: Node, name: &str) -> bool {
    let tree = cx.tree();
    let mut carriers = vec![name];
    for node in cx.within(function) {
        match tree.kind(node) {
            Kind::Assignment => {
                let parts = tree
                    .child(node, Field::Left)
                    .zip(tree.child(node, Field::Right));
                if let Some((left, right)) = parts
                    && tree.kind(left) == Kind::Identifier
                    && carriers.iter().any(|carrier| mentions(cx, right, carrier))
                {
                    carriers.push(tree.text(left));
                }
            }
            Kind::ReturnStatement if carriers.iter().any(|carrier| mentions(cx, node, carrier)) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// A function of this source that `forward` calls with one of its module's parameters, and that launches the kernel and
/// returns its output.
fn launch_in_helper(cx: &PythonChecker<'_>, forward: Node) -> Option<Node> {
    let tree = cx.tree();
    if launches(cx).is_empty() {
        return None;
    }
    cx.within(forward)
        .filter(|node| tree.kind(*node) == Kind::Call)
        .find_map(|call| {
            let function = tree.child(call, Field::Function)?;
            let Value::Function(helper) = cx.semantics.binding(function)?.value else {
                return None;
            };
            let gets_parameter = arguments(cx, call).into_iter().any(|argument| {
                own_attribute(cx, argument)
                    .is_some_and(|name| contains_any(name, &["weight", "bias", "gamma"]))
            });
            (gets_parameter && launched(cx, call).is_none() && !runs_without_gradients(cx, helper))
                .then(|| launch_that_is_returned(cx, helper))
                .flatten()
        })
}

fn is_autograd_function(cx: &PythonChecker<'_>, class: Node) -> bool {
    let tree = cx.tree();
    tree.child(class, Field::Superclasses)
        .is_some_and(|bases| tree.text(bases).contains("Function"))
}

/// `self.weight = nn.Parameter(…)` that is not frozen where it is created, or a PyTorch layer that has one.
fn has_trainable_parameter(cx: &PythonChecker<'_>, class: Node) -> bool {
    let tree = cx.tree();
    cx.any_within(class, &|node| {
        tree.kind(node) == Kind::Call
            && matches!(
                called(cx, node),
                "Parameter" | "Linear" | "Embedding" | "Conv2d"
            )
            && cx.callee(node).is_some_and(|name| name.root() == "torch")
            && !tree.text(node).contains("requires_grad=False")
    })
}

/// `@torch.no_grad()`, `with torch.inference_mode():`, a registered operator, or an exception if gradients are
/// required.
fn runs_without_gradients(cx: &PythonChecker<'_>, function: Node) -> bool {
    const SIGNS: &[&str] = &[
        "no_grad",
        "inference_mode",
        "custom_op",
        "triton_op",
        "register_autograd",
        "requires_grad",
        "is_grad_enabled",
        "impl",
        "register_fake",
    ];
    let tree = cx.tree();
    let by_decorator = decorators(cx, function)
        .iter()
        .any(|decorator| contains_any(tree.text(*decorator), SIGNS));
    by_decorator
        || cx.any_within(function, &|node| {
            tree.kind(node) == Kind::Identifier
                && contains_any(
                    tree.text(node),
                    &[
                        "no_grad",
                        "inference_mode",
                        "requires_grad",
                        "is_grad_enabled",
                    ],
                )
        })
}
