//! Timed regions, and the GPU work in them: shared by the rules on measurements.

use super::calls::{
    called, contains_any, function_around, keyword, mentions_any, name_of, receiver,
};
use crate::checker::PythonChecker;
use crate::semantic::{Value, string_parts};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::words::listed;

pub(crate) const CLOCKS: &[&str] = &[
    "time.time",
    "time.time_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "timeit.default_timer",
];

/// Methods of a tensor or a module that make the host wait for the GPU, or that are timed separately.
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
];

/// True for a method of [`WAITS`], and for `generate`, `generate_speech` …, which read each token to know when to stop.
fn is_wait(method: &str) -> bool {
    WAITS.contains(&method) || method.starts_with("generate")
}

/// Methods that launch no kernel worth timing.
const IDLE: &str = "size dim numel stride element_size is_contiguous data_ptr parameters named_parameters buffers \
    named_buffers children named_children modules named_modules get_parameter get_buffer get_submodule \
    state_dict extra_repr register_buffer register_forward_hook register_forward_pre_hook add_module \
    untyped_storage storage_offset nelement ndimension get_device is_floating_point eval train to cuda \
    view reshape detach requires_grad_ zero_grad step_size append close compile";

/// The maximum number of nodes between two readings: a program that reads its clock at start and end does not time a
/// kernel.
const MAX_REGION: usize = 10_000;

/// How many levels a value is followed to find out whether it is on the GPU.
pub(crate) const MAX_DEPTH: u8 = 6;

/// The calls that read the clock, for `clock() - start` or `end - start`.
pub(crate) fn clock_readings(cx: &PythonChecker<'_>, difference: Node) -> Option<(Node, Node)> {
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

/// The nodes after `start` and before `end`, unless there are too many or the budget is used up.
fn between(
    cx: &PythonChecker<'_>,
    start: Node,
    end: Node,
) -> Option<impl Iterator<Item = Node> + use<>> {
    let count = end.index().saturating_sub(start.index() + 1);
    let may_look = count <= MAX_REGION && cx.may_look_at(count);
    may_look.then(|| cx.tree().between(start, end))
}

/// The last call or operator between the readings that launches GPU work.
pub(crate) fn last_gpu_work(cx: &PythonChecker<'_>, start: Node, end: Node) -> Option<Node> {
    between(cx, start, end)?
        .filter(|node| is_gpu_work(cx, *node) && runs_here(cx, start, *node))
        .last()
}

/// False if `node` is in a function that is only defined there.
pub(crate) fn runs_here(cx: &PythonChecker<'_>, start: Node, node: Node) -> bool {
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

pub(crate) fn is_gpu_work(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    // `x @ y`
    if tree.kind(call) == Kind::BinaryOperator {
        return is_on_gpu(cx, call, MAX_DEPTH);
    }
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    let method = tree
        .child(function, Field::Attribute)
        .map(|method| tree.text(method));
    // `model.set_dropout(0)` stores a value.
    let is_idle = |method: &str| listed(IDLE, method) || method.starts_with("set_");
    if method.is_some_and(|method| is_idle(method) || is_wait(method)) {
        return false;
    }
    // `model(x)`, `x.matmul(y)`, `loss.backward()`
    let receiver = tree.child(function, Field::Object).unwrap_or(function);
    // A schedule of learning rates computes on the host; a sampler's `scheduler.step(noise, t, latents)` does not.
    if method == Some("step")
        && arguments(cx, call).is_empty()
        && contains_any(tree.text(receiver), &["sched"])
    {
        return false;
    }
    // A method of another library's object may wait: `engine.complete(prompt)`.
    let is_foreign = method.is_some()
        && cx
            .callee(cx.semantics.expression(receiver))
            .is_some_and(|made| {
                // `torch.cuda.memory_stats(device=0).get("…")`
                made.is_in("torch.cuda")
                    || made.root() != "torch" && made.last() != "from_pretrained"
            });
    if is_foreign {
        return false;
    }
    if is_on_gpu(cx, receiver, MAX_DEPTH) {
        return true;
    }
    // `torch.matmul(x, y)`
    let is_torch = cx.resolve(function).is_some_and(|name| {
        name.is_in("torch")
            && !name.is_in("torch.cuda")
            && !name.is_any(&["torch.compile", "torch.save"])
    });
    is_torch && takes_from_gpu(cx, call, MAX_DEPTH)
}

fn arguments(cx: &PythonChecker<'_>, call: Node) -> Vec<Node> {
    let mut found = super::calls::arguments(cx, call);
    for argument in &mut found {
        *argument = cx
            .tree()
            .child(*argument, Field::Value)
            .unwrap_or(*argument);
    }
    found
}

/// True if the first argument is a GPU's device.
fn names_gpu(cx: &PythonChecker<'_>, call: Node, depth: u8) -> bool {
    let first = arguments(cx, call).first().copied();
    first.is_some_and(|first| is_gpu_device(cx, first, depth))
}

/// True if an argument is on the GPU.
fn takes_from_gpu(cx: &PythonChecker<'_>, call: Node, depth: u8) -> bool {
    let arguments = arguments(cx, call);
    arguments
        .iter()
        .any(|argument| is_on_gpu(cx, *argument, depth))
}

/// True if the source moves this value to the GPU.
fn is_on_gpu(cx: &PythonChecker<'_>, node: Node, depth: u8) -> bool {
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
            let given_device =
                keyword(cx, node, "device").is_some_and(|device| is_gpu_device(cx, device, depth));
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
                        return names_gpu(cx, node, depth)
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
                && takes_from_gpu(cx, node, depth)
        }
        _ => false,
    }
}

