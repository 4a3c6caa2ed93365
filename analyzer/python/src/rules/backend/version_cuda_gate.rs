//! HW301: using `torch.version.cuda` to test whether there is a GPU.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    called, first, first_value, function_around, name_of, only_returned, values,
};
use crate::semantic::{follows_an_exit, names_rocm, string};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds conditions on `torch.version.cuda`, code that uses it as a string, and functions such as `is_nvidia()` that
    /// test it, where they choose between `"cuda"` and `"cpu"`. Also finds assertions and branches on `"+cu" in torch.__version__`:
    /// a ROCm build's version ends in `+rocm7.2`. Patterns for `torch.__version__` that match no such ending are found as well.
    ///
    /// ## Why on ROCm
    ///
    /// In a ROCm build of PyTorch, `torch.version.cuda` is `None` and the version is in `torch.version.hip`, while
    /// `torch.cuda` works as usual. A gate on `torch.version.cuda` therefore selects the path for machines without a
    /// GPU, and `torch.version.cuda.split(".")` raises `AttributeError`.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// if torch.version.cuda is not None:
    ///     torch.set_default_device("cuda")
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// if torch.version.cuda is not None or torch.version.hip is not None:
    ///     torch.set_default_device("cuda")
    /// ```
    ///
    /// If the condition only tests whether there is a GPU, `torch.cuda.is_available()` is shorter. If the branch is for
    /// NVIDIA only, check `torch.version.hip` as well: the rule does not report sources that do.
    /// `torch.cuda.is_available() and torch.version.cuda` tests for the vendor and is not reported either.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the branch now runs on ROCm too, and its code may be for NVIDIA only. Uses as a string are display-only.
    ///
    /// ## References
    ///
    /// * [HIP (ROCm) semantics: checking for HIP](https://docs.pytorch.org/docs/stable/notes/hip.html#checking-for-hip)
    "HW301" "version-cuda-gate" {
        title: "torch.version.cuda is None on ROCm",
        family: BackendCode,
        severity: Warning,
        also: [Error "where the version is parsed as a string"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/device-abstraction"),
        visit: [
            IfStatement, ElifClause, WhileStatement, AssertStatement, ConditionalExpression,
            NotOperator, BooleanOperator, ComparisonOperator, Call, Subscript,
        ],
    }
}

/// How many operators around a test count as part of its condition: `a and b and …` is nested.
const MAX_DEPTH: usize = 64;

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    match tree.kind(node) {
        Kind::IfStatement | Kind::ElifClause | Kind::WhileStatement => {
            if let Some(condition) = tree.child(node, Field::Condition) {
                truthiness(cx, condition);
            }
        }
        Kind::AssertStatement => {
            if let Some(condition) = tree.parts(node).next() {
                truthiness(cx, condition);
            }
        }
        Kind::ConditionalExpression => {
            let parts: Vec<_> = tree.parts(node).collect();
            if let [_, condition, other] = parts[..]
                && is_cuda_version(cx, condition)
                && cx.may_look_at(tree.size(other))
                && !names_other_vendor(tree.text(other))
            {
                truthiness(cx, condition);
            }
            chooses_device(cx, node);
        }
        Kind::NotOperator => {
            if let Some(operand) = tree.child(node, Field::Argument) {
                truthiness(cx, operand);
            }
        }
        // `torch.version.cuda or "none"` is text for people.
        Kind::BooleanOperator
            if tree
                .child(node, Field::Right)
                .is_some_and(|right| tree.kind(right) == Kind::String) => {}
        Kind::BooleanOperator => {
            for side in [Field::Left, Field::Right] {
                if let Some(operand) = tree.child(node, side) {
                    truthiness(cx, operand);
                }
            }
        }
        Kind::ComparisonOperator => comparison(cx, node),
        Kind::Subscript => {
            if let Some(value) = tree
                .child(node, Field::Value)
                .filter(|value| is_cuda_version(cx, *value))
            {
                as_text(cx, node, value);
            }
        }
        _ => call(cx, node),
    }
}

