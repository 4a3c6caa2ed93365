//! Shared helpers for PyTorch rules: code in `forward`, compiled code, tensors, reference implementations.

use super::calls::{
    called, class_of, contains_any, decorators, earlier, first_value, function_around,
    is_within_name, keyword, name_of, own_attribute, receiver, values,
};
use crate::checker::PythonChecker;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::words::listed;

const MAX_DEPTH: u8 = 6;

/// The `forward` of a module in which `node` runs.
///
/// A base class in another file is not available, so the check uses the form of the code: a method called `forward`
/// with the parameter `self`, in a class with a base. The `forward` of an `autograd.Function` has the parameter `ctx`.
pub(crate) fn forward_around(cx: &PythonChecker<'_>, node: Node) -> Option<Node> {
    if !super::calls::has_text(cx, "torch") {
        return None;
    }
    let function = function_around(cx, node)?;
    (name_of(cx, function) == "forward" && is_method_of_derived_class(cx, function))
        .then_some(function)
}

fn is_method_of_derived_class(cx: &PythonChecker<'_>, function: Node) -> bool {
    let tree = cx.tree();
    let takes_self = tree
        .child(function, Field::Parameters)
        .and_then(|parameters| tree.parts(parameters).next())
        .is_some_and(|first| tree.text(first) == "self");
    takes_self
        && class_of(cx, function)
            .is_some_and(|class| tree.child(class, Field::Superclasses).is_some())
}

/// True if Dynamo traces `function`: it is decorated with or passed to `torch.compile`, or it is the `forward` of a
/// module in a source that compiles one.
pub(crate) fn is_compiled(cx: &PythonChecker<'_>, function: Node) -> bool {
    let tree = cx.tree();
    if !super::calls::has_text(cx, "torch") {
        return false;
    }
    let decorated = decorators(cx, function);
    if decorated
        .iter()
        .any(|decorator| is_torch_compile(cx, *decorator))
    {
        return true;
    }
    if decorated
        .iter()
        .any(|decorator| contains_any(tree.text(*decorator), &["disable", "ignore"]))
    {
        return false;
    }
    let is_forward = name_of(cx, function) == "forward" && is_method_of_derived_class(cx, function);
    if is_forward && has_snippet_contract(cx) {
        return true;
    }
    let compiled = cx.once("compiled", || compiled_expressions(cx));
    compiled.iter().any(|argument| {
        let argument = tree.unparenthesized(*argument);
        let is_function = tree.kind(argument) == Kind::Identifier
            && cx
                .semantics
                .binding(argument)
                .is_some_and(|binding| matches!(binding.value, Value::Function(_)));
        if is_function {
            tree.text(argument) == name_of(cx, function) && class_of(cx, function).is_none()
        } else {
            // A module, built from any class of this source; or `self.step`, by its name.
            match tree.child(argument, Field::Attribute) {
                Some(method) if tree.text(method) == name_of(cx, function) => true,
                _ => is_forward,
            }
        }
    })
}

/// The argument of `torch.compile`, as `torch.compile(x)` or `x.compile()`.
fn compiled_expressions(cx: &PythonChecker<'_>) -> Vec<Node> {
    let tree = cx.tree();
    let mut found = Vec::new();
    for call in tree
        .nodes()
        .filter(|node| tree.kind(*node) == Kind::Call && called(cx, *node) == "compile")
    {
        let resolved = cx.callee(call);
        if resolved.is_some_and(|name| name.is("torch.compile")) {
            let first = super::calls::arguments(cx, call).into_iter().next();
            found.extend(first.filter(|first| tree.kind(*first) != Kind::KeywordArgument));
        } else if resolved.is_none() && values(cx, call).is_empty() {
            // `re.compile` and `builtins.compile` take an argument.
            found.extend(receiver(cx, call));
        }
    }
    found
}

fn is_torch_compile(cx: &PythonChecker<'_>, decorator: Node) -> bool {
    let is = |node: Node| {
        cx.resolve(node)
            .is_some_and(|name| name.is("torch.compile"))
    };
    match cx.tree().kind(decorator) {
        Kind::Call => {
            cx.callee(decorator)
                .is_some_and(|name| name.is("torch.compile"))
                || first_value(cx, decorator).is_some_and(is)
        }
        _ => is(decorator),
    }
}

/// True for a source that the benchmark compiles: `Model` with `get_inputs`.
fn has_snippet_contract(cx: &PythonChecker<'_>) -> bool {
    let names = &cx.semantics.names;
    let has = |name: &str| !names.at_top_level(name).is_empty();
    has("Model") && has("get_inputs")
}

