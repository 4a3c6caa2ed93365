//! HW303: cuDNN by name, where PyTorch uses MIOpen.

use crate::checker::{PythonChecker, RawFix};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds comparisons of `torch.backends.cudnn.version()` with cuDNN's version numbers, and
    /// `SDPBackend.CUDNN_ATTENTION` as the only backend.
    ///
    /// ## Why on ROCm
    ///
    /// `torch.backends.cudnn` controls MIOpen on ROCm. `benchmark`, `deterministic` and `enabled` have an effect and
    /// need no guard. But `version()` returns MIOpen's version, such as 3005001 for 3.5.1. This is larger than any
    /// cuDNN version, so the comparison is meaningless. There is also no cuDNN attention: with that backend alone,
    /// `scaled_dot_product_attention` finds no kernel and raises.
    ///
    /// ## Example
    ///
    /// ```python
    /// from torch.nn.attention import SDPBackend, sdpa_kernel
    ///
    /// with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    ///     pass
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// from torch.nn.attention import SDPBackend, sdpa_kernel
    ///
    /// with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    ///     pass
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the fix selects another kernel, which rounds differently. The version gate is display-only, because the
    /// feature it tests for needs a different check.
    ///
    /// ## References
    ///
    /// * [torch.backends.cudnn](https://docs.pytorch.org/docs/stable/backends.html#module-torch.backends.cudnn)
    /// * [torch.nn.attention.SDPBackend](https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.SDPBackend.html)
    "HW303" "cudnn" {
        title: "ROCm has no cuDNN version or cuDNN attention",
        family: BackendCode,
        severity: Warning,
        also: [Error "for cuDNN's attention as the only backend"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("how-to/native-libraries"),
        visit: [ComparisonOperator, Attribute],
    }
}
fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    if tree.kind(node) == Kind::Attribute {
        attention(cx, node);
        return;
    }
    let is_version = |side: Node| {
        let mut call = cx.semantics.expression(side);
        // `cudnn.version() if cudnn.is_available() else None`
        if tree.kind(call) == Kind::ConditionalExpression {
            call = tree.parts(call).next().unwrap_or(call);
        }
        tree.kind(call) == Kind::Call
            && cx
                .callee(call)
                .is_some_and(|name| name.is("torch.backends.cudnn.version"))
    };
    // Not `is not None`.
    let compares = tree.text(node).contains(['<', '>', '=']);
    if compares && tree.parts(node).any(is_version) && !cx.mentions_hip() {
        cx.report(
            &RULE,
            node,
            "On ROCm this is MIOpen's version, such as 3005001, larger than any of cuDNN's.",
            RawFix::display_only("Test for the feature, or add `torch.version.hip is None and`"),
        );
    }
}

fn attention(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(member) = tree
        .child(node, Field::Attribute)
        .filter(|member| tree.text(*member) == "CUDNN_ATTENTION")
    else {
        return;
    };
    let is_backend = cx.resolve(node).is_some_and(|name| {
        name.is_any(&[
            "torch.nn.attention.SDPBackend.CUDNN_ATTENTION",
            "torch._C._SDPBackend.CUDNN_ATTENTION",
        ])
    });
    // In a list with other backends it is skipped, and a comparison does not select it.
    let is_alone = tree
        .parent(node)
        .is_some_and(|parent| match tree.kind(parent) {
            Kind::ArgumentList => tree
                .parent(parent)
                .and_then(|call| cx.callee(call))
                .is_some_and(|name| name.is("torch.nn.attention.sdpa_kernel")),
            Kind::List | Kind::Tuple => tree.parts(parent).count() == 1,
            _ => false,
        });
    if is_backend && is_alone {
        cx.report_as(
            &RULE,
            Severity::Error,
            node,
            "ROCm has no cuDNN attention: with this backend alone scaled_dot_product_attention raises.",
            RawFix::unsafe_edits(
                "Use the flash attention backend",
                vec![(tree.span(member), "FLASH_ATTENTION".to_owned())],
            ),
        );
    }
}
