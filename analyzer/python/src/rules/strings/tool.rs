//! HW116: running a tool of NVIDIA, or stopping without it.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::helpers::calls::{contains_any, function_around, name_of, values};
use crate::rules::helpers::commands::{LENIENT_RUNNERS, command, runner};
use crate::rules::vendor::cuda_tool::{RULE, TOOLS};
use crate::semantic::{is_import_guarded, string};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::Call],
    check,
};

fn check(cx: &PythonChecker<'_>, call: Node) {
    let Some((function, inner)) = runner(cx, call) else {
        return check_search(cx, call);
    };
    let Some(command) = command(cx, call) else {
        return;
    };
    let program = command.words.first().copied().unwrap_or_default();
    let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program.strip_suffix(".exe").unwrap_or(program);
    let Some((tool, instead)) = TOOLS.iter().find(|(tool, _)| *tool == program) else {
        return;
    };
    let is_looked_for = function_around(cx, call)
        .is_some_and(|around| contains_any(cx.tree().text(around), &["which("]));
    let is_guarded = [call, inner]
        .iter()
        .any(|call| is_import_guarded(&cx.semantics, *call, command.errors()));
    if is_looked_for || is_guarded || cx.mentions_hip() {
        return;
    }
    let severity = if function.is_any(LENIENT_RUNNERS) {
        Severity::Warning
    } else {
        Severity::Error
    };
    report(cx, severity, call, tool, instead);
}

fn report(
    cx: &PythonChecker<'_>,
    severity: Severity,
    call: Node,
    tool: &str,
    instead: &'static str,
) {
    cx.report_as(
        &RULE,
        severity,
        call,
        format!("{tool} is for NVIDIA GPUs; a ROCm host does not have it."),
        RawFix::display_only(instead),
    );
}

/// `if shutil.which("nvcc") is None: raise …`
fn check_search(cx: &PythonChecker<'_>, call: Node) {
    let tree = cx.tree();
    let Some((tool, instead)) = cx
        .callee(call)
        .filter(|name| name.is("shutil.which"))
        .and_then(|_| string(&cx.semantics, *values(cx, call).first()?))
        .and_then(|name| {
            let driver = &("nvidia-smi", "Use torch.cuda.is_available()");
            TOOLS.iter().chain([driver]).find(|(tool, _)| *tool == name)
        })
    else {
        return;
    };
    let raises = tree.parent(call).is_some_and(|condition| {
        let text = tree.text(condition);
        let body = tree
            .parent(condition)
            .filter(|_| text.starts_with("not ") || text.ends_with(" is None"))
            .and_then(|statement| tree.child(statement, Field::Consequence));
        body.and_then(|body| tree.parts(body).last())
            .is_some_and(|last| match tree.kind(last) {
                Kind::RaiseStatement => true,
                Kind::ReturnStatement => is_failure(cx, call, tree.text(last)),
                _ => false,
            })
    });
    if raises && !cx.mentions_hip() {
        report(cx, Severity::Error, call, tool, instead);
    }
}

/// `return 0` of `gpu_count()`, `return 1` of `main()`
fn is_failure(cx: &PythonChecker<'_>, call: Node, result: &str) -> bool {
    let name = function_around(cx, call).map_or("", |function| name_of(cx, function));
    match result {
        "return 1" => name == "main",
        "return False" | "return 0" => name.contains("gpu") && !name.contains("nvidia"),
        _ => false,
    }
}
