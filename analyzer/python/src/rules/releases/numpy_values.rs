//! Expressions whose value is a scalar or an array of NumPy, such as the mean of a metric.

use crate::checker::PythonChecker;
use crate::rules::helpers::calls::{called, only_returned};
use crate::semantic::{Binding, Value};
use crate::syntax::{Field, Kind, Node};

/// NumPy's functions that return a scalar of NumPy, or an array.
const FUNCTIONS: [&str; 16] = [
    "mean",
    "nanmean",
    "sum",
    "nansum",
    "max",
    "nanmax",
    "min",
    "nanmin",
    "median",
    "nanmedian",
    "average",
    "std",
    "var",
    "percentile",
    "float32",
    "float64",
];

/// Steps from a name to the function that returns its value.
const STEPS: usize = 6;

/// Whether the value is one of NumPy in each case that can be followed: through names, returned values, `max` and arithmetic.
pub(super) fn is_of_numpy(cx: &PythonChecker<'_>, node: Node) -> bool {
    within(cx, node, STEPS)
}

fn within(cx: &PythonChecker<'_>, node: Node, steps: usize) -> bool {
    let tree = cx.tree();
    let node = tree.unparenthesized(node);
    if steps == 0 || !cx.may_look_at(1) {
        return false;
    }
    let any = |of: Node| tree.parts(of).any(|part| within(cx, part, steps - 1));
    match tree.kind(node) {
        Kind::BinaryOperator | Kind::ComparisonOperator => any(node),
        Kind::Identifier => assigned(cx, node, steps - 1),
        Kind::Call => match (called(cx, node), cx.callee(node)) {
            (name, Some(callee)) if callee.parts() == ["numpy", name] => FUNCTIONS.contains(&name),
            ("max" | "min", None) => tree.child(node, Field::Arguments).is_some_and(any),
            _ => returned(cx, node, None, steps - 1),
        },
        _ => false,
    }
}

/// The last value of a name. `best = checkpoint["best"]` says nothing about what is saved.
fn assigned(cx: &PythonChecker<'_>, name: Node, steps: usize) -> bool {
    let tree = cx.tree();
    let names = &cx.semantics.names;
    let Some((_, bindings)) = names.lookup(names.scope_of(name), tree.text(name)) else {
        return false;
    };
    // That of a `global` name, which other rules do not follow, is beside it.
    let value = |binding: Binding<'_>| match binding.value {
        Value::Unknown => {
            let assignment = tree.parent(binding.node)?;
            let value = tree.child(assignment, Field::Right)?;
            (tree.kind(assignment) == Kind::Assignment).then_some((value, None))
        }
        Value::Expression(value) => Some((value, None)),
        Value::Unpacked(call, index) => Some((call, Some(index))),
        _ => None,
    };
    let mut values = bindings.iter().rev().filter_map(value);
    match values.find(|(value, _)| tree.kind(*value) != Kind::Subscript) {
        Some((value, None)) => within(cx, value, steps),
        Some((call, index)) => returned(cx, call, index, steps),
        None => false,
    }
}

/// What a function of this file returns, or a part of the tuple.
fn returned(cx: &PythonChecker<'_>, call: Node, index: Option<usize>, steps: usize) -> bool {
    let tree = cx.tree();
    let Some(value) = only_returned(cx, call) else {
        return false;
    };
    let is_tuple = matches!(tree.kind(value), Kind::ExpressionList | Kind::Tuple);
    match index {
        Some(index) if is_tuple => tree
            .parts(value)
            .nth(index)
            .is_some_and(|part| within(cx, part, steps)),
        None if !is_tuple => within(cx, value, steps),
        _ => false,
    }
}
