//! HW113: ONNX Runtime's execution providers for NVIDIA GPUs.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{contains_any, has_any_text, name_of};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds the execution providers `CUDAExecutionProvider`, `TensorrtExecutionProvider` and `ROCMExecutionProvider`
    /// requested by name.
    ///
    /// ## Why on ROCm
    ///
    /// A build of ONNX Runtime for ROCm has none of them. If one is requested, ONNX Runtime prints a warning and
    /// runs the model on the next provider in the list, usually the CPU. AMD's provider is `MIGraphXExecutionProvider`;
    /// ONNX Runtime 1.23 removed the older `ROCMExecutionProvider`.
    ///
    /// ## Example
    ///
    /// ```python
    /// import onnxruntime
    ///
    /// session = onnxruntime.InferenceSession("model.onnx", providers=["CUDAExecutionProvider"])
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import onnxruntime
    ///
    /// session = onnxruntime.InferenceSession("model.onnx", providers=["MIGraphXExecutionProvider", "CUDAExecutionProvider"])
    /// ```
    ///
    /// A list may contain the providers of both vendors: missing providers are skipped. A source that also names the
    /// MIGraphX provider is not reported, and in a test of the NVIDIA provider the severity is info. A source that names
    /// the ROCm provider is reported for that provider only.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: on an NVIDIA host ONNX Runtime prints a warning that the new provider is missing. No fix is offered
    /// outside of a list, or where a condition around it tests for a provider.
    ///
    /// ## References
    ///
    /// * [ONNX Runtime for ROCm](https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/inference/onnxruntime.html)
    /// * [MIGraphX execution provider](https://onnxruntime.ai/docs/execution-providers/MIGraphX-ExecutionProvider.html)
    "HW113" "onnxruntime-provider" {
        title: "ONNX Runtime has another provider on ROCm",
        family: VendorLibraries,
        severity: Warning,
        also: [Info "in a test"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [String],
    }
}
const MIGRAPHX: &str = "MIGraphXExecutionProvider";
const ROCM: &str = "ROCMExecutionProvider";
const TITLE: &str = "Request MIGraphXExecutionProvider before it";

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let text = tree.text(node);
    let name = text.trim_matches(['"', '\'']);
    let others: &[_] = match name {
        ROCM => &[MIGRAPHX],
        "CUDAExecutionProvider" | "TensorrtExecutionProvider" => &[MIGRAPHX, ROCM],
        _ => return,
    };
    // `"CUDAExecutionProvider" in onnxruntime.get_available_providers()` is only a query.
    if only_queries(cx, node) || has_any_text(cx, others) {
        return;
    }
    // A test of NVIDIA's provider stays unchanged, and AMD's provider gets a test of its own.
    let severity = if is_in_a_test(cx, node) {
        Severity::Info
    } else {
        Severity::Warning
    };
    cx.report_as(
        &RULE,
        severity,
        node,
        format!("ONNX Runtime for ROCm has no {name}, so the model runs on the CPU."),
        match item(cx, node) {
            Some(at) => {
                RawFix::unsafe_edits(TITLE, vec![(at..at, text.replace(name, MIGRAPHX) + ", ")])
            }
            None => RawFix::display_only(TITLE),
        },
    );
}

/// The start of the item in a list, which may be a tuple with the provider's options. None if an earlier item gets the
/// new provider, or if a condition tests for a provider.
fn item(cx: &PythonChecker<'_>, node: Node) -> Option<usize> {
    let tree = cx.tree();
    let mut item = node;
    let mut around = tree.parent(node)?;
    while tree.kind(around) == Kind::Tuple {
        item = around;
        around = tree.parent(around)?;
    }
    let before = tree.source().get(tree.start(around)..tree.start(node))?;
    let is_asked = tree.ancestors(around).any(|around| {
        let condition = match tree.kind(around) {
            Kind::ConditionalExpression => tree.parts(around).nth(1),
            _ => tree.child(around, Field::Condition),
        };
        condition.is_some_and(|condition| tree.text(condition).contains("rovider"))
    });
    let is_first = !contains_any(before, &["CUDAExec", "TensorrtExec"]);
    (tree.kind(around) == Kind::List && is_first && !is_asked).then(|| tree.start(item))
}

/// True for a comparison or an assertion with the name, or with a list that contains it, and for a key.
fn only_queries(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    for parent in tree.ancestors(node) {
        match tree.kind(parent) {
            Kind::Tuple | Kind::List => {}
            Kind::ArgumentList => {
                return tree
                    .parent(parent)
                    .and_then(|call| tree.child(call, Field::Function))
                    .and_then(|function| tree.child(function, Field::Attribute))
                    .is_some_and(|method| {
                        let method = tree.text(method);
                        matches!(method, "get" | "index" | "remove") || method.starts_with("assert")
                    });
            }
            kind => {
                return tree.field(node) == Field::Key
                    || matches!(
                        kind,
                        Kind::ComparisonOperator
                            | Kind::ExpressionStatement
                            | Kind::Subscript
                            | Kind::Attribute
                    );
            }
        }
    }
    false
}

/// True within `def test_…` and its decorators.
fn is_in_a_test(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node)
        .map(|around| match tree.kind(around) {
            Kind::DecoratedDefinition => tree.parts(around).last().unwrap_or(around),
            _ => around,
        })
        .any(|around| {
            tree.kind(around) == Kind::FunctionDefinition && name_of(cx, around).starts_with("test")
        })
}
