//! HW801: a clock read around GPU work without waiting for the GPU.

use super::super::edits::{indentation, newline};
use crate::checker::{Checker, Replacement, Suggestion};
use crate::semantic::{Value, string_parts};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds two readings of a clock with GPU work between them and nothing that waits for the GPU.
    ///
    /// ## Why on ROCm
    ///
    /// Kernels are launched asynchronously, on ROCm as on CUDA: `model(x)` returns when the work is queued. The clock then
    /// shows how long Python took to queue it, which has little to do with the speed of the GPU, and a comparison of two
    /// such numbers says nothing.
    ///
    /// ## Example
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// model = torch.nn.Linear(1024, 1024).to("cuda")
    /// x = torch.randn(64, 1024, device="cuda")
    ///
    /// start = time.perf_counter()
    /// y = model(x)
    /// elapsed = time.perf_counter() - start
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// model = torch.nn.Linear(1024, 1024).to("cuda")
    /// x = torch.randn(64, 1024, device="cuda")
    ///
    /// torch.cuda.synchronize()
    /// start = time.perf_counter()
    /// y = model(x)
    /// torch.cuda.synchronize()
    /// elapsed = time.perf_counter() - start
    /// ```
    ///
    /// For short work, `torch.cuda.Event(enable_timing=True)` measures on the GPU itself. The rule is quiet when something
    /// in between waits anyway: `.item()`, `.cpu()`, `print(loss)`, an event, or a helper of yours that synchronizes.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: waiting changes the timing of the program, which is the point.
    ///
    /// ## References
    ///
    /// * [CUDA semantics: asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
    /// * [torch.cuda.synchronize](https://docs.pytorch.org/docs/stable/generated/torch.cuda.synchronize.html)
    "HW801" "unsynchronized-timing" {
        title: "The clock stops before the GPU does",
        family: Measuring,
        severity: Warning,
        applicability: Unsafe,
        targets: "every GPU target",
        lesson: Some("02-baseline/02-honest-timing"),
        visit: [BinaryOperator],
    }
}

const CLOCKS: &[&str] = &[
    "time.time",
    "time.time_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "timeit.default_timer",
];

/// Methods of a tensor or a module that make the host wait for the GPU, or that take their own time for it.
const WAITS: &[&str] = &[
    "synchronize",
    "item",
    "cpu",
    "tolist",
    "numpy",
    "barrier",
    "wait",
    "elapsed_time",
    "block_until_ready",
    "generate",
];

/// Methods that launch no kernel worth timing.
const IDLE: &[&str] = &[
    "size",
    "dim",
    "numel",
    "stride",
    "element_size",
    "is_contiguous",
    "data_ptr",
    "parameters",
    "named_parameters",
    "modules",
    "named_modules",
    "state_dict",
    "eval",
    "train",
    "to",
    "cuda",
    "view",
    "reshape",
    "detach",
    "requires_grad_",
    "zero_grad",
    "step_size",
    "append",
    "compile",
];

/// Nodes between two readings at most: a program that reads its clock at either end is not timing a kernel.
const MAX_REGION: usize = 10_000;

/// How deep values are followed to see whether they are on the GPU.
const MAX_DEPTH: u8 = 6;

fn check(cx: &Checker<'_>, difference: Node) {
    let Some((start, end)) = clock_readings(cx, difference) else {
        return;
    };
    let Some(work) = last_gpu_work(cx, start, end) else {
        return;
    };
    if waits_after(cx, work, end) {
        return;
    }
    let title = "Wait for the GPU before each reading of the clock";
    let fix = match synchronizing_edits(cx, start, end) {
        Some(edits) => Suggestion::unsafe_edits(title, edits),
        None => Suggestion::display_only(title),
    };
    let line = cx
        .tree()
        .text(work)
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches('(');
    cx.report(
        &RULE,
        difference,
        format!("{line} only queues GPU work; nothing waits for it before the clock is read."),
        fix,
    );
}

/// The calls that read the clock, for `clock() - start` or `end - start`.
fn clock_readings(cx: &Checker<'_>, difference: Node) -> Option<(Node, Node)> {
    let tree = cx.tree();
    if tree.kind(tree.child(difference, Field::Operator)?) != Kind::Minus {
        return None;
    }
    let is_clock = |node: &Node| cx.callee(*node).is_some_and(|name| name.is_any(CLOCKS));
    let right = tree.child(difference, Field::Right)?;
    if tree.kind(right) != Kind::Identifier {
        return None;
    }
    let start = Some(cx.semantics.expression(right)).filter(is_clock)?;
    let end = Some(
        cx.semantics
            .expression(tree.child(difference, Field::Left)?),
    )
    .filter(is_clock)?;
    let scope = |node| cx.semantics.names.scope_of(node);
    (start < end && scope(start) == scope(end)).then_some((start, end))
}

