//! Shared helpers for Triton rules: kernels, their launches and configurations.

use super::calls::{argument, called, decorators, function_around, has_text, keyword, name_of};
use crate::checker::PythonChecker;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

/// True for a function that Triton compiles.
pub(crate) fn is_kernel(cx: &PythonChecker<'_>, function: Node) -> bool {
    decorators(cx, function).into_iter().any(|decorator| {
        let tree = cx.tree();
        let name = tree.child(decorator, Field::Function).unwrap_or(decorator);
        cx.resolve(name).is_some_and(|name| {
            name.root() == "triton" && matches!(name.last(), "jit" | "autotune" | "heuristics")
        })
    })
}

/// The kernel that contains `node`.
pub(crate) fn kernel_around(cx: &PythonChecker<'_>, node: Node) -> Option<Node> {
    if !has_text(cx, "triton") {
        return None;
    }
    function_around(cx, node).filter(|function| is_kernel(cx, *function))
}

/// True if `call` calls the function `name` of `triton.language`.
pub(crate) fn is_tl(cx: &PythonChecker<'_>, call: Node, name: &str) -> bool {
    cx.tree().kind(call) == Kind::Call
        && called(cx, call) == name
        && cx
            .callee(call)
            .is_some_and(|callee| callee.is_in("triton.language"))
}

/// The calls `kernel[grid](…)` of the source.
pub(crate) fn launches(cx: &PythonChecker<'_>) -> std::rc::Rc<[Node]> {
    let tree = cx.tree();
    cx.once("launches", || {
        if !has_text(cx, "triton") {
            return Vec::new();
        }
        tree.nodes()
            .filter(|node| tree.kind(*node) == Kind::Call && launched(cx, *node).is_some())
            .collect()
    })
}

/// The kernel of this source that `call` launches.
pub(crate) fn launched(cx: &PythonChecker<'_>, call: Node) -> Option<Node> {
    let tree = cx.tree();
    let function = tree.child(call, Field::Function)?;
    if tree.kind(function) != Kind::Subscript {
        return None;
    }
    let name = tree.child(function, Field::Value)?;
    match cx.semantics.binding(name)?.value {
        Value::Function(kernel) if is_kernel(cx, kernel) => Some(kernel),
        _ => None,
    }
}

/// The name nodes of a kernel's parameters.
pub(crate) fn parameters(cx: &PythonChecker<'_>, kernel: Node) -> Vec<Node> {
    let tree = cx.tree();
    tree.child(kernel, Field::Parameters)
        .map(|list| {
            tree.parts(list)
                .filter_map(|parameter| match tree.kind(parameter) {
                    Kind::Identifier => Some(parameter),
                    Kind::TypedParameter => tree.parts(parameter).next(),
                    _ => tree.child(parameter, Field::Name),
                })
                .collect()
        })
        .unwrap_or_default()
}

/// The value that `launch` passes for the parameter `name` of `kernel`.
pub(crate) fn given(
    cx: &PythonChecker<'_>,
    kernel: Node,
    launch: Node,
    name: &str,
) -> Option<Node> {
    let position = parameters(cx, kernel)
        .iter()
        .position(|parameter| cx.tree().text(*parameter) == name)?;
    argument(cx, launch, position, name)
}

/// The integers that the source sets for the compile-time parameter `name` of `kernel`: in launches, in its
/// `triton.Config`s, as its default.
pub(crate) fn constants(cx: &PythonChecker<'_>, kernel: Node, name: &str) -> Vec<(Node, i64)> {
    let tree = cx.tree();
    let mut given_values: Vec<Node> = launches(cx)
        .iter()
        .filter(|launch| launched(cx, **launch) == Some(kernel))
        .filter_map(|launch| given(cx, kernel, *launch, name))
        .collect();
    for decorator in decorators(cx, kernel) {
        given_values.extend(
            cx.within(decorator)
                .filter(|node| tree.kind(*node) == Kind::Pair)
                .filter(|pair| {
                    tree.child(*pair, Field::Key).is_some_and(|key| {
                        crate::semantic::string(&cx.semantics, key) == Some(name)
                    })
                })
                .filter_map(|pair| tree.child(pair, Field::Value)),
        );
    }
    given_values
        .into_iter()
        .filter_map(|value| Some((value, crate::semantic::integer(&cx.semantics, value)?)))
        .collect()
}

