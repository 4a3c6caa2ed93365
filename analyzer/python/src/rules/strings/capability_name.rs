//! HW302: names of NVIDIA's architectures that are made of the capability: `f"sm_{major}{minor}"`.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::PythonRule;
use crate::rules::backend::capability_gate::{RULE, capability, is_part_of_capability};
use crate::rules::helpers::calls::{called, has_text};
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Severity;

pub(super) static CHECK: PythonRule = PythonRule {
    rule: &RULE,
    visit: &[Kind::String],
    check,
};

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(start) = start_of_name(tree.text(node)) else {
        return;
    };
    if !has_text(cx, "get_device_capability") || cx.mentions_hip() || is_only_shown(cx, node) {
        return;
    }
    let is_number = |part: Node| {
        let value = tree.parts(part).next();
        value.is_some_and(|value| is_part_of_capability(cx, value))
    };
    let parts = tree.subtree(node);
    let numbers: Vec<Node> = parts
        .filter(|part| tree.kind(*part) == Kind::Interpolation)
        .collect();
    if numbers.len() == 2 && numbers.into_iter().all(is_number) {
        let (major, minor) = capability(cx);
        let arch = cx.target().arch.name();
        let message = format!(
            "On {arch} this is {start}{major}{minor}, which is the name of no architecture."
        );
        let fix = RawFix::display_only(
            "For ROCm: torch.cuda.get_device_properties(0).gcnArchName, without what follows a colon",
        );
        cx.report_as(&RULE, Severity::Warning, node, message, fix);
    }
}

/// The text before the two numbers of a name: `sm_` of `f"sm_{major}{minor}a"`, nothing of `f"{major}{minor}"`.
fn start_of_name(text: &str) -> Option<&str> {
    let quoted = text.strip_prefix('f')?;
    let inner = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .or_else(|| {
            quoted
                .strip_prefix('\'')
                .and_then(|rest| rest.strip_suffix('\''))
        })?;
    let (start, rest) = inner.split_once('{')?;
    let (_, rest) = rest.strip_suffix('a').unwrap_or(rest).split_once("}{")?;
    let ends = rest.find('}') == rest.len().checked_sub(1);
    (ends && matches!(start, "" | "sm" | "sm_" | "compute_")).then_some(start)
}

/// `print(f"{major}{minor}")`, and a comparison, which `capability-gate` looks at as a whole
fn is_only_shown(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let mut around = tree.ancestors(node);
    let is_compared = around
        .next()
        .is_some_and(|parent| tree.kind(parent) == Kind::ComparisonOperator);
    let call = around.next();
    is_compared
        || call.is_some_and(|call| {
            matches!(
                called(cx, call),
                "print" | "info" | "debug" | "warning" | "log"
            )
        })
}