/// `"cuda" if is_nvidia() else "cpu"`, where the condition is `torch.version.cuda` behind a name or a function.
fn chooses_device(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let parts: Vec<_> = tree.parts(node).collect();
    let [yes, condition, no] = parts[..] else {
        return;
    };
    let is_device = |node: Node, device: &str| {
        let literal = match tree.kind(node) {
            // `torch.device("cuda")`
            Kind::Call if called(cx, node) == "device" => first_value(cx, node),
            _ => Some(node),
        };
        literal
            .and_then(|literal| string(&cx.semantics, literal))
            .is_some_and(|text| text.split(':').next() == Some(device))
    };
    let is_wrapped = match tree.kind(condition) {
        Kind::Identifier => true,
        Kind::Call => only_returned(cx, condition).is_some(),
        _ => false,
    };
    if !is_wrapped
        || is_cuda_version(cx, condition)
        || !is_device(yes, "cuda")
        || !is_device(no, "cpu")
        || cx.mentions_hip()
        || !tests_cuda_version(cx, condition)
    {
        return;
    }
    cx.report(
        &RULE,
        condition,
        "torch.version.cuda is None on ROCm, so this test is false and the CPU is used although the GPU works.",
        RawFix::display_only("Use torch.cuda.is_available()"),
    );
}

/// True for a name or a call whose value is `torch.version.cuda` or a test that it is not `None`.
fn tests_cuda_version(cx: &PythonChecker<'_>, condition: Node) -> bool {
    let tree = cx.tree();
    let value = only_returned(cx, condition).unwrap_or(condition);
    let value = cx.semantics.expression(value);
    match tree.kind(value) {
        Kind::ComparisonOperator => {
            let parts: Vec<_> = tree.parts(value).collect();
            matches!(parts[..], [left, operator, right]
                if is_cuda_version(cx, left)
                    && matches!(tree.kind(operator), Kind::IsNot | Kind::NotEqual)
                    && tree.kind(right) == Kind::None)
        }
        // `bool(torch.version.cuda)`
        Kind::Call if called(cx, value) == "bool" => values(cx, value)
            .first()
            .is_some_and(|value| is_cuda_version(cx, *value)),
        _ => is_cuda_version(cx, value),
    }
}

/// `ck.FwOp` of `cutlass.FwOp if torch.version.cuda else ck.FwOp`.
fn names_other_vendor(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| matches!(word, "ck" | "hip" | "rocm" | "amd" | "aiter" | "miopen"))
}

fn mentions_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_cuda_version(cx: &PythonChecker<'_>, node: Node) -> bool {
    matches!(
        cx.tree().kind(node),
        Kind::Attribute | Kind::Identifier | Kind::Call | Kind::ParenthesizedExpression
    ) && cx
        .resolve(node)
        .is_some_and(|name| name.is("torch.version.cuda"))
}

/// `if torch.version.cuda:`
fn truthiness(cx: &PythonChecker<'_>, operand: Node) {
    if !is_cuda_version(cx, operand)
        || deals_with_rocm(cx, operand)
        || checks_something_else(cx, operand, operand)
    {
        return;
    }
    let fix =
        hip_of(cx, operand).map(|hip| (format!("{} or {hip}", cx.tree().text(operand)), Kind::Or));
    gate(cx, operand, false, fix);
}

