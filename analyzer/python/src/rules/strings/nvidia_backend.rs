//! Requests for NVIDIA's compilers: a TensorRT engine (HW108), and code that Triton generates for CUDA (HW710).

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::{called, first_value, has_any_text, has_text};
use crate::rules::triton::cuda_libdevice;
use crate::rules::vendor::tensorrt;
use crate::semantic::string;
use crate::syntax::{Field, Kind, Node};

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

/// `GPUTarget("cuda", 90, 32)`, `kernel.asm["ptx"]`
fn check_target(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
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
