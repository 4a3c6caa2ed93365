//! HW308: TileLang's names of FP8 formats.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::backend::fp8_dtype::{RULE, has_maximum_of_ocp};
use crate::semantic::literal_text;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Fp8Format;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::String],
    check,
};

/// `FP8 = "float8_e4m3"`, TileLang's name for the format of NVIDIA.
fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(text @ ("float8_e4m3" | "float8_e5m2")) = literal_text(tree, node) else {
        return;
    };
    let arch = cx.target().arch;
    let is_given = tree.parent(node).is_some_and(|parent| {
        tree.field(node) == Field::Right && tree.kind(parent) == Kind::Assignment
    });
    if !is_given
        || arch.fp8() != Some(Fp8Format::Fnuz)
        || !tree.source().contains("tilelang")
        || tree.source().contains("fnuz")
        || cx.mentions_hip()
    {
        return;
    }
    let title = format!("Use {text}fnuz");
    let fix = if has_maximum_of_ocp(cx) {
        RawFix::display_only(format!("{title}, with its maximum: 240 for e4m3, not 448"))
    } else {
        let end = tree.end(node) - 1;
        RawFix::unsafe_edits(title, vec![(end..end, "fnuz".to_owned())])
    };
    cx.report(
        &RULE,
        node,
        format!(
            "The matrix units of {} use {text}fnuz, not {text}.",
            arch.name()
        ),
        fix,
    );
}
