//! HW113: ONNX Runtime's execution providers for NVIDIA GPUs.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::name_of;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds the execution providers `CUDAExecutionProvider` and `TensorrtExecutionProvider` requested by name.
    ///
    /// ## Why on ROCm
    ///
    /// A build of ONNX Runtime for ROCm has neither of them. If one is requested, ONNX Runtime prints a warning and
    /// runs the model on the next provider in the list, usually the CPU. AMD's provider is `MIGraphXExecutionProvider`;
    /// the older `ROCMExecutionProvider` was removed.
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
    /// session = onnxruntime.InferenceSession("model.onnx", providers=["MIGraphXExecutionProvider"])
    /// ```
    ///
    /// A list may contain the providers of both vendors: missing providers are skipped. A source that also names the
    /// MIGraphX provider is not reported, and in a test of the NVIDIA provider the severity is info.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: on an NVIDIA host the new provider is missing.
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
const CUDA: &[&str] = &["CUDAExecutionProvider", "TensorrtExecutionProvider"];
const MIGRAPHX: &str = "MIGraphXExecutionProvider";

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let text = tree.text(node);
    let Some(name) = text
        .ends_with(['"', '\''])
        .then(|| text.trim_matches(['"', '\'']))
        .filter(|name| CUDA.contains(name))
    else {
        return;
    };
    // `"CUDAExecutionProvider" in onnxruntime.get_available_providers()` is only a query.
    if only_queries(cx, node) || knows_migraphx(cx) {
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
        format!("ONNX Runtime for ROCm has no {name}: it prints a warning, and the model runs on the CPU."),
        RawFix::unsafe_edits(
            "Use MIGraphXExecutionProvider",
            vec![(tree.span(node), text.replace(name, MIGRAPHX))],
        ),
    );
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
                        matches!(method, "get" | "index") || method.starts_with("assert")
                    });
            }
            kind => {
                return tree.field(node) == Field::Key
                    || matches!(
                        kind,
                        Kind::ComparisonOperator | Kind::ExpressionStatement | Kind::Subscript
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

fn knows_migraphx(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        tree.nodes()
            .find(|node| {
                tree.kind(*node) == Kind::StringContent
                    && matches!(tree.text(*node), MIGRAPHX | "ROCMExecutionProvider")
            })
            .into_iter()
            .collect()
    };
    !cx.once(RULE.id, find).is_empty()
}
