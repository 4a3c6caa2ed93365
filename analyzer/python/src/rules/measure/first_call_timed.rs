//! HW804: compilation inside a measured time.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, function_around, has_text};
use crate::rules::helpers::modules::is_compiled;
use crate::rules::helpers::timing::{calls_between, region};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds timed regions that contain the first call of a function returned by `torch.compile`.
    ///
    /// ## Why on ROCm
    ///
    /// `torch.compile` returns immediately; the first call traces, compiles and, with `max-autotune`, benchmarks
    /// candidates, which takes seconds to minutes. If this time is included, the compiled model looks slower than
    /// eager, or slightly slower than it is when the time is averaged over many iterations. Compile time is a separate
    /// figure.
    ///
    /// ## Example
    ///
    /// ```python
    /// import time
    ///
    /// import torch
    ///
    /// model = torch.compile(torch.nn.Linear(8, 8))
    /// x = torch.randn(8, 8)
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
    /// model = torch.compile(torch.nn.Linear(8, 8))
    /// x = torch.randn(8, 8)
    /// model(x)
    ///
    /// start = time.perf_counter()
    /// y = model(x)
    /// elapsed = time.perf_counter() - start
    /// ```
    ///
    /// A region whose name refers to compilation (`compile_time`) or to the first call is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: an additional call may have side effects.
    ///
    /// ## References
    ///
    /// * [torch.compile tutorial](https://docs.pytorch.org/tutorials/intermediate/torch_compile_tutorial.html)
    "HW804" "first-call-timed" {
        title: "Compilation is timed with the work",
        family: Measuring,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every target",
        lesson: Some("baseline/honest-timing"),
        visit: [BinaryOperator, Call],
    }
}

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_text(cx, "torch") || !has_text(cx, "compile") {
        return;
    }
    let Some((start, end)) = region(cx, node) else {
        return;
    };
    if is_about_compiling(cx, node, start) {
        return;
    }
    let tree = cx.tree();
    for call in calls_between(cx, start, end) {
        let Some(function) = tree.child(call, Field::Function) else {
            continue;
        };
        if tree.kind(function) != Kind::Identifier || !is_compiled_name(cx, function) {
            continue;
        }
        let ran_before = cx
            .within(tree.root())
            .take_while(|other| *other < start)
            .any(|other| {
                tree.kind(other) == Kind::Call
                    && tree
                        .child(other, Field::Function)
                        .is_some_and(|called| tree.text(called) == tree.text(function))
            });
        if ran_before {
            continue;
        }
        cx.report(
            &RULE,
            call,
            format!(
                "This is the first call of {}: the time includes its compilation.",
                tree.text(function)
            ),
            RawFix::display_only("Call it once, and synchronize, before the clock starts"),
        );
        return;
    }
}

/// `model = torch.compile(…)`, or a function decorated with it.
fn is_compiled_name(cx: &PythonChecker<'_>, function: Node) -> bool {
    match cx.semantics.binding(function).map(|binding| binding.value) {
        Some(Value::Expression(made)) => {
            cx.callee(made).is_some_and(|name| name.is("torch.compile"))
        }
        Some(Value::Function(definition)) => is_compiled(cx, definition),
        _ => false,
    }
}

/// The region is meant to time compilation, or is timed repeatedly, and its first iteration may be dropped.
fn is_about_compiling(cx: &PythonChecker<'_>, node: Node, start: Node) -> bool {
    let tree = cx.tree();
    let statement = tree.statement(node);
    let text = tree.text(statement).to_ascii_lowercase();
    let begins = tree.text(tree.statement(start)).to_ascii_lowercase();
    let function = function_around(cx, node);
    contains_any(&text, &["compil", "first", "warm", "cold"])
        || contains_any(&begins, &["compil", "first", "warm", "cold"])
        || tree
            .ancestors(node)
            .take_while(|ancestor| Some(*ancestor) != function)
            .any(|ancestor| {
                matches!(
                    tree.kind(ancestor),
                    Kind::ForStatement | Kind::WhileStatement
                )
            })
}
