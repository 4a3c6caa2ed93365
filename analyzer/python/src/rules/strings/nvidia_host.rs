//! Tests that only an NVIDIA host passes: its device files (HW102), and a CUDA build's version of PyTorch (HW301).

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::backend::version_cuda_gate;
use crate::rules::helpers::calls::{
    arguments, called, contains_any, decides_a_skip, function_around, has_any_text, name_of,
};
use crate::rules::vendor::nvidia_smi;
use crate::semantic::literal_text;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static DEVICES: PythonRule = PythonRule {
    rule: &nvidia_smi::RULE,
    visit: &[Kind::String],
    check: check_device,
};

pub(super) static VERSIONS: PythonRule = PythonRule {
    rule: &version_cuda_gate::RULE,
    visit: &[Kind::ComparisonOperator],
    check: check_version,
};

pub(super) static PATTERNS: PythonRule = PythonRule {
    rule: &version_cuda_gate::RULE,
    visit: &[Kind::Subscript],
    check: check_pattern,
};

/// True if the source also handles AMD GPUs.
fn handles_amd(cx: &PythonChecker<'_>) -> bool {
    cx.mentions_hip() || has_any_text(cx, &["/dev/kfd", "rocm", "amdgpu"])
}

/// `os.path.exists("/dev/nvidia0")`
fn check_device(cx: &PythonChecker<'_>, path: Node) {
    let tree = cx.tree();
    let is_nvidias = literal_text(tree, path).is_some_and(|path| {
        path.starts_with("/dev/nvidia") || path.starts_with("/proc/driver/nvidia")
    });
    if !is_nvidias || handles_amd(cx) {
        return;
    }
    let Some(call) = tree.ancestors(path).take(5).find(|around| {
        contains_any(
            called(cx, *around),
            &["exists", "isfile", "is_file", "isdir"],
        )
    }) else {
        return;
    };
    // `is_nvidia()`, and `"h264_nvenc" if … else "libx264"`
    let is_for_nvidia = function_around(cx, call)
        .is_some_and(|function| name_of(cx, function).contains("nvidia"))
        || tree.ancestors(call).take(3).any(|around| {
            tree.kind(around) == Kind::ConditionalExpression
                && tree
                    .parts(around)
                    .next()
                    .is_some_and(|yes| tree.text(yes).contains("nv"))
        });
    if is_for_nvidia || decides_a_skip(cx, call) {
        return;
    }
    cx.report_as(
        &nvidia_smi::RULE,
        Severity::Warning,
        call,
        "A ROCm host has no device files of NVIDIA's driver, so this test is false although the GPU works.",
        RawFix::display_only("Use torch.cuda.is_available(), or test for /dev/kfd too"),
    );
}

/// `assert "+cu" in torch.__version__`
fn check_version(cx: &PythonChecker<'_>, comparison: Node) {
    let tree = cx.tree();
    let parts: Vec<_> = tree.parts(comparison).collect();
    let [word, operator, version] = parts[..] else {
        return;
    };
    let is_build = literal_text(tree, word).is_some_and(|word| {
        word.trim_start_matches('+')
            .strip_prefix("cu")
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    });
    if !is_build
        || tree.kind(operator) != Kind::In
        || !tree.text(version).starts_with("torch.__version__")
        || handles_amd(cx)
    {
        return;
    }
    let mut condition = comparison;
    while let Some(parent) = tree.parent(condition)
        && matches!(
            tree.kind(parent),
            Kind::BooleanOperator | Kind::ParenthesizedExpression
        )
    {
        condition = parent;
    }
    let text = tree.text(condition);
    let decides = tree
        .parent(condition)
        .is_some_and(|statement| match tree.kind(statement) {
            Kind::AssertStatement => true,
            Kind::IfStatement => tree
                .child(statement, Field::Consequence)
                .and_then(|body| tree.parts(body).last())
                .is_some_and(|last| tree.kind(last) == Kind::ReturnStatement),
            _ => false,
        });
    // `"cu" in torch.__version__ or torch.cuda.is_available()`
    if !decides || text.contains(" or ") {
        return;
    }
    cx.report(
        &version_cuda_gate::RULE,
        comparison,
        "The version of a ROCm build ends in +rocm…, so this test is false although the GPU works.",
        RawFix::display_only("Use torch.cuda.is_available()"),
    );
}

/// `re.findall(r"…([^0-9][a-zA-Z0-9]*)?$", torch.__version__)[0]`: no match for the dot in `2.12.0+rocm7.1`.
fn check_pattern(cx: &PythonChecker<'_>, subscript: Node) {
    let tree = cx.tree();
    let Some(call) = tree.child(subscript, Field::Value) else {
        return;
    };
    let arguments = arguments(cx, call);
    // A line that ends in a backslash is a part of its own.
    let [pattern, .., version] = arguments[..] else {
        return;
    };
    let misses_dots = literal_text(tree, pattern)
        .is_some_and(|pattern| pattern.contains("[a-zA-Z0-9]*)") && pattern.ends_with('$'));
    if misses_dots
        && called(cx, call) == "findall"
        && tree.text(version) == "torch.__version__"
        && !handles_amd(cx)
    {
        cx.report_as(
            &version_cuda_gate::RULE,
            Severity::Error,
            call,
            "A ROCm build's version is such as 2.12.0+rocm7.1. This pattern matches no dot after the +, so [0] raises IndexError.",
            RawFix::display_only("Allow dots in the last part: [a-zA-Z0-9.]*"),
        );
    }
}
