//! HW305: a folder of headers that an extension gets as an option of nvcc, where PyTorch's hipify does not search.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::backend::nvcc_flags::RULE;
use crate::rules::helpers::calls::{contains_any, keyword};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::String],
    check,
};

/// Parts of the paths of an extension's own headers.
const OWN: [&str; 2] = ["include", "src"];

/// Libraries whose headers are for both vendors, or for the host.
const OTHERS: [&str; 7] = [
    "third_party",
    "3rdparty",
    "glm",
    "eigen",
    "cutlass",
    "cub",
    "cuda",
];

/// `CUDAExtension(…, extra_compile_args={"nvcc": ["-I{}".format(headers)]})` without `include_dirs`
fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let is_option = tree
        .text(node)
        .trim_start_matches(['f', '"', '\''])
        .starts_with("-I");
    if !is_option {
        return;
    }
    let in_list = |item: &Node| {
        let parent = tree.parent(*item);
        parent.is_some_and(|parent| tree.kind(parent) == Kind::List)
    };
    let mut parts = std::iter::once(node).chain(tree.ancestors(node));
    let Some(item) = parts.find(in_list) else {
        return;
    };
    let option = tree.text(item).to_ascii_lowercase();
    let is_for_nvcc = tree.ancestors(item).any(|pair| {
        tree.child(pair, Field::Key)
            .is_some_and(|key| tree.text(key).contains("nvcc"))
    });
    let extension = tree.ancestors(item).find(|call| {
        cx.callee(*call)
            .is_some_and(|name| name.last() == "CUDAExtension")
    });
    if !is_for_nvcc
        || !contains_any(&option, &OWN)
        || contains_any(&option, &OTHERS)
        || extension.is_none_or(|call| keyword(cx, call, "include_dirs").is_some())
        || cx.mentions_hip()
    {
        return;
    }
    cx.report_as(
        &RULE,
        Severity::Warning,
        node,
        "PyTorch's hipify searches include_dirs for headers, and no option -I: those of this folder keep CUDA's names on ROCm.",
        RawFix::display_only("Pass the folder as include_dirs"),
    );
}
