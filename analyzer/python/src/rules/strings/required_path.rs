//! HW116: a source that stops without a tool of the CUDA toolkit at a path: `if not nvcc.is_file(): raise …`.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::contains_any;
use crate::rules::vendor::cuda_tool::{RULE, TOOLS};
use crate::syntax::{Field, Kind, Node};

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::IfStatement],
    check,
};

/// How many names of a condition are followed, and how much of their values is read.
const MOST: usize = 20;

fn check(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    let (Some(condition), Some(body)) = (
        tree.child(statement, Field::Condition),
        tree.child(statement, Field::Consequence),
    ) else {
        return;
    };
    let text = tree.text(condition);
    if !text.starts_with("not ") || !contains_any(text, &["is_file(", "exists(", "isfile("]) {
        return;
    }
    let stops = tree.parts(body).last().is_some_and(|last| {
        let text = tree.text(last);
        tree.kind(last) == Kind::RaiseStatement || text.starts_with("sys.exit(")
    });
    if !stops {
        return;
    }
    // The path, or the name that has it.
    let tool = tree
        .subtree(condition)
        .filter(|part| matches!(tree.kind(*part), Kind::Identifier | Kind::String))
        .take(MOST)
        .map(|part| cx.semantics.expression(part))
        .flat_map(|value| tree.subtree(value).take(MOST))
        .filter(|part| tree.kind(*part) == Kind::StringContent)
        .find_map(|part| {
            let file = tree.text(part).rsplit('/').next()?;
            TOOLS.iter().find(|(tool, _)| *tool == file)
        });
    let Some((tool, instead)) = tool else {
        return;
    };
    if !cx.mentions_hip() {
        cx.report(
            &RULE,
            condition,
            format!("{tool} is for NVIDIA GPUs; a ROCm host does not have it."),
            RawFix::display_only(*instead),
        );
    }
}