/// The last call between the readings that puts work on the GPU.
fn last_gpu_work(cx: &Checker<'_>, start: Node, end: Node) -> Option<Node> {
    let tree = cx.tree();
    let between = end.index().saturating_sub(start.index() + 1);
    if between > MAX_REGION {
        return None;
    }
    tree.nodes()
        .skip(start.index() + 1)
        .take(between)
        .filter(|node| tree.kind(*node) == Kind::Call && runs_here(cx, start, *node))
        .filter(|call| is_gpu_work(cx, *call))
        .last()
}

/// True when `node` is not in a function that is only defined there.
fn runs_here(cx: &Checker<'_>, start: Node, node: Node) -> bool {
    let tree = cx.tree();
    let function = |node: Node| {
        tree.ancestors(node).find(|ancestor| {
            matches!(
                tree.kind(*ancestor),
                Kind::FunctionDefinition | Kind::Lambda
            )
        })
    };
    function(start) == function(node)
}

fn is_gpu_work(cx: &Checker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    let method = tree
        .child(function, Field::Attribute)
        .map(|method| tree.text(method));
    if method.is_some_and(|method| IDLE.contains(&method) || WAITS.contains(&method)) {
        return false;
    }
    // `model(x)`, `x.matmul(y)`, `loss.backward()`
    let receiver = tree.child(function, Field::Object).unwrap_or(function);
    if is_on_gpu(cx, receiver, MAX_DEPTH) {
        return true;
    }
    // `torch.matmul(x, y)`
    let is_torch = cx.resolve(function).is_some_and(|name| {
        name.is_in("torch")
            && !name.is_in("torch.cuda")
            && !name.is_any(&["torch.compile", "torch.save"])
    });
    is_torch && arguments(cx, call).any(|argument| is_on_gpu(cx, argument, MAX_DEPTH))
}

fn arguments<'c>(cx: &'c Checker<'_>, call: Node) -> impl Iterator<Item = Node> + 'c {
    let tree = cx.tree();
    tree.child(call, Field::Arguments)
        .into_iter()
        .flat_map(|arguments| tree.parts(arguments))
        .map(|argument| tree.child(argument, Field::Value).unwrap_or(argument))
}

/// True when the source itself puts this value on the GPU.
fn is_on_gpu(cx: &Checker<'_>, node: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let node = tree.unparenthesized(node);
    match tree.kind(node) {
        Kind::Identifier => match cx.semantics.binding(node).map(|binding| binding.value) {
            Some(Value::Expression(value) | Value::Unpacked(value, _)) => {
                is_on_gpu(cx, value, depth) || is_moved_in_place(cx, node, depth)
            }
            Some(Value::Parameter(_)) => is_moved_in_place(cx, node, depth),
            _ => false,
        },
        Kind::BinaryOperator => [Field::Left, Field::Right]
            .into_iter()
            .filter_map(|side| tree.child(node, side))
            .any(|side| is_on_gpu(cx, side, depth)),
        Kind::Call => {
            let Some(function) = tree.child(node, Field::Function) else {
                return false;
            };
            let given_device = tree
                .child(node, Field::Arguments)
                .into_iter()
                .flat_map(|arguments| tree.parts(arguments))
                .filter(|argument| tree.kind(*argument) == Kind::KeywordArgument)
                .any(|argument| {
                    tree.child(argument, Field::Name)
                        .is_some_and(|name| tree.text(name) == "device")
                        && tree
                            .child(argument, Field::Value)
                            .is_some_and(|value| is_gpu_device(cx, value, depth))
                });
            if given_device {
                return true;
            }
            if let Some(object) = tree.child(function, Field::Object) {
                match tree
                    .child(function, Field::Attribute)
                    .map(|method| tree.text(method))
                {
                    Some("cuda") => return true,
                    Some("to") => {
                        let mut arguments = arguments(cx, node).peekable();
                        return arguments
                            .peek()
                            .is_some_and(|first| is_gpu_device(cx, *first, depth))
                            || (tree.text(node).contains("dtype") && is_on_gpu(cx, object, depth));
                    }
                    Some("cpu" | "item" | "tolist" | "numpy" | "size" | "numel") => return false,
                    _ => {}
                }
                if is_on_gpu(cx, object, depth) {
                    return true;
                }
            } else if is_on_gpu(cx, function, depth) {
                return true;
            }
            cx.resolve(function)
                .is_some_and(|name| name.root() == "torch")
                && arguments(cx, node).any(|argument| is_on_gpu(cx, argument, depth))
        }
        _ => false,
    }
}

/// `model.cuda()` or `model.to("cuda")` as a statement of its own: a module moves in place.
fn is_moved_in_place(cx: &Checker<'_>, name: Node, depth: u8) -> bool {
    let tree = cx.tree();
    let scope_of = |node: Node| {
        let names = &cx.semantics.names;
        names
            .lookup(names.scope_of(node), tree.text(node))
            .map(|(home, _)| home)
    };
    cx.once(RULE.id, || moved_names(cx, depth))
        .iter()
        .any(|moved| {
            *moved < name
                && tree.text(*moved) == tree.text(name)
                && scope_of(*moved) == scope_of(name)
        })
}