/// `model.cuda()` or `model.to("cuda")` as a statement of its own: a module is moved in place.
fn is_moved_in_place(cx: &PythonChecker<'_>, name: Node, depth: u8) -> bool {
    let tree = cx.tree();
    let scope_of = |node: Node| {
        let names = &cx.semantics.names;
        names
            .lookup(names.scope_of(node), tree.text(node))
            .map(|(home, _)| home)
    };
    let moved = cx.once("moved in place", || moved_names(cx, depth));
    cx.may_look_at(moved.len())
        && moved.iter().any(|moved| {
            *moved < name
                && tree.text(*moved) == tree.text(name)
                && scope_of(*moved) == scope_of(name)
        })
}

/// The names that are moved in place anywhere.
fn moved_names(cx: &PythonChecker<'_>, depth: u8) -> Vec<Node> {
    let tree = cx.tree();
    tree.nodes()
        .filter(|node| tree.kind(*node) == Kind::ExpressionStatement)
        .filter_map(|statement| tree.parts(statement).next())
        .filter(|call| tree.kind(*call) == Kind::Call)
        .filter_map(|call| {
            let function = tree.child(call, Field::Function)?;
            let moves = match tree.text(tree.child(function, Field::Attribute)?) {
                "cuda" => true,
                "to" => names_gpu(cx, call, depth),
                _ => false,
            };
            let moved = tree.child(function, Field::Object)?;
            (moves && tree.kind(moved) == Kind::Identifier).then_some(moved)
        })
        .collect()
}

/// `"cuda"`, `"cuda:0"`, `torch.device("cuda")`, `"cuda" if … else "cpu"`, through names and defaults.
pub(crate) fn is_gpu_device(cx: &PythonChecker<'_>, node: Node, depth: u8) -> bool {
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
                && names_gpu(cx, node, depth)
        }
        _ => false,
    }
}

/// True if an operation from the end of `work` to the last reading makes the host wait, or a hook in the work.
pub(crate) fn waits_after(cx: &PythonChecker<'_>, work: Node, end: Node) -> bool {
    let tree = cx.tree();
    // `layer.register_forward_hook(keep)`: the hook copies each result to the host.
    let hooks = || {
        function_around(cx, end).is_some_and(|around| {
            cx.any_within(around, &|call| {
                called(cx, call).ends_with("_hook")
                    && arguments(cx, call)
                        .iter()
                        .any(|hook| waits_inside(cx, *hook, MAX_DEPTH) == Some(true))
            })
        })
    };
    // In a loop that waits each time, only the end of the last round is not measured.
    let in_its_loop = || {
        tree.ancestors(work)
            .filter(|around| {
                matches!(
                    tree.kind(*around),
                    Kind::ForStatement | Kind::WhileStatement
                )
            })
            .take_while(|around| !tree.contains(*around, end))
            .any(|around| cx.any_within(around, &|call| waits_surely(cx, call)))
    };
    if hooks() || in_its_loop() {
        return true;
    }
    // A call around the work, such as `float(model(x))`, is in the same statement.
    tree.between(tree.statement(work), end)
        .filter(|node| tree.kind(*node) == Kind::Call)
        .filter(|call| tree.end(*call) > tree.end(work) || *call == work)
        // `print(time.time() - start)` is too late.
        .filter(|call| !tree.contains(*call, end))
        .any(|call| waits(cx, call, MAX_DEPTH))
}