/// True if a condition around `node`, inside its function, excludes compiled or production code:
/// `if not torch.compiler.is_compiling()`, `if self.debug`.
pub(crate) fn is_guarded_off(cx: &PythonChecker<'_>, node: Node) -> bool {
    const SIGNS: &[&str] = &[
        "is_compiling",
        "is_tracing",
        "is_torchdynamo",
        "is_dynamo",
        "is_scripting",
        "is_exporting",
        "is_in_onnx",
        "debug",
        "DEBUG",
        "verbose",
        "isEnabledFor",
        "is_cpu",
    ];
    let tree = cx.tree();
    tree.ancestors(node)
        .take_while(|ancestor| tree.kind(*ancestor) != Kind::FunctionDefinition)
        .any(|ancestor| match tree.kind(ancestor) {
            Kind::IfStatement
            | Kind::ElifClause
            | Kind::ConditionalExpression
            | Kind::BooleanOperator => tree
                .child(ancestor, Field::Condition)
                .or(Some(ancestor))
                .is_some_and(|condition| {
                    contains_any(
                        tree.text(condition)
                            .get(..200)
                            .unwrap_or(tree.text(condition)),
                        SIGNS,
                    )
                }),
            // An `except` block is not the usual path.
            Kind::ExceptClause | Kind::RaiseStatement => true,
            _ => false,
        })
}

/// True for a reference implementation or a fallback: `eager_attention_forward`, `class RefNorm`.
pub(crate) fn is_reference(cx: &PythonChecker<'_>, node: Node) -> bool {
    const SIGNS: &[&str] = &[
        "native",
        "eager",
        "naive",
        "reference",
        "fallback",
        "vanilla",
        "baseline",
        "slow",
        "manual",
        "unfused",
        "decomp",
        "golden",
        "test",
    ];
    is_within_name(cx, node, &|name| {
        contains_any(name, SIGNS)
            || name
                .split('_')
                .any(|word| matches!(word, "ref" | "torch" | "pytorch" | "py"))
    })
}

/// True if the expression at `node` is a tensor, as far as the source shows.
pub(crate) fn is_tensor(cx: &PythonChecker<'_>, node: Node) -> bool {
    is_tensor_within(cx, node, MAX_DEPTH)
}

fn is_tensor_within(cx: &PythonChecker<'_>, node: Node, depth: u8) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let tree = cx.tree();
    let node = tree.unparenthesized(node);
    let child = |field| {
        tree.child(node, field)
            .is_some_and(|child| is_tensor_within(cx, child, depth))
    };
    match tree.kind(node) {
        Kind::Identifier => match cx.semantics.binding(node).map(|binding| binding.value) {
            Some(Value::Expression(value)) => is_tensor_within(cx, value, depth),
            Some(Value::Parameter(_)) => is_tensor_parameter(cx, node),
            Some(_) => false,
            // Assigned again in a branch: the earlier value is enough.
            None => {
                is_tensor_parameter(cx, node)
                    || earlier(cx, node)
                        .first()
                        .is_some_and(|first| is_tensor_within(cx, *first, depth))
            }
        },
        Kind::ComparisonOperator => tree
            .parts(node)
            .next()
            .is_some_and(|left| is_tensor_within(cx, left, depth)),
        Kind::Call => is_tensor_call(cx, node, depth),
        Kind::BinaryOperator => child(Field::Left) || child(Field::Right),
        Kind::UnaryOperator => child(Field::Argument),
        Kind::Subscript => child(Field::Value),
        Kind::Attribute => {
            tree.child(node, Field::Attribute)
                .is_some_and(|name| matches!(tree.text(name), "T" | "mT" | "data" | "grad"))
                && child(Field::Object)
        }
        _ => false,
    }
}

fn is_tensor_call(cx: &PythonChecker<'_>, call: Node, depth: u8) -> bool {
    const NOT_TENSORS: &str = "size dim item tolist numpy numel stride data_ptr is_contiguous element_size get_device is_tensor \
        is_floating_point device dtype finfo iinfo Size get_default_dtype is_grad_enabled broadcast_shapes \
        compile split chunk unbind shape Generator no_grad autocast device_count is_available manual_seed \
        promote_types result_type ndimension nelement is_complex save load";
    let last = called(cx, call);
    if listed(NOT_TENSORS, last) {
        return false;
    }
    if let Some(name) = cx.callee(call) {
        return name.is_in("torch.nn.functional")
            || name.root() == "torch"
                && name.parts().len() == 2
                && last.starts_with(|c: char| c.is_ascii_lowercase());
    }
    let tensor = |node: Node| is_tensor_within(cx, node, depth);
    match receiver(cx, call) {
        // `self.layer(x)`: a call of a module with a tensor.
        Some(object) if cx.tree().text(object) == "self" => {
            first_value(cx, call).is_some_and(tensor)
        }
        Some(object) => tensor(object),
        None => false,
    }
}

