//! HW206: the path of the CUDA toolkit from the environment: `os.environ["CUDA_HOME"]`.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::environment::cuda_home::{RULE, VARIABLES, is_reported, knows_rocm};
use crate::rules::helpers::calls::arguments;
use crate::semantic::{Access, environment_variable, string};
use crate::syntax::{Field, Kind, Node};

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::Subscript, Kind::Call],
    check,
};

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some(variable) = environment_variable(&cx.semantics, node, VARIABLES) else {
        return;
    };
    let is_read = variable.access == Access::Read && !may_be_missing(cx, node);
    if is_read && !is_reported(cx) && !knows_rocm(cx) {
        let name = &variable.name;
        cx.report(
            &RULE,
            node,
            format!("A ROCm host has no CUDA toolkit, and {name} is not set there."),
            RawFix::display_only("Read ROCM_PATH or ROCM_HOME if torch.version.hip is set"),
        );
    }
}

/// `os.environ.get("CUDA_HOME")` without a default path: the code handles a missing toolkit.
fn may_be_missing(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let fallback = arguments(cx, node).get(1).copied().or_else(|| {
        let parent = tree.parent(node)?;
        tree.child(parent, Field::Right)
            .filter(|_| tree.kind(parent) == Kind::BooleanOperator)
    });
    tree.kind(node) == Kind::Call
        && !fallback
            .and_then(|fallback| string(&cx.semantics, fallback))
            .is_some_and(|path| path.contains("cuda"))
}