pub(crate) fn waits(cx: &PythonChecker<'_>, call: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let Some(function) = tree.child(call, Field::Function) else {
        return false;
    };
    let last = tree.text(tree.child(function, Field::Attribute).unwrap_or(function));
    if is_wait(last) || last.to_ascii_lowercase().contains("sync") {
        return true;
    }
    match last {
        "to" => {
            let to_cpu = arguments(cx, call)
                .first()
                .is_some_and(|first| string_parts(&cx.semantics, *first).first() == Some(&"cpu"));
            return to_cpu;
        }
        "allclose" | "assert_close" | "equal" => return true,
        // `scaler.step(optimizer)` reads whether a gradient is infinite.
        "step" if tree.text(function).contains("caler") => return true,
        "float" | "int" | "bool" | "print" | "str" if tree.kind(function) == Kind::Identifier => {
            return arguments(cx, call)
                .iter()
                .any(|argument| tree.kind(*argument) != Kind::String);
        }
        _ => {}
    }
    // A function of this source that waits, or a method of one of its classes: `collector.add(y)`.
    if let Some(waits) = waits_inside(cx, function, depth) {
        return waits;
    }
    if tree.kind(function) == Kind::Attribute {
        return cx
            .once("waiting methods", || waiting_methods(cx))
            .iter()
            .any(|name| tree.text(*name) == last);
    }
    // An unknown function may wait inside; a module's call, a method of a tensor and torch's own functions do not.
    tree.kind(function) == Kind::Identifier
        && !is_on_gpu(cx, function, MAX_DEPTH)
        && cx
            .resolve(function)
            .is_some_and(|name| name.root() != "torch" && name.root() != "time")
}

/// `loss.item()`, `torch.cuda.synchronize()`: not a function that may wait inside.
fn waits_surely(cx: &PythonChecker<'_>, call: Node) -> bool {
    is_wait(called(cx, call))
}

/// Whether a function makes the host wait. None if it is not a function of this source.
fn waits_inside(cx: &PythonChecker<'_>, function: Node, depth: u8) -> Option<bool> {
    let Value::Function(definition) = cx.semantics.binding(function)?.value else {
        return None;
    };
    let mut inner = cx.within(definition);
    Some(inner.any(|inner| cx.tree().kind(inner) == Kind::Call && waits(cx, inner, depth)))
}

/// The names of the methods of this source that contain a call such as `.cpu()`.
fn waiting_methods(cx: &PythonChecker<'_>) -> Vec<Node> {
    let tree = cx.tree();
    tree.nodes()
        .filter(|call| tree.kind(*call) == Kind::Call && waits_surely(cx, *call))
        .filter_map(|call| {
            let method = function_around(cx, call)?;
            let is_method = tree
                .ancestors(method)
                .any(|around| tree.kind(around) == Kind::ClassDefinition);
            tree.child(method, Field::Name).filter(|_| is_method)
        })
        .collect()
}

/// The readings around the timed work, for a difference of clocks or `start.elapsed_time(end)`.
pub(crate) fn region(cx: &PythonChecker<'_>, node: Node) -> Option<(Node, Node)> {
    match cx.tree().kind(node) {
        Kind::BinaryOperator => clock_readings(cx, node),
        Kind::Call if called(cx, node) == "elapsed_time" => event_readings(cx, node),
        _ => None,
    }
}

/// `start.record()` and `end.record()` of `start.elapsed_time(end)`.
fn event_readings(cx: &PythonChecker<'_>, call: Node) -> Option<(Node, Node)> {
    let tree = cx.tree();
    let start = receiver(cx, call)?;
    let end = super::calls::first(cx, call)?;
    let around = function_around(cx, call).unwrap_or(tree.root());
    let record = |event: Node| {
        cx.within(around).find(|node| {
            tree.kind(*node) == Kind::Call
                && called(cx, *node) == "record"
                && receiver(cx, *node).is_some_and(|object| tree.text(object) == tree.text(event))
        })
    };
    let (start, end) = (record(start)?, record(end)?);
    (start < end).then_some((start, end))
}