/// The names that are moved in place anywhere.
fn moved_names(cx: &Checker<'_>, depth: u8) -> Vec<Node> {
    let tree = cx.tree();
    tree.nodes()
        .filter(|node| tree.kind(*node) == Kind::ExpressionStatement)
        .filter_map(|statement| tree.parts(statement).next())
        .filter(|call| tree.kind(*call) == Kind::Call)
        .filter_map(|call| {
            let function = tree.child(call, Field::Function)?;
            let moves = match tree.text(tree.child(function, Field::Attribute)?) {
                "cuda" => true,
                "to" => arguments(cx, call)
                    .next()
                    .is_some_and(|first| is_gpu_device(cx, first, depth)),
                _ => false,
            };
            let moved = tree.child(function, Field::Object)?;
            (moves && tree.kind(moved) == Kind::Identifier).then_some(moved)
        })
        .collect()
}

/// `"cuda"`, `"cuda:0"`, `torch.device("cuda")`, `"cuda" if … else "cpu"`, through names and defaults.
fn is_gpu_device(cx: &Checker<'_>, node: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let mut node = cx.semantics.expression(node);
    if let Some(Value::Parameter(Some(default))) =
        cx.semantics.binding(node).map(|binding| binding.value)
    {
        node = default;
    }
    match tree.kind(node) {
        Kind::String => string_parts(&cx.semantics, node)
            .first()
            .is_some_and(|text| text.split(':').next() == Some("cuda")),
        Kind::ConditionalExpression => tree
            .parts(node)
            .step_by(2)
            .any(|choice| is_gpu_device(cx, choice, depth)),
        Kind::Call => {
            cx.callee(node).is_some_and(|name| name.is("torch.device"))
                && arguments(cx, node)
                    .next()
                    .is_some_and(|first| is_gpu_device(cx, first, depth))
        }
        _ => false,
    }
}

/// True when something from the end of `work` to the last reading makes the host wait.
fn waits_after(cx: &Checker<'_>, work: Node, end: Node) -> bool {
    let tree = cx.tree();
    // A call around the work, such as `float(model(x))`, is in the same statement.
    let first = tree.statement(work).index();
    tree.nodes()
        .skip(first)
        .take(end.index().saturating_sub(first))
        .filter(|node| tree.kind(*node) == Kind::Call)
        .filter(|call| tree.end(*call) > tree.end(work) || *call == work)
        // `print(time.time() - start)` comes too late.
        .filter(|call| !tree.contains(*call, end))
        .any(|call| waits(cx, call, MAX_DEPTH))
}

fn waits(cx: &Checker<'_>, call: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    let last = tree.text(tree.child(function, Field::Attribute).unwrap_or(function));
    if WAITS.contains(&last) || last.to_ascii_lowercase().contains("sync") {
        return true;
    }
    match last {
        "to" => {
            let to_cpu = arguments(cx, call)
                .next()
                .is_some_and(|first| string_parts(&cx.semantics, first).first() == Some(&"cpu"));
            return to_cpu;
        }
        "allclose" | "assert_close" | "equal" => return true,
        "float" | "int" | "bool" | "print" | "str" if tree.kind(function) == Kind::Identifier => {
            return arguments(cx, call).any(|argument| tree.kind(argument) != Kind::String);
        }
        _ => {}
    }
    // A function of this source that waits.
    if let Some(Value::Function(definition)) =
        cx.semantics.binding(function).map(|binding| binding.value)
    {
        return tree
            .subtree(definition)
            .filter(|inner| tree.kind(*inner) == Kind::Call && *inner != call)
            .any(|inner| waits(cx, inner, depth));
    }
    // A function that is not known may wait inside; a module's call, a method of a tensor and torch's own do not.
    tree.kind(function) == Kind::Identifier
        && !is_on_gpu(cx, function, MAX_DEPTH)
        && cx
            .resolve(function)
            .is_some_and(|name| name.root() != "torch" && name.root() != "time")
}

/// `torch.cuda.synchronize()` on a line of its own before each reading.
fn synchronizing_edits(cx: &Checker<'_>, start: Node, end: Node) -> Option<Vec<Replacement>> {
    let tree = cx.tree();
    let source = tree.source();
    let torch = cx
        .semantics
        .names
        .at_top_level("torch")
        .iter()
        .any(|binding| binding.value == Value::Module("torch"));
    if !torch {
        return None;
    }
    let mut edits = Vec::new();
    for reading in [start, end] {
        let statement = tree.statement(reading);
        let is_simple = matches!(
            tree.kind(statement),
            Kind::ExpressionStatement | Kind::ReturnStatement | Kind::AssertStatement
        );
        let indent = indentation(source, tree.start(statement)).filter(|_| is_simple)?;
        let before = tree
            .parts(tree.block(statement))
            .take_while(|sibling| *sibling != statement)
            .last();
        let waits_already = before.is_some_and(|before| {
            tree.subtree(before)
                .any(|node| tree.kind(node) == Kind::Call && waits(cx, node, MAX_DEPTH))
        });
        if reading == end || !waits_already {
            let at = tree.start(statement);
            edits.push((
                at..at,
                format!("torch.cuda.synchronize(){}{indent}", newline(source)),
            ));
        }
    }
    Some(edits)
}
