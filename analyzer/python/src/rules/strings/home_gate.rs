//! HW206: a set-up script that builds its extensions only if `CUDA_HOME` is set.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::environment::cuda_home::{RULE, VARIABLES, is_reported, knows_rocm};
use crate::rules::helpers::calls::has_text;
use crate::semantic::{Access, environment_variable};
use crate::syntax::{Field, Kind, Node};

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::IfStatement],
    check,
};

fn check(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    if !has_text(cx, "CUDAExtension") {
        return;
    }
    let Some(condition) = tree.child(statement, Field::Condition) else {
        return;
    };
    let name = tree.subtree(condition).find_map(|part| {
        environment_variable(&cx.semantics, part, VARIABLES)
            .filter(|variable| variable.access == Access::Read)
            .map(|variable| variable.name.to_string())
            .or_else(|| is_member(cx, part))
    });
    if let Some(name) = name
        && !is_reported(cx)
        && !knows_rocm(cx)
    {
        cx.report(
            &RULE,
            condition,
            format!("{name} is not set on a ROCm host, where the extension is built as well."),
            RawFix::display_only("Test torch.utils.cpp_extension.ROCM_HOME too"),
        );
    }
}

/// `"CUDA_HOME" in os.environ`
fn is_member(cx: &PythonChecker<'_>, node: Node) -> Option<String> {
    let tree = cx.tree();
    if tree.kind(node) != Kind::ComparisonOperator || !tree.text(node).ends_with("os.environ") {
        return None;
    }
    let text = tree.text(tree.parts(node).next()?);
    let name = text.trim_matches(['"', '\'']);
    VARIABLES.contains(&name).then(|| name.to_owned())
}
