//! Requests for NVIDIA's compilers: a TensorRT engine (HW108), and code that Triton generates for CUDA (HW710), also through
//! `triton.language.math`, which was CUDA's libdevice in Triton 2.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::{called, first_value, has_any_text, has_text};
use crate::rules::triton::cuda_libdevice;
use crate::rules::vendor::tensorrt;
use crate::semantic::string;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Version;
use hipward_analyzer_core::words::listed;

pub(super) static ENGINE: PythonRule = PythonRule {
    rule: &tensorrt::RULE,
    visit: &[Kind::KeywordArgument],
    check: check_engine,
};

pub(super) static TARGET: PythonRule = PythonRule {
    rule: &cuda_libdevice::RULE,
    visit: &[Kind::Call, Kind::Subscript],
    check: check_target,
};

/// `YOLO("yolo11n.pt").export(format="engine")`
fn check_engine(cx: &PythonChecker<'_>, argument: Node) {
    let tree = cx.tree();
    let text = |field| tree.child(argument, field);
    let is_format = text(Field::Name).is_some_and(|name| tree.text(name) == "format");
    let is_engine =
        text(Field::Value).is_some_and(|value| string(&cx.semantics, value) == Some("engine"));
    let is_export = || {
        tree.ancestors(argument)
            .nth(1)
            .is_some_and(|call| called(cx, call) == "export")
    };
    if is_format && is_engine && is_export() && !cx.mentions_hip() {
        cx.report(
            &tensorrt::RULE,
            argument,
            "This format is a TensorRT engine, which exists for NVIDIA GPUs only.",
            RawFix::display_only("Export to ONNX, and run it with MIGraphX"),
        );
    }
}

/// The functions of Triton 3's `triton.language.math`. HW703 is about the missing tanh.
const MATH: &str =
    "abs ceil cos div_rn erf exp exp2 fdiv floor fma log log2 rsqrt sin sqrt sqrt_rn umulhi tanh";

/// `tl.math.log1p(x)`
fn check_math(cx: &PythonChecker<'_>, call: Node) {
    let name = called(cx, call);
    let is_missing = || {
        cx.target().torch >= Version::new(2, 4)
            && cx
                .callee(call)
                .is_some_and(|name| name.parts().len() == 4 && name.is_in("triton.language.math"))
    };
    if listed(MATH, name) || !is_missing() || has_any_text(cx, &["triton.__version__", "hasattr("])
    {
        return;
    }
    cx.report(
        &cuda_libdevice::RULE,
        call,
        format!("Triton 3 has no {name} in triton.language.math, which was CUDA's libdevice in Triton 2."),
        RawFix::display_only(format!("Call triton.language.extra.libdevice.{name}")),
    );
}

/// `GPUTarget("cuda", 90, 32)`, `kernel.asm["ptx"]`
fn check_target(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    if tree.kind(node) == Kind::Call && has_text(cx, "math") {
        check_math(cx, node);
    }
    let is = |value: Option<Node>, words: &[&str]| {
        value
            .and_then(|value| string(&cx.semantics, value))
            .is_some_and(|text| words.contains(&text))
    };
    let is_cuda = if tree.kind(node) == Kind::Call {
        called(cx, node) == "GPUTarget" && is(first_value(cx, node), &["cuda"])
    } else {
        let object = tree.child(node, Field::Value);
        object.is_some_and(|object| tree.text(object).ends_with(".asm"))
            && is(tree.parts(node).last(), &["ptx", "cubin"])
    };
    if is_cuda
        && has_text(cx, "triton")
        && !has_any_text(cx, &["amdgcn", "hsaco", "is_hip", "\"hip\""])
        && !cx.mentions_hip()
    {
        cx.report(
            &cuda_libdevice::RULE,
            node,
            "Triton compiles for AMD GPUs through the target \"hip\", to \"amdgcn\" and \"hsaco\".",
            RawFix::display_only("Use triton.runtime.driver.active.get_current_target()"),
        );
    }
}
