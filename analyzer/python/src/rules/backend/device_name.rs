//! HW306: testing a GPU's name for NVIDIA's products.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, decides_a_skip, only_returned};
use crate::semantic::{Value, string};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds tests of `torch.cuda.get_device_name()`, of a device's `name`, or of a parameter such as `device_name`, for
    /// "H100", "A100", "NVIDIA" and other products.
    ///
    /// ## Why on ROCm
    ///
    /// An AMD GPU has a name such as "AMD Instinct MI300X", so the test always fails. The code then takes the branch
    /// for an unknown or small GPU: a slow path, a small batch, or an error about missing support.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// use_fp8 = "H100" in torch.cuda.get_device_name()
    /// ```
    ///
    /// ## Use instead
    ///
    /// Test for the feature, or for AMD's products as well:
    ///
    /// ```python
    /// import torch
    ///
    /// name = torch.cuda.get_device_name()
    /// use_fp8 = "H100" in name or "MI300" in name
    /// ```
    ///
    /// On ROCm the architecture is more reliable than the name: `torch.cuda.get_device_properties(0).gcnArchName`. A
    /// source that compares a value with names of AMD products, or has them in a table, is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to decide which AMD GPUs the test should accept.
    ///
    /// ## References
    ///
    /// * [torch.cuda.get_device_name](https://docs.pytorch.org/docs/stable/generated/torch.cuda.get_device_name.html)
    "HW306" "device-name" {
        title: "No AMD GPU has an NVIDIA product's name",
        family: BackendCode,
        severity: Warning,
        also: [
            Info "in a condition that skips a test, and after the first of several tests",
        ],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/nvidia-gates"),
        visit: [ComparisonOperator, Call],
    }
}
/// Data-center products. A test for an old or a consumer card is right to fail on an AMD GPU.
const PRODUCTS: &str = "nvidia a100 a800 h100 h800 h20 h200 gh200 b100 b200 gb200 b300 gb300 l40 l40s hopper blackwell";

/// Substrings of AMD product names.
const PRODUCTS_OF_AMD: &[&str] = &["mi2", "mi3", "instinct", "radeon", "gfx9", "gfx1"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let (subject, words) = match tree.kind(node) {
        Kind::ComparisonOperator => {
            let parts: Vec<_> = tree.parts(node).collect();
            let [left, operator, right] = parts[..] else {
                return;
            };
            match tree.kind(operator) {
                Kind::In | Kind::NotIn => (right, left),
                Kind::Equal | Kind::NotEqual => (left, right),
                _ => return,
            }
        }
        // `name.startswith("NVIDIA")`
        _ => {
            let Some((subject, word)) = starts_with(cx, node) else {
                return;
            };
            (subject, word)
        }
    };
    let is_product = |word: &&str| {
        let lower = word.to_ascii_lowercase();
        lower
            .split([' ', '-', '_'])
            .any(|part| listed(PRODUCTS, part))
    };
    let word = string(&cx.semantics, words)
        .or_else(|| {
            tree.parts(iterated(cx, words)?)
                .filter_map(|item| string(&cx.semantics, item))
                .find(is_product)
        })
        .filter(is_product);
    if let Some(word) = word
        && is_device_name(cx, subject)
        && !knows_amd(cx)
        && !asserts_another_device(cx, node)
    {
        // A skipped test breaks nothing, and the first test of a chain is reported for all of them.
        let severity = if decides_a_skip(cx, node) || is_further_branch(cx, node) {
            Severity::Info
        } else {
            Severity::Warning
        };
        cx.report_as(
            &RULE,
            severity,
            node,
            format!("On ROCm the device's name is such as \"AMD Instinct MI300X\": no device is called \"{word}\"."),
            RawFix::display_only("Test for the feature, or for AMD's products as well"),
        );
    }
}

/// The tuple of `any(word in name for word in ("A100", "H100"))`.
fn iterated(cx: &PythonChecker<'_>, word: Node) -> Option<Node> {
    let tree = cx.tree();
    let generator = tree.ancestors(word).nth(1)?;
    let clause = tree
        .parts(generator)
        .find(|part| tree.kind(*part) == Kind::ForInClause)?;
    (tree.text(tree.child(clause, Field::Left)?) == tree.text(word))
        .then(|| tree.child(clause, Field::Right))
        .flatten()
        .map(|list| cx.semantics.expression(list))
}

/// `assert "A100" not in name`, `assert not ("A100" in name)`: true on every AMD GPU.
fn asserts_another_device(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let is_negated = |kind| matches!(kind, Kind::NotIn | Kind::NotEqual);
    let mut differs = tree.parts(node).any(|part| is_negated(tree.kind(part)));
    for around in tree.ancestors(node) {
        match tree.kind(around) {
            Kind::ParenthesizedExpression => {}
            Kind::NotOperator => differs = !differs,
            Kind::AssertStatement => return differs,
            _ => return false,
        }
    }
    false
}