/// True if `call` is a launch, or creates a `triton.Config`.
pub(crate) fn takes_launch_options(cx: &PythonChecker<'_>, call: Node) -> bool {
    let tree = cx.tree();
    if tree.kind(call) != Kind::Call {
        return false;
    }
    let is_subscript = tree
        .child(call, Field::Function)
        .is_some_and(|function| tree.kind(function) == Kind::Subscript);
    is_subscript
        || cx
            .callee(call)
            .is_some_and(|name| name.root() == "triton" && name.last() == "Config")
}

/// True for code with a name that refers to one NVIDIA architecture: `get_cuda_autotune_config`, `_hopper_configs`.
pub(crate) fn is_named_after_nvidia(cx: &PythonChecker<'_>, node: Node) -> bool {
    const SIGNS: &[&str] = &[
        "cuda",
        "nvidia",
        "hopper",
        "blackwell",
        "ampere",
        "h100",
        "a100",
        "h200",
        "b200",
        "sm80",
        "sm90",
        "sm100",
        "ptx",
    ];
    let tree = cx.tree();
    // "softmax" contains "tma", so short names have to match whole words.
    let is_nvidias = |name: &str| {
        super::calls::contains_any(&name.to_ascii_lowercase(), SIGNS)
            || has_word(name, &["sm", "tma"])
    };
    tree.ancestors(node)
        .any(|ancestor| match tree.kind(ancestor) {
            Kind::FunctionDefinition | Kind::ClassDefinition => is_nvidias(name_of(cx, ancestor)),
            Kind::Assignment => tree
                .child(ancestor, Field::Left)
                .is_some_and(|left| is_nvidias(tree.text(left))),
            _ => false,
        })
}

/// True if one of `words` is a word of a text or a name: `npu` in `is_npu(x)`, not in `input`.
fn has_word(text: &str, words: &[&str]) -> bool {
    text.to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| words.contains(&word))
}

/// The pointer of a `tl.load` or `tl.store`.
pub(crate) fn pointer(cx: &PythonChecker<'_>, access: Node) -> Option<Node> {
    argument(cx, access, 0, "pointer")
}

/// The mask of a `tl.load` or `tl.store`.
pub(crate) fn mask(cx: &PythonChecker<'_>, access: Node) -> Option<Node> {
    let position = if called(cx, access) == "store" { 2 } else { 1 };
    argument(cx, access, position, "mask").or_else(|| keyword(cx, access, "boundary_check"))
}

/// True for a branch or a source for another vendor's Triton: Intel's, Huawei's, Moore Threads'.
pub(crate) fn is_for_other_vendor(cx: &PythonChecker<'_>, node: Node) -> bool {
    const VENDORS: &[&str] = &["xpu", "npu", "musa", "hpu", "gaudi", "ascend", "mlu"];
    if has_text(cx, "ascend") || has_text(cx, "Ascend") || has_text(cx, "MUSA") {
        return true;
    }
    let tree = cx.tree();
    let mut child = node;
    for ancestor in tree.ancestors(node) {
        let condition = match tree.kind(ancestor) {
            Kind::IfStatement | Kind::ElifClause if tree.field(child) == Field::Consequence => {
                tree.child(ancestor, Field::Condition)
            }
            Kind::ConditionalExpression if tree.parts(ancestor).next() == Some(child) => {
                tree.parts(ancestor).nth(1)
            }
            _ => None,
        };
        if condition.is_some_and(|condition| has_word(tree.text(condition), VENDORS)) {
            return true;
        }
        child = ancestor;
    }
    false
}
