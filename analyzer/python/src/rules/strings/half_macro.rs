//! HW305: a macro of CUDA's that `torch.utils.cpp_extension.load` passes to hipcc as it is.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::backend::nvcc_flags::RULE;
use crate::rules::helpers::calls::{has_any_text, has_text};
use crate::semantic::literal_text;
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::String],
    check,
};

/// The start of the options, and the ends for which PyTorch defines a macro of HIP's.
const UNDEFINES: &str = "-U__CUDA_NO_HALF_";
const DEFINED: [&str; 2] = ["OPERATORS__", "CONVERSIONS__"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let macro_of = |node| {
        let end = literal_text(tree, node)?.strip_prefix(UNDEFINES)?;
        DEFINED.contains(&end).then_some(end)
    };
    let Some(end) = macro_of(node) else {
        return;
    };
    // A `CUDAExtension` renames the macros, and a list for both is one of an extension that can be built in both ways.
    if !has_text(cx, "extra_cuda_cflags")
        || has_any_text(cx, &["CUDAExtension", "__HIP_NO_HALF"])
        || cx.mentions_hip()
        || cx.has_reported(&RULE, &|_, message| message.contains("__HIP_NO_HALF"))
    {
        return;
    }
    cx.report_as(
        &RULE,
        Severity::Warning,
        node,
        format!(
            "load passes this to hipcc as it is, where PyTorch defines __HIP_NO_HALF_{end}: __half lacks what the macro disables."
        ),
        RawFix::display_only("Add the option with HIP in place of CUDA; nvcc ignores it"),
    );
}