/// The calls between two readings that are executed there.
pub(crate) fn calls_between(cx: &PythonChecker<'_>, start: Node, end: Node) -> Vec<Node> {
    let tree = cx.tree();
    between(cx, start, end)
        .into_iter()
        .flatten()
        .filter(|node| tree.kind(*node) == Kind::Call && runs_here(cx, start, *node))
        .filter(|call| !tree.contains(*call, end))
        .collect()
}

/// True if the timed work runs on a GPU, as far as the source shows: known GPU work, or a synchronization near it.
pub(crate) fn is_gpu_timing(cx: &PythonChecker<'_>, start: Node, end: Node) -> bool {
    called(cx, start) == "record"
        || calls_between(cx, start, end)
            .into_iter()
            .any(|call| called(cx, call) == "synchronize" || is_gpu_work(cx, call))
}

/// The loop between two readings that repeats the work: `for _ in range(iterations):`.
pub(crate) fn repeating_loop(cx: &PythonChecker<'_>, start: Node, end: Node) -> Option<Node> {
    let tree = cx.tree();
    between(cx, start, end)?
        .filter(|node| tree.kind(*node) == Kind::ForStatement && runs_here(cx, start, *node))
        .find(|node| {
            tree.child(*node, Field::Right)
                .is_some_and(|over| matches!(called(cx, over), "range" | "trange"))
        })
}

/// The calls in a timed loop that are the timed work: not synchronization, clocks or bookkeeping.
pub(crate) fn subjects(cx: &PythonChecker<'_>, body: Node) -> Vec<Node> {
    const BOOKKEEPING: &str = "range print append len record no_grad inference_mode autocast zero_grad set_description format info \
        empty_cache write tqdm str float int";
    let tree = cx.tree();
    cx.within(body)
        .filter(|node| tree.kind(*node) == Kind::Call && runs_here(cx, body, *node))
        .filter(|call| {
            let name = called(cx, *call);
            !name.is_empty()
                && !listed(BOOKKEEPING, name)
                && !listed(IDLE, name)
                && !is_wait(name)
                && !cx.callee(*call).is_some_and(|name| name.is_any(CLOCKS))
        })
        .collect()
}

/// True if the time is a measurement, not a progress message: it is divided by a count, or read in a function that is
/// named after measuring, without a training step or an estimate of the remaining time.
pub(crate) fn is_benchmark(cx: &PythonChecker<'_>, node: Node, start: Node, end: Node) -> bool {
    let trains = calls_between(cx, start, end)
        .into_iter()
        .any(|call| matches!(called(cx, call), "step" | "clip_grad_norm_" | "unscale_"));
    let around = function_around(cx, node);
    let estimates = || around.is_some_and(|function| mentions_any(cx, function, &["remaining"]));
    if trains || estimates() {
        return false;
    }
    let named = around.is_some_and(|function| {
        contains_any(
            &name_of(cx, function).to_ascii_lowercase(),
            &[
                "bench", "time", "timing", "measure", "perf", "latency", "speed",
            ],
        )
    });
    named || is_divided(cx, node)
}

/// `(end - start) / n`, directly or through the name it is assigned to.
fn is_divided(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let mut current = node;
    for parent in tree.ancestors(node) {
        match tree.kind(parent) {
            Kind::ParenthesizedExpression => {}
            Kind::BinaryOperator => {
                let divides = super::calls::operator(cx, parent).starts_with('/');
                if divides && tree.child(parent, Field::Left) == Some(current) {
                    return true;
                }
            }
            Kind::Assignment => {
                let Some(name) = tree.child(parent, Field::Left) else {
                    return false;
                };
                let around = function_around(cx, node).unwrap_or(tree.root());
                return cx.any_within(around, &|usage| {
                    tree.kind(usage) == Kind::Identifier
                        && usage > current
                        && tree.field(usage) == Field::Left
                        && tree.text(usage) == tree.text(name)
                        && tree.parent(usage).is_some_and(|operation| {
                            super::calls::sides(cx, operation, "/").is_some()
                        })
                });
            }
            _ => return false,
        }
        current = parent;
    }
    false
}