/// `elif "A100" in name:`, or the second of `"H100" in name or "H800" in name`
fn is_further_branch(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let is_second = tree.field(node) == Field::Right
        && tree
            .parent(node)
            .is_some_and(|parent| tree.kind(parent) == Kind::BooleanOperator);
    is_second
        || tree
            .ancestors(node)
            .take_while(|ancestor| tree.kind(*ancestor) != Kind::Block)
            .any(|ancestor| tree.kind(ancestor) == Kind::ElifClause)
}

fn starts_with(cx: &PythonChecker<'_>, call: Node) -> Option<(Node, Node)> {
    let tree = cx.tree();
    let function = tree.child(call, Field::Function)?;
    let method = tree.text(tree.child(function, Field::Attribute)?);
    matches!(method, "startswith" | "endswith").then_some(())?;
    let word = tree.parts(tree.child(call, Field::Arguments)?).next()?;
    Some((tree.child(function, Field::Object)?, word))
}

/// Parameters that contain a device's name, and its properties.
const NAMES: &[&str] = &[
    "device_name",
    "gpu_name",
    "cuda_device_name",
    "gpu_device_name",
];
const PROPERTIES: &[&str] = &[
    "device_properties",
    "device_props",
    "gpu_properties",
    "gpu_props",
];

fn is_named_parameter(cx: &PythonChecker<'_>, node: Node, names: &[&str]) -> bool {
    names.contains(&cx.tree().text(node))
        && matches!(
            cx.semantics.binding(node).map(|binding| binding.value),
            Some(Value::Parameter(_))
        )
}

/// `torch.cuda.get_device_name()`, `torch.cuda.get_device_properties(0).name`, in lower case or unchanged.
fn is_device_name(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let mut node = cx.semantics.expression(node);
    for _ in 0..4 {
        if is_named_parameter(cx, node, NAMES) {
            return true;
        }
        if tree.kind(node) == Kind::Call {
            if let Some(name) = cx.callee(node) {
                return name.is("torch.cuda.get_device_name");
            }
            // `def gpu_name(): return torch.cuda.get_device_name(0)`
            if let Some(returned) = only_returned(cx, node) {
                node = cx.semantics.expression(returned);
                continue;
            }
            // `.lower()`, `.split()`
            let Some(object) = tree
                .child(node, Field::Function)
                .and_then(|function| tree.child(function, Field::Object))
            else {
                return false;
            };
            node = cx.semantics.expression(object);
            if cx
                .callee(node)
                .is_some_and(|name| name.is("torch.cuda.get_device_name"))
            {
                return true;
            }
        } else if tree.kind(node) == Kind::Attribute {
            let is_name = tree
                .child(node, Field::Attribute)
                .is_some_and(|member| tree.text(member) == "name");
            return is_name
                && tree
                    .child(node, Field::Object)
                    .map(|object| cx.semantics.expression(object))
                    .is_some_and(|object| {
                        is_named_parameter(cx, object, PROPERTIES)
                            || cx
                                .callee(object)
                                .is_some_and(|name| name.is("torch.cuda.get_device_properties"))
                    });
        } else {
            return false;
        }
    }
    false
}

/// True if the source tests for AMD's products too, or checks for ROCm.
///
/// A string anywhere is not enough: `os.environ["AMD_SERIALIZE_KERNEL"]` names a variable, and another rule's fix
/// inserts it.
pub(crate) fn knows_amd(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .filter(|node| tree.kind(*node) == Kind::StringContent)
            .find(|node| is_amds(tree.text(*node)) && is_looked_for(cx, *node))
            .into_iter()
            .collect()
    };
    cx.mentions_hip() || !cx.once(RULE.id, find).is_empty()
}

/// `AMD Instinct MI300X`, `amd`, `mi300`, `gfx942`; not `AMD_LOG_LEVEL` or `amd-smi`.
fn is_amds(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    text.len() < 60
        && (lower == "amd"
            || lower.starts_with("amd ")
            || PRODUCTS_OF_AMD.iter().any(|name| lower.contains(name)))
}

/// True for a string that is an operand of a comparison or an entry of a table: `"MI300X" in name`,
/// `{"MI300X": 1307e12}`, `name.startswith("AMD")`, `any(word in name for word in ("MI300", "MI250"))`,
/// `case "MI300X":`.
fn is_looked_for(cx: &PythonChecker<'_>, content: Node) -> bool {
    let tree = cx.tree();
    let mut child = content;
    for parent in tree.ancestors(content) {
        match tree.kind(parent) {
            Kind::String | Kind::ConcatenatedString | Kind::ParenthesizedExpression => {}
            Kind::ComparisonOperator | Kind::Tuple | Kind::List | Kind::Set | Kind::CasePattern => {
                return true;
            }
            Kind::Pair => return tree.field(child) == Field::Key,
            Kind::ArgumentList => {
                return tree
                    .parent(parent)
                    .and_then(|call| tree.child(call, Field::Function))
                    .and_then(|function| tree.child(function, Field::Attribute))
                    .is_some_and(|method| {
                        contains_any(tree.text(method), &["swith", "find", "match", "search"])
                    });
            }
            _ => return false,
        }
        child = parent;
    }
    false
}
