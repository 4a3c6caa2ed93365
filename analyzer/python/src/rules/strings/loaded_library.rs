//! HW114: names of CUDA's shared libraries in a list that a source loads from.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::has_any_text;
use crate::rules::vendor::cuda_shared_library::{LIBRARIES, LOADERS, RULE};
use crate::semantic::literal_text;
use crate::syntax::{Kind, Node};

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::String],
    check,
};

/// Parts of the names of ROCm's libraries and folders.
const ROCM: &[&str] = &["librccl", "libamdhip", "libhip", "rocm"];

fn check(cx: &PythonChecker<'_>, string: Node) {
    let tree = cx.tree();
    let Some(path) = literal_text(tree, string) else {
        return;
    };
    let file = path.rsplit('/').next().unwrap_or_default();
    let Some((stem, _)) = file.split_once(".so") else {
        return;
    };
    let name = stem.strip_prefix("lib").unwrap_or_default();
    let Some((_, rocm)) = LIBRARIES.iter().find(|(cuda, _)| *cuda == name) else {
        return;
    };
    let parent = tree.parent(string).map(|parent| tree.kind(parent));
    let is_given = matches!(
        parent,
        Some(Kind::List | Kind::Tuple | Kind::ReturnStatement)
    );
    let is_seen = tree
        .ancestors(string)
        .any(|around| cx.callee(around).is_some_and(|name| name.is_any(LOADERS)));
    if !is_given
        || is_seen
        || !has_any_text(cx, &["CDLL", "LoadLibrary", "dlopen"])
        || has_any_text(cx, ROCM)
        || cx.mentions_hip()
        || cx.has_reported(&RULE, &|text, _| text.contains(name))
    {
        return;
    }
    cx.report(
        &RULE,
        string,
        format!("A ROCm host does not have {file}; the equivalent there is {rocm}."),
        RawFix::display_only(format!("Load {rocm}")),
    );
}