/// `torch.version.cuda is not None`, `torch.version.cuda >= "12"`
fn comparison(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let parts: Vec<_> = tree.parts(node).collect();
    let [left, operator, right] = parts[..] else {
        return;
    };
    let Some(subject) = [left, right]
        .into_iter()
        .find(|side| is_cuda_version(cx, *side))
    else {
        return;
    };
    let operator = tree.kind(operator);
    if operator.is_ordering() {
        as_text(cx, node, subject);
        return;
    }
    if deals_with_rocm(cx, node) || checks_something_else(cx, node, subject) {
        return;
    }
    let with_none = tree.kind(right) == Kind::None;
    let hip = hip_of(cx, subject).filter(|_| with_none);
    let text = tree.text(subject);
    match operator {
        Kind::IsNot | Kind::NotEqual if with_none => {
            gate(
                cx,
                node,
                false,
                hip.map(|hip| (format!("{text} is not None or {hip} is not None"), Kind::Or)),
            );
        }
        Kind::Is | Kind::Equal if with_none => {
            gate(
                cx,
                node,
                true,
                hip.map(|hip| (format!("{text} is None and {hip} is None"), Kind::And)),
            );
        }
        Kind::NotEqual | Kind::NotIn => gate(cx, node, true, None),
        // A test for one CUDA release is correctly false.
        _ if !with_none && mentions_digit(tree.text(node)) => {}
        _ => gate(cx, node, false, None),
    }
}

/// `torch.version.cuda.split(".")`, `Version(torch.version.cuda)`
fn call(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(function) = tree.child(node, Field::Function) else {
        return;
    };
    if let Some(object) = tree.child(function, Field::Object)
        && let Some(version) = version_or_default(cx, object)
    {
        as_text(cx, node, version);
        return;
    }
    let last = tree.text(tree.child(function, Field::Attribute).unwrap_or(function));
    let Some(argument) = first(cx, node) else {
        return;
    };
    match last {
        "bool" => truthiness(cx, argument),
        "Version" | "LooseVersion" | "StrictVersion" | "parse" | "float" | "int"
            if is_cuda_version(cx, argument) =>
        {
            as_text(cx, node, argument);
        }
        _ => {}
    }
}

/// `torch.version.cuda`, also as the default of `os.environ.get("CUDA_VERSION", torch.version.cuda)`.
fn version_or_default(cx: &PythonChecker<'_>, node: Node) -> Option<Node> {
    if is_cuda_version(cx, node) {
        return Some(node);
    }
    cx.callee(node)
        .filter(|function| function.is_any(&["os.environ.get", "os.getenv"]))?;
    let default = values(cx, node).get(1).copied();
    default.filter(|default| is_cuda_version(cx, *default))
}

/// The outermost operator whose result depends on `node`, including comparisons if `compares`.
fn condition_around(cx: &PythonChecker<'_>, node: Node, compares: bool) -> Option<Node> {
    let tree = cx.tree();
    tree.ancestors(node)
        .take(MAX_DEPTH)
        .take_while(|ancestor| match tree.kind(*ancestor) {
            Kind::BooleanOperator
            | Kind::NotOperator
            | Kind::ParenthesizedExpression
            | Kind::ConditionalExpression => true,
            Kind::ComparisonOperator => compares,
            _ => false,
        })
        .last()
}

/// True if the condition is not whether there is a GPU:
/// `torch.version.cuda and int(torch.version.cuda.split(".")[0]) >= 12` tests CUDA's version, and
/// `torch.cuda.is_available() and torch.version.cuda`, or a capability next to it, tests the vendor.
fn checks_something_else(cx: &PythonChecker<'_>, node: Node, subject: Node) -> bool {
    let tree = cx.tree();
    let whole = condition_around(cx, node, false);
    let text = tree.text(subject);
    whole.is_some_and(|whole| {
        cx.within(whole)
            .filter(|part| !tree.contains(node, *part))
            .any(|part| match tree.kind(part) {
                Kind::Identifier => {
                    tree.text(part) == text
                        || matches!(
                            tree.text(part),
                            "is_available" | "is_cuda" | "get_device_capability"
                        )
                }
                Kind::Attribute => tree.text(part) == text,
                // `x.device.type == "cuda" and torch.version.cuda`
                Kind::ComparisonOperator => tree
                    .parts(part)
                    .any(|side| string(&cx.semantics, side) == Some("cuda")),
                _ => false,
            })
    }) || body_uses(cx, whole.unwrap_or(node), text)
}

