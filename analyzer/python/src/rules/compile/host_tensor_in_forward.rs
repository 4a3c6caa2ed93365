//! HW504: a tensor that `forward` creates on the host and copies to the GPU.

use crate::checker::{PythonChecker, RawFix, Replacement};
use crate::rules::helpers::calls::{argument, arguments, called, keyword, mentions_any, receiver};
use crate::rules::helpers::modules::{forward_around, is_guarded_off, is_tensor};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds tensors that a `forward` creates in host memory and then moves, such as `torch.arange(n).to(x.device)`,
    /// and `torch.tensor([…], device=…)`, which is always built on the host.
    ///
    /// ## Why on ROCm
    ///
    /// Each call allocates memory on the host and copies it. A copy from pageable host memory blocks until it is done.
    /// With `torch.compile` the copy stays in the graph, and a single CPU tensor makes Inductor disable HIP graphs:
    /// "skipping cudagraphs due to cpu device". The cost depends on how long the surrounding kernels run: measure it.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// class Positions(torch.nn.Module):
    ///     def forward(self, x):
    ///         return x + torch.arange(x.shape[-1]).to(x.device)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// class Positions(torch.nn.Module):
    ///     def forward(self, x):
    ///         return x + torch.arange(x.shape[-1], device=x.device)
    /// ```
    ///
    /// Store constants that do not depend on the input with `register_buffer(…, persistent=False)`. For a scalar, use
    /// `torch.full((), value, device=x.device)`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the GPU computes `linspace` and floating-point `arange` itself, and the last bit may differ. There is no
    /// edit for random numbers, whose sequence depends on the device, nor for `torch.tensor`.
    ///
    /// ## References
    ///
    /// * [PyTorch performance tuning guide: avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
    /// * [torch.nn.Module.register_buffer](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer)
    "HW504" "host-tensor-in-forward" {
        title: "forward creates a tensor on the host",
        family: Compile,
        severity: Advice,
        applicability: Unsafe,
        targets: "every GPU target",
        lesson: Some("optimize/graphs"),
        visit: [Call],
    }
}

/// Functions that can also run on the GPU.
const ON_DEVICE: &[&str] = &[
    "arange", "zeros", "ones", "full", "eye", "empty", "linspace", "logspace",
];
/// Other functions that create a tensor on the host. They get no edit.
const OTHER: &[&str] = &[
    "tensor",
    "as_tensor",
    "from_numpy",
    "rand",
    "randn",
    "randint",
    "randperm",
];

fn check(cx: &PythonChecker<'_>, call: Node) {
    let name = called(cx, call);
    if !ON_DEVICE.contains(&name) && !OTHER.contains(&name) {
        return;
    }
    let is_torch = cx
        .callee(call)
        .is_some_and(|callee| callee.root() == "torch" && callee.parts().len() == 2);
    if !is_torch
        || forward_around(cx, call).is_none()
        || is_guarded_off(cx, call)
        || is_conversion(cx, call)
    {
        return;
    }
    let title = "Create it on the device, or once, as a buffer";
    if keyword(cx, call, "device").is_some() {
        if name == "tensor" && holds_python_values(cx, call) {
            cx.report(
                &RULE,
                call,
                "torch.tensor builds this on the host and copies it to the GPU in each call.",
                RawFix::display_only(title),
            );
        }
        return;
    }
    let Some(moved) = moved(cx, call) else {
        return;
    };
    let fix = match edits(cx, name, call, moved) {
        Some(edits) => RawFix::unsafe_edits(title, edits),
        None => RawFix::display_only(title),
    };
    cx.report(
        &RULE,
        call,
        "This tensor is created in host memory and copied to the GPU in each call.",
        fix,
    );
}

/// `if not torch.is_tensor(timestep): timestep = torch.tensor(…)` runs only if the caller passes a number, and
/// `if self.mask is None: self.mask = torch.ones(…)` runs once.
fn is_conversion(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(call)
        .filter(|ancestor| {
            matches!(
                tree.kind(*ancestor),
                Kind::IfStatement | Kind::ElifClause | Kind::ConditionalExpression
            )
        })
        .any(|ancestor| {
            let condition = match tree.kind(ancestor) {
                Kind::ConditionalExpression => tree.parts(ancestor).nth(1),
                _ => tree.child(ancestor, Field::Condition),
            };
            condition.is_some_and(|condition| {
                let text = tree.text(condition);
                mentions_any(cx, condition, &["is_tensor", "isinstance"])
                    || text.starts_with("self.") && text.ends_with(" is None")
            })
        })
}

/// Numbers and lists: `torch.tensor(x)` of a tensor is a copy on its own device.
fn holds_python_values(cx: &PythonChecker<'_>, call: Node) -> bool {
    argument(cx, call, 0, "data").is_some_and(|data| {
        // An empty list has nothing to copy.
        cx.tree().text(data) != "[]"
            && matches!(
                cx.tree().kind(cx.semantics.expression(data)),
                Kind::Integer
                    | Kind::Float
                    | Kind::True
                    | Kind::False
                    | Kind::List
                    | Kind::Tuple
                    | Kind::UnaryOperator
                    | Kind::ListComprehension
            )
    })
}

/// The `.to(device)` or `.cuda()` that follows, directly or after other methods.
fn moved(cx: &PythonChecker<'_>, call: Node) -> Option<Node> {
    let tree = cx.tree();
    let mut current = call;
    for _ in 0..4 {
        let attribute = tree.parent(current)?;
        let outer = tree.parent(attribute)?;
        if tree.kind(attribute) != Kind::Attribute || tree.kind(outer) != Kind::Call {
            return None;
        }
        let moves = match called(cx, outer) {
            "cuda" => true,
            "to" => device_argument(cx, outer).is_some(),
            _ => false,
        };
        if moves {
            return Some(outer);
        }
        current = outer;
    }
    None
}

/// The argument of `.to(…)` that is a device: `x.device`, `device`, `"cuda"`, another tensor.
fn device_argument(cx: &PythonChecker<'_>, to: Node) -> Option<Node> {
    let tree = cx.tree();
    let first = argument(cx, to, 0, "device")?;
    let text = tree.text(first);
    let is_device =
        text.ends_with("device") || text.starts_with(['"', '\'']) && text.contains("cuda");
    (is_device || is_tensor(cx, first)).then_some(first)
}

fn edits(cx: &PythonChecker<'_>, name: &str, call: Node, moved: Node) -> Option<Vec<Replacement>> {
    let tree = cx.tree();
    if !ON_DEVICE.contains(&name) || receiver(cx, moved) != Some(call) {
        return None;
    }
    let given = arguments(cx, moved);
    let [device] = given[..] else {
        return None;
    };
    let text = tree.text(device);
    if tree.kind(device) == Kind::KeywordArgument || !text.ends_with("device") {
        return None;
    }
    let end = tree.end(tree.child(call, Field::Arguments)?) - 1;
    let last = *arguments(cx, call).last()?;
    // The last argument may have a trailing comma.
    let trailing = tree.source().get(tree.end(last)..end)?;
    trailing.trim().is_empty().then(|| {
        vec![
            (end..end, format!(", device={text}")),
            (tree.end(call)..tree.end(moved), String::new()),
        ]
    })
}
