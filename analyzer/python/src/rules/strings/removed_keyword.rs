//! HW404: an argument that Triton's `do_bench` does not have any more.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::keyword;
use crate::rules::releases::removed_torch_python_api::RULE;
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Version;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::Call],
    check,
};

/// The first release of PyTorch whose Triton, 3.2, lacks the argument.
const SINCE: Version = Version::new(2, 6);

fn check(cx: &PythonChecker<'_>, node: Node) {
    let Some(value) = keyword(cx, node, "fast_flush") else {
        return;
    };
    let is_it = cx
        .callee(node)
        .is_some_and(|name| name.is("triton.testing.do_bench"));
    if is_it && cx.target().torch >= SINCE {
        let argument = cx.tree().parent(value).unwrap_or(value);
        cx.report(
            &RULE,
            argument,
            "Triton's do_bench has no fast_flush since 3.2: the call raises TypeError.",
            RawFix::display_only("Remove the argument"),
        );
    }
}