/// `if version is not None: major = version.split(".")[0]`: the code behind the test uses the version, and not only in the message of an
/// exception.
fn body_uses(cx: &PythonChecker<'_>, condition: Node, text: &str) -> bool {
    let tree = cx.tree();
    tree.parent(condition)
        .filter(|_| tree.field(condition) == Field::Condition)
        .and_then(|statement| tree.child(statement, Field::Consequence))
        .is_some_and(|body| {
            cx.any_within(body, &|part| {
                matches!(tree.kind(part), Kind::Identifier | Kind::Attribute)
                    && tree.text(part) == text
                    && !tree
                        .ancestors(part)
                        .take_while(|around| *around != body)
                        .any(|around| tree.kind(around) == Kind::RaiseStatement)
            })
        })
}

fn gate(cx: &PythonChecker<'_>, node: Node, on_rocm: bool, fix: Option<(String, Kind)>) {
    // `def is_nvidia(): return torch.version.cuda is not None` is correct as written.
    if function_around(cx, node).is_some_and(|function| name_of(cx, function).contains("nvidia")) {
        return;
    }
    let answer = if on_rocm { "true" } else { "false" };
    let title = "Include ROCm builds";
    // `CUDA_HOME is None or torch.version.cuda is None` stays true on ROCm.
    let needs_toolkit = || {
        let toolkit = "torch.utils.cpp_extension.CUDA_HOME";
        let whole = condition_around(cx, node, true).unwrap_or(node);
        let mut parts = cx.within(whole);
        parts.any(|part| cx.resolve(part).is_some_and(|name| name.is(toolkit)))
    };
    let fix = match fix.filter(|_| !needs_toolkit()) {
        Some((text, operator)) => {
            let text = if stands_alone(cx, node, operator) {
                text
            } else {
                format!("({text})")
            };
            RawFix::unsafe_edits(title, vec![(cx.tree().span(node), text)])
        }
        None => {
            RawFix::display_only("Check torch.version.hip as well, or torch.cuda.is_available()")
        }
    };
    cx.report(
        &RULE,
        node,
        format!(
            "torch.version.cuda is None on ROCm, so this test is {answer} although the GPU works."
        ),
        fix,
    );
}

fn as_text(cx: &PythonChecker<'_>, node: Node, subject: Node) {
    // After a test of the value (`if torch.version.cuda:` …, `torch.version.cuda and …`) nothing is reported: the code
    // does not run on a ROCm host.
    if follows_an_exit(&cx.semantics, node) {
        return;
    }
    cx.report_as(
        &RULE,
        Severity::Error,
        node,
        format!(
            "{} is None on ROCm, so using it as a version string raises.",
            cx.tree().text(subject)
        ),
        RawFix::display_only("Do this only if torch.version.hip is None"),
    );
}

/// True if the source, or the condition around `node`, also checks for ROCm.
fn deals_with_rocm(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let whole = condition_around(cx, node, true).unwrap_or(node);
    cx.mentions_hip() || !cx.may_look_at(tree.size(whole)) || names_rocm(&cx.semantics, whole)
}

/// `torch.version.hip`, written in the same way as `torch.version.cuda` in the source.
fn hip_of(cx: &PythonChecker<'_>, node: Node) -> Option<String> {
    let tree = cx.tree();
    let prefix = tree.text(node).strip_suffix("cuda")?;
    (tree.kind(node) == Kind::Attribute).then(|| format!("{prefix}hip"))
}

/// True if `a or b` (or `and`) needs no parentheses in place of `node`.
fn stands_alone(cx: &PythonChecker<'_>, node: Node, operator: Kind) -> bool {
    let tree = cx.tree();
    let Some(parent) = tree.parent(node) else {
        return true;
    };
    match tree.kind(parent) {
        Kind::NotOperator | Kind::ComparisonOperator => false,
        Kind::BooleanOperator => tree
            .child(parent, Field::Operator)
            .is_some_and(|outer| tree.kind(outer) == operator),
        Kind::ConditionalExpression => tree.parts(parent).nth(1) == Some(node),
        _ => true,
    }
}