/// A parameter annotated as a tensor, or a parameter of a `forward` without annotation.
fn is_tensor_parameter(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let Some(parameter) = names
        .lookup(names.scope_of(node), tree.text(node))
        .and_then(|(_, bindings)| bindings.iter().next())
        .filter(|first| matches!(first.value, Value::Parameter(_)))
        .map(|first| first.node)
    else {
        return false;
    };
    let Some(parent) = tree.parent(parameter) else {
        return false;
    };
    match tree.kind(parent) {
        Kind::TypedParameter | Kind::TypedDefaultParameter => tree
            .parts(parent)
            .find(|part| tree.kind(*part) == Kind::Type)
            .is_some_and(|annotation| {
                let text = tree.text(annotation);
                text.ends_with("Tensor") && !text.contains(['[', '|'])
            }),
        Kind::Parameters => {
            forward_around(cx, node).is_some()
                && matches!(
                    tree.text(parameter),
                    "x" | "q"
                        | "k"
                        | "v"
                        | "input"
                        | "inputs"
                        | "hidden"
                        | "hidden_states"
                        | "input_ids"
                        | "tensor"
                        | "attention_mask"
                )
        }
        _ => false,
    }
}

/// `torch.randint(0, n, (1,))`, directly or through a name: without a device it is on the CPU.
pub(crate) fn is_made_on_host(cx: &PythonChecker<'_>, node: Node) -> bool {
    let call = cx.semantics.expression(node);
    matches!(
        called(cx, call),
        "rand" | "randn" | "randint" | "randperm" | "tensor" | "arange"
    ) && keyword(cx, call, "device").is_none()
        && cx.callee(call).is_some_and(|name| name.root() == "torch")
}

/// The condition uses the truth value of a tensor: `mask.any()`, `not torch.isnan(x).all()`, `x.sum() > 0`.
pub(crate) fn tests_a_tensor(cx: &PythonChecker<'_>, condition: Node) -> bool {
    const REDUCTIONS: &[&str] = &["any", "all", "sum", "max", "min", "mean", "norm", "item"];
    let tree = cx.tree();
    let mut rest = vec![condition];
    while let Some(node) = rest.pop() {
        let node = tree.unparenthesized(node);
        match tree.kind(node) {
            Kind::ComparisonOperator => {
                let parts: Vec<_> = tree.parts(node).collect();
                // `time < 1.0` where time is a tensor; `x is None` and `mode == "train"` do not read a tensor.
                if let [left, operator, right] = parts[..]
                    && tree.kind(operator).is_ordering()
                    && [left, right]
                        .into_iter()
                        .any(|side| is_tensor(cx, side) && !is_made_on_host(cx, side))
                {
                    return true;
                }
                rest.extend(parts);
            }
            Kind::NotOperator | Kind::BooleanOperator | Kind::BinaryOperator => {
                rest.extend(tree.parts(node));
            }
            Kind::Call => {
                let last = called(cx, node);
                let is_torch = cx.callee(node).is_some_and(|name| {
                    name.is_any(&[
                        "torch.any",
                        "torch.all",
                        "torch.allclose",
                        "torch.equal",
                        "torch.sum",
                        "torch.max",
                        "torch.min",
                    ])
                });
                let is_method = REDUCTIONS.contains(&last)
                    && receiver(cx, node).is_some_and(|object| is_tensor(cx, object));
                if is_torch || is_method {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The `torch.nn.Linear` that a class stores as `self.name`: the attribute that is assigned, and the call.
pub(crate) fn linear<'a>(cx: &PythonChecker<'a>, class: Node, name: &str) -> Option<(Node, Node)> {
    let tree = cx.tree();
    cx.within(class)
        .filter(|node| tree.kind(*node) == Kind::Assignment)
        .find_map(|assignment| {
            let attribute = tree.child(assignment, Field::Left)?;
            let made = tree.child(assignment, Field::Right)?;
            (own_attribute(cx, attribute)? == name && cx.callee(made)?.is("torch.nn.Linear"))
                .then_some((attribute, made))
        })
}

/// True if the source already contains a path with PyTorch's or a library's fused attention.
pub(crate) fn has_fused_attention(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .find(|node| {
                tree.kind(*node) == Kind::Identifier
                    && contains_any(
                        tree.text(*node),
                        &[
                            "scaled_dot_product_attention",
                            "sdpa",
                            "flash_attn",
                            "flash_attention",
                            "flex_attention",
                            "memory_efficient_attention",
                            "ALL_ATTENTION_FUNCTIONS",
                            "attention_interface",
                        ],
                    )
            })
            .into_iter()
            .collect()
    };
    !cx.once("fused attention", find).is_empty()
}

/// True in a class that a kernel of the `kernels` package replaces: `@use_kernel_forward_from_hub("RMSNorm")`.
pub(crate) fn has_kernel(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .filter(|ancestor| {
            matches!(
                tree.kind(*ancestor),
                Kind::FunctionDefinition | Kind::ClassDefinition
            )
        })
        .flat_map(|definition| decorators(cx, definition))
        .any(|decorator| tree.text(decorator).starts_with("use_kernel"))
}
