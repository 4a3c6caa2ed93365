//! HW506: calls that break the graph in compiled code.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, function_around, receiver, values};
use crate::rules::helpers::modules::{is_compiled, is_guarded_off, is_tensor};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds calls that Dynamo can't trace, in functions that the source compiles: `print`, `open`, `input`,
    /// `breakpoint`, `eval`, `exec`, `globals`, loggers, `warnings.warn`, clocks, `torch.manual_seed`, `torch.save`,
    /// `gc.collect`, and some more.
    ///
    /// ## Why on ROCm
    ///
    /// Each call splits the compiled graph in two: operations are not fused across the break, Python runs in between,
    /// and a HIP graph can't span it. With `fullgraph=True` it is an error. The list contains the calls that PyTorch
    /// 2.15 rejects with `fullgraph=True`. A call that only runs during set-up of the model costs nothing later.
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
    /// To keep the call in eager mode, put it behind `if not torch.compiler.is_compiling():`. `TORCH_LOGS=graph_breaks`
    /// lists every break with its reason. `torch._dynamo.config.reorderable_logging_functions` moves a `print` to the
    /// end of the graph.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the call has an effect, and the author has to decide whether it is still needed.
    ///
    /// ## References
    ///
    /// * [Dealing with graph breaks](https://docs.pytorch.org/docs/stable/compile/programming_model.graph_breaks_index.html)
    /// * [torch.compiler.is_compiling](https://docs.pytorch.org/docs/stable/generated/torch.compiler.is_compiling.html)
    "HW506" "graph-break" {
        title: "A call that breaks the compiled graph",
        family: Compile,
        severity: Advice,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("optimize/graph-breaks"),
        visit: [Call],
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

fn check(cx: &PythonChecker<'_>, call: Node) {
    if !breaks(cx, call) {
        return;
    }
    let is_traced = function_around(cx, call).is_some_and(|function| is_compiled(cx, function));
    if !is_traced || is_guarded_off(cx, call) {
        return;
    }
    let message = format!(
        "torch.compile can't trace {}(): the graph is split here.",
        called(cx, call)
    );
    let title = "Remove it, or run it only if not torch.compiler.is_compiling()";
    cx.report(&RULE, call, message, RawFix::display_only(title));
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
