//! HW506: code that breaks the graph in compiled code.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    arguments, called, function_around, has_text, receiver, values,
};
use crate::rules::helpers::modules::{is_compiled, is_guarded_off, is_tensor};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds calls that Dynamo can't trace, in functions that the source compiles: `print`, `open`, `input`,
    /// `breakpoint`, `eval`, `exec`, `globals`, loggers, `warnings.warn`, clocks, `torch.manual_seed`, `torch.save`,
    /// `gc.collect`, and some more. Also finds results whose shape depends on values: `x[x > 0]`, `torch.nonzero`,
    /// `masked_select`, `torch.unique`.
    ///
    /// ## Why on ROCm
    ///
    /// Each of them splits the compiled graph in two: operations are not fused across the break, Python runs in between,
    /// and a HIP graph can't span it. With `fullgraph=True` it is an error. The list contains the calls that PyTorch
    /// 2.15 rejects with `fullgraph=True`. A call that only runs during set-up of the model costs nothing later. With
    /// `fullgraph=True` or `capture_dynamic_output_shape_ops` selections stay in the graph.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def step(x):
    ///     x = x * 2
    ///     print("step")
    ///     return x + 1
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def step(x):
    ///     x = x * 2
    ///     return x + 1
    /// ```
    ///
    /// To keep a call in eager mode, put it behind `if not torch.compiler.is_compiling():`. `TORCH_LOGS=graph_breaks`
    /// lists every break with its reason. `torch._dynamo.config.reorderable_logging_functions` moves a `print` to the
    /// end of the graph.
    ///
    /// ## Fix safety
    ///
    /// Display-only: a call has an effect, and the author has to decide whether it is still needed.
    ///
    /// ## References
    ///
    /// * [Dealing with graph breaks](https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html)
    /// * [torch.compiler.is_compiling](https://docs.pytorch.org/docs/stable/generated/torch.compiler.is_compiling.html)
    "HW506" "graph-break" {
        title: "Code that breaks the compiled graph",
        family: Compile,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/graph-breaks"),
        visit: [Call, Subscript],
    }
}

const BUILTINS: &[&str] = &[
    "print",
    "open",
    "input",
    "breakpoint",
    "eval",
    "exec",
    "globals",
];

const FUNCTIONS: &[&str] = &[
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.sleep",
    "warnings.warn",
    "logging.debug",
    "logging.info",
    "logging.warning",
    "logging.error",
    "pdb.set_trace",
    "gc.collect",
    "torch.save",
    "torch.manual_seed",
    "torch.allclose",
    "torch.equal",
    "torch.cuda.memory_allocated",
    "torch.cuda.nvtx.range_push",
    "torch.cuda.nvtx.range_pop",
    "torch._dynamo.graph_break",
    "sys.stdout.write",
    "datetime.datetime.now",
    "subprocess.run",
    "uuid.uuid4",
    "inspect.signature",
    "threading.Lock",
];

const LOG_METHODS: &[&str] = &["debug", "info", "warning", "error", "exception", "critical"];

/// Functions and methods whose result has as many elements as a condition has true ones.
const SELECTIONS: &[&str] = &["nonzero", "masked_select", "unique"];

/// Functions and methods that return a boolean tensor.
const TESTS: &[&str] = &["isnan", "isinf", "isfinite"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let selects = match cx.tree().kind(node) {
        Kind::Subscript => is_indexed_by_mask(cx, node),
        _ => is_selection(cx, node),
    } && !has_text(cx, "fullgraph=True")
        && !has_text(cx, "capture_dynamic_output");
    if !selects && !breaks(cx, node) {
        return;
    }
    let is_traced = function_around(cx, node).is_some_and(|function| is_compiled(cx, function));
    if !is_traced || is_guarded_off(cx, node) {
        return;
    }
    let (message, title) = if selects {
        let message = "The shape depends on values, so the graph is split here.";
        (message.to_owned(), "Keep the shape with torch.where")
    } else {
        let message = format!(
            "torch.compile can't trace {}(): the graph is split here.",
            called(cx, node)
        );
        let title = "Remove it, or run it only if not torch.compiler.is_compiling()";
        (message, title)
    };
    cx.report(&RULE, node, message, RawFix::display_only(title));
}

/// `torch.nonzero(x)`, `x.masked_select(mask)`, `torch.where(condition)`.
fn is_selection(cx: &PythonChecker<'_>, call: Node) -> bool {
    let name = called(cx, call);
    if name == "where" {
        return arguments(cx, call).len() == 1
            && cx.callee(call).is_some_and(|name| name.is("torch.where"));
    }
    SELECTIONS.contains(&name)
        && match cx.callee(call) {
            Some(path) => path.root() == "torch" && path.parts().len() == 2,
            None => receiver(cx, call).is_some_and(|object| is_tensor(cx, object)),
        }
}

/// `x[x > 0]`, where it is read.
fn is_indexed_by_mask(cx: &PythonChecker<'_>, subscript: Node) -> bool {
    let tree = cx.tree();
    let is_assigned = tree.field(subscript) == Field::Left
        && tree
            .parent(subscript)
            .is_some_and(|parent| tree.kind(parent) == Kind::Assignment);
    !is_assigned
        && tree
            .child(subscript, Field::Subscript)
            .is_some_and(|index| is_mask(cx, cx.semantics.expression(index), 4))
}

/// A boolean tensor: a comparison or a test of a tensor, and `~`, `&` and `|` of these.
fn is_mask(cx: &PythonChecker<'_>, node: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let node = tree.unparenthesized(node);
    let child = |field| {
        tree.child(node, field)
            .is_some_and(|child| is_mask(cx, cx.semantics.expression(child), depth))
    };
    match tree.kind(node) {
        Kind::ComparisonOperator => {
            let parts: Vec<_> = tree.parts(node).collect();
            matches!(parts[..], [left, operator, _] if compares(tree.kind(operator)) && is_tensor(cx, left))
        }
        Kind::Call => TESTS.contains(&called(cx, node)) && is_tensor(cx, node),
        Kind::BinaryOperator => child(Field::Left) && child(Field::Right),
        Kind::UnaryOperator => child(Field::Argument),
        _ => false,
    }
}

fn breaks(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    let name = called(cx, call);
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    if BUILTINS.contains(&name) && tree.kind(function) == Kind::Identifier {
        let names = &cx.semantics.names;
        let is_builtin = names.lookup(names.scope_of(function), name).is_none();
        // `print(tensor)` also waits for the GPU: `sync-in-forward` reports it.
        return is_builtin && !values(cx, call).iter().any(|value| is_tensor(cx, *value));
    }
    let might = FUNCTIONS.iter().any(|path| path.ends_with(name)) && !name.is_empty();
    if might
        && cx
            .resolve(function)
            .is_some_and(|path| path.is_any(FUNCTIONS))
    {
        return true;
    }
    LOG_METHODS.contains(&name)
        && receiver(cx, call)
            .map(|logger| cx.semantics.expression(logger))
            .and_then(|made| cx.callee(made))
            .is_some_and(|made| made.is("logging.getLogger"))
}

/// `in` and `is` compare objects, not elements.
fn compares(operator: Kind) -> bool {
    operator.is_ordering() || matches!(operator, Kind::Equal | Kind::NotEqual)
}
