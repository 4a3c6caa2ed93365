//! HW310: operations that are not allowed while a graph is captured.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, function_around, mentions, name_of, own_attribute};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds calls in `with torch.cuda.graph(…):` that wait for the GPU or copy from the host: `.item()`, `.cpu()`,
    /// `.tolist()`, `.numpy()`, `torch.cuda.synchronize()`, tensors created on the device from Python values, and calls
    /// that set the seed. Functions of the same source that are called in the capture are checked one level deep,
    /// except for code behind a condition. The rule also reports, as advice, a module that runs for the first time in
    /// the capture.
    ///
    /// ## Why on ROCm
    ///
    /// A capture records work without running it, so there is nothing to wait for. Like CUDA, HIP returns "operation
    /// not permitted when stream is capturing" (`hipErrorStreamCaptureUnsupported`), and the capture is lost. This rule
    /// cannot check two more pitfalls. Warm up on a side stream before the capture, so that nothing is compiled, tuned
    /// or allocated in it. Compare the replayed result with an eager run once: there are reports of large speedups from
    /// graphs on ROCm and reports of wrong results.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// graph = torch.cuda.CUDAGraph()
    /// x = torch.ones(8, device="cuda")
    /// with torch.cuda.graph(graph):
    ///     y = x * 2
    ///     total = y.sum().item()
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// graph = torch.cuda.CUDAGraph()
    /// x = torch.ones(8, device="cuda")
    /// with torch.cuda.graph(graph):
    ///     y = x * 2
    ///     total = y.sum()
    /// graph.replay()
    /// print(total.item())
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the line has to move out of the capture, together with the code that uses its result.
    ///
    /// ## References
    ///
    /// * [CUDA graphs in PyTorch](https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs)
    /// * [HIP graphs](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/hipgraph.html)
    "HW310" "graph-capture" {
        title: "This waits for the GPU while a graph is captured",
        family: BackendCode,
        severity: Error,
        also: [Advice "if nothing ran before the capture"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("optimize/graphs"),
        visit: [WithStatement],
    }
}
fn check(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    let Some(body) = tree.child(statement, Field::Body) else {
        return;
    };
    let captures = tree
        .subtree(statement)
        .take_while(|node| *node < body)
        .any(|node| {
            tree.kind(node) == Kind::Call
                && cx
                    .callee(node)
                    .is_some_and(|name| name.is("torch.cuda.graph"))
        });
    if !captures {
        return;
    }
    for call in tree
        .subtree(body)
        .filter(|node| tree.kind(*node) == Kind::Call)
    {
        if let Some(what) = forbidden(cx, call) {
            let message = format!(
                "{what} while a graph is captured: HIP returns an error, and the capture is lost."
            );
            report(cx, call, message);
        } else if never_ran(cx, statement, call) {
            cx.report_as(
                &RULE,
                Severity::Advice,
                call,
                "This did not run before: compilation, tuning or allocation on first use happens while the graph is captured, and may break it.",
                RawFix::display_only("Run it a few times on a side stream before the capture"),
            );
        } else if let Some((what, line)) = forbidden_within(cx, call) {
            report(
                cx,
                call,
                format!(
                    "{what} in `{line}` of this function while a graph is captured: HIP returns an error, and the capture is lost."
                ),
            );
        }
    }
}

fn report(cx: &PythonChecker<'_>, call: Node, message: String) {
    let title = "Move it before the capture, or after the replay";
    cx.report(&RULE, call, message, RawFix::display_only(title));
}

/// True for an object that is created next to the capture and called there for the first time.
fn never_ran(cx: &PythonChecker<'_>, statement: Node, call: Node) -> bool {
    let tree = cx.tree();
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    let names = &cx.semantics.names;
    let is_made_here = cx.semantics.binding(function).is_some_and(|binding| {
        matches!(binding.value, Value::Expression(made) if tree.kind(made) == Kind::Call)
            && names.scope_of(binding.node) == names.scope_of(call)
    });
    let around = function_around(cx, statement).unwrap_or(tree.root());
    is_made_here
        && !cx
            .within(around)
            .take_while(|node| *node < statement)
            .any(|node| match tree.kind(node) {
                Kind::Call => called(cx, node) == tree.text(function),
                // It is passed to something that may run it.
                Kind::ArgumentList => mentions(cx, node, tree.text(function)),
                _ => false,
            })
}

/// The first unconditional operation in a function or method of this source that is not allowed in a capture.
fn forbidden_within<'a>(cx: &PythonChecker<'a>, call: Node) -> Option<(&'static str, &'a str)> {
    let tree = cx.tree();
    let function = tree.child(call, Field::Function)?;
    let definition = match cx.semantics.binding(function).map(|binding| binding.value) {
        Some(Value::Function(definition)) => definition,
        _ => own_method(cx, function)?,
    };
    let body = tree.child(definition, Field::Body)?;
    cx.within(body)
        .filter(|node| tree.kind(*node) == Kind::Call)
        .filter(|inner| {
            !tree
                .ancestors(*inner)
                .take_while(|ancestor| *ancestor != body)
                .any(|ancestor| {
                    matches!(
                        tree.kind(ancestor),
                        Kind::IfStatement
                            | Kind::ConditionalExpression
                            | Kind::FunctionDefinition
                            | Kind::Lambda
                            | Kind::TryStatement
                    )
                })
        })
        .find_map(|inner| Some((forbidden(cx, inner)?, tree.text(inner))))
        .filter(|(_, line)| !line.contains('\n'))
}

/// The definition of `self.method` in the enclosing class.
fn own_method(cx: &PythonChecker<'_>, function: Node) -> Option<Node> {
    let tree = cx.tree();
    let name = own_attribute(cx, function)?;
    let class = tree
        .ancestors(function)
        .find(|ancestor| tree.kind(*ancestor) == Kind::ClassDefinition)?;
    tree.parts(tree.child(class, Field::Body)?)
        .map(|part| tree.child(part, Field::Definition).unwrap_or(part))
        .find(|part| tree.kind(*part) == Kind::FunctionDefinition && name_of(cx, *part) == name)
}

/// Describes the call if it is not allowed in a capture.
fn forbidden(cx: &PythonChecker<'_>, call: Node) -> Option<&'static str> {
    let tree = cx.tree();
    let function = tree.child(call, Field::Function)?;
    let arguments = tree.child(call, Field::Arguments)?;
    if let Some(name) = cx.callee(call) {
        let on_device = tree.parts(arguments).any(|argument| {
            tree.kind(argument) == Kind::KeywordArgument
                && tree.text(argument).starts_with("device")
                && !tree.text(argument).contains("cpu")
        });
        return if name.is("torch.cuda.synchronize") {
            Some("This waits for the GPU")
        } else if name.is_any(&["torch.tensor", "torch.as_tensor"]) && on_device {
            Some("This copies from the host")
        } else if name.is_any(&["torch.manual_seed", "torch.cuda.manual_seed"]) {
            Some("This sets the generator's seed")
        } else {
            None
        };
    }
    let method = tree.text(tree.child(function, Field::Attribute)?);
    let waits = matches!(method, "item" | "tolist" | "cpu" | "numpy")
        && tree.parts(arguments).next().is_none();
    waits.then_some("This waits for the GPU")
}
