//! HW103: Transformers' option for flash-attn.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::{contains_any, has_text};
use crate::rules::vendor::flash_attn::RULE;
use crate::semantic::string;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::KeywordArgument, Kind::Pair],
    check,
};

/// `attn_implementation="flash_attention_2"`, `use_flash_attention_2=True`, `{"attn_implementation": "flash_attention_2"}`
fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_text(cx, "flash_attention_2") {
        return;
    }
    let tree = cx.tree();
    let name = match tree.kind(node) {
        Kind::Pair => tree
            .child(node, Field::Key)
            .and_then(|key| string(&cx.semantics, key)),
        _ => tree.child(node, Field::Name).map(|name| tree.text(name)),
    };
    let Some(value) = tree.child(node, Field::Value) else {
        return;
    };
    let is_chosen = match name {
        Some("attn_implementation" | "_attn_implementation") => {
            tree.kind(value) == Kind::String
                && string(&cx.semantics, value) == Some("flash_attention_2")
        }
        Some("use_flash_attention_2") => tree.kind(value) == Kind::True,
        _ => false,
    };
    if is_chosen && !is_one_of_several(cx, node) {
        cx.report_as(
            &RULE,
            Severity::Warning,
            value,
            "Transformers needs flash-attn for this, whose prebuilt wheels are for CUDA: without a build for ROCm the model does not load.",
            RawFix::display_only(
                "Choose \"sdpa\", which runs a flash kernel on ROCm too, or build flash-attn for ROCm",
            ),
        );
    }
}

/// Whether the code around it tries another implementation, or chooses this one by a condition about attention.
fn is_one_of_several(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(node).any(|around| match tree.kind(around) {
        Kind::TryStatement => true,
        Kind::IfStatement | Kind::ElifClause => {
            tree.child(around, Field::Condition)
                .is_some_and(|condition| {
                    contains_any(tree.text(condition), &["flash", "attn", "sdpa"])
                })
        }
        _ => false,
    })
}
