//! HW302: code selected by NVIDIA's SM version.

use std::cmp::Ordering;

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    called, decides_a_skip, given_to, has_any_text, has_text, is_named_after_amd, only_returned,
};
use crate::semantic::{Value, integer, string_parts};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds comparisons of `torch.cuda.get_device_capability()`, of a device's `major` and `minor`, of a parameter such
    /// as `capability`, or of a function that returns one of these, with SM versions or lists of SM versions, of Triton's `get_current_target().arch` with numbers, and lookups of `sm_…` names
    /// in `torch.cuda.get_arch_list()`.
    ///
    /// ## Why on ROCm
    ///
    /// On ROCm the capability is the number of the gfx architecture: (9, 0) on gfx90a, (9, 4) on gfx942, (9, 5) on
    /// gfx950, (12, 0) on gfx1201. If it is interpreted as an SM version, gfx9 looks like Hopper, and later architectures
    /// look like Blackwell. A gate for these then selects kernels that cannot run on the AMD GPU. A gate on the names `sm_80` and `sm_90` is never true, because the list
    /// contains names such as `gfx942`. A list of supported GPUs such as `[(8, 0), (9, 0)]` does not include (9, 4).
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// use_hopper_kernels = torch.cuda.get_device_capability()[0] >= 9
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// use_hopper_kernels = torch.version.hip is None and torch.cuda.get_device_capability()[0] >= 9
    /// ```
    ///
    /// It is better to test for the feature: `torch.cuda.is_bf16_supported()` rather than "8 or newer". On ROCm
    /// `torch.cuda.get_device_properties(0).gcnArchName` is the name of the architecture.
    ///
    /// It also finds checks that fail on the selected target: `assert torch.cuda.get_device_capability() >= (10, 0)`, the same
    /// test before a `raise`, and such checks by a function whose name is a later version, such as `is_sm_at_least_100()`. And it finds
    /// names of architectures that are made of the capability, `f"sm_{major}{minor}"`.
    ///
    /// The message states the result of the test on the selected target. A gate for older generations, such as "8 or
    /// newer", is not reported, because AMD GPUs have the feature too, except where it selects a kernel for NVIDIA GPUs: in
    /// a source that imports Gluon's modules for NVIDIA, and for a name such as `allow_tf32` that sets no option of
    /// PyTorch or Triton. If the source checks `torch.version.hip`
    /// elsewhere, the severity is info.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the author has to decide on which side of the gate the AMD GPU belongs.
    ///
    /// ## References
    ///
    /// * [torch.cuda.get_device_capability](https://docs.pytorch.org/docs/stable/generated/torch.cuda.get_device_capability.html)
    /// * [HIP (ROCm) semantics](https://docs.pytorch.org/docs/stable/notes/hip.html)
    "HW302" "capability-gate" {
        title: "An SM version is compared with a gfx number",
        family: BackendCode,
        severity: Warning,
        also: [
            Error "if the comparison raises TypeError",
            Info "in a source that checks torch.version.hip, and in a condition that skips a test",
        ],
        applicability: DisplayOnly,
        targets: "every ROCm target; the message depends on the architecture",
        lesson: Some("port/nvidia-gates"),
        visit: [ComparisonOperator],
    }
}

/// The value of `get_device_capability()`.
pub(crate) type Capability = (i64, i64);

/// NVIDIA's generations: the three before Hopper, Hopper, and Blackwell.
const TURING: Capability = (7, 5);
const AMPERE: Capability = (8, 0);
const ADA: Capability = (8, 9);
const HOPPER: Capability = (9, 0);
const BLACKWELL: Capability = (10, 0);

/// How many levels of an expression such as `major * 10 + minor` are evaluated.
const MAX_DEPTH: u8 = 6;

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let parts: Vec<_> = tree.parts(node).collect();
    let arch = cx.target().arch;
    if let [left, _, right] = parts[..]
        && compares_arch_names(cx, left, right)
    {
        let message = format!(
            "On ROCm the architecture is a gfx name such as {}, so no sm_ name matches.",
            arch.name()
        );
        report(cx, node, Severity::Warning, message);
        return;
    }
    if let [left, operator, right] = parts[..]
        && orders_arch(cx, tree.kind(operator), [left, right])
    {
        let message = format!(
            "On ROCm this architecture is a text such as {}; to compare it with a number raises TypeError.",
            arch.name()
        );
        report(cx, node, Severity::Error, message);
        return;
    }
    let Some((answer, meaning)) = taken_for(cx, node) else {
        return;
    };
    let severity = if cx.mentions_hip() {
        Severity::Info
    } else {
        Severity::Warning
    };
    let (major, minor) = arch.capability();
    let message = format!(
        "get_device_capability() returns ({major}, {minor}) on {}, the number of its architecture, so this test is {answer}, {meaning}.",
        arch.name()
    );
    report(cx, node, severity, message);
}

/// The capability of the target.
pub(crate) fn capability(cx: &PythonChecker<'_>) -> Capability {
    let (major, minor) = cx.target().arch.capability();
    (i64::from(major), i64::from(minor))
}

/// Whether a number is a part of the capability, or made of its parts.
pub(crate) fn is_part_of_capability(cx: &PythonChecker<'_>, number: Node) -> bool {
    evaluate(cx, number, ADA, MAX_DEPTH).is_some_and(|number| number.from_capability)
}

/// The result of a comparison of the capability on the target.
pub(crate) fn on_target(cx: &PythonChecker<'_>, comparison: Node) -> Option<bool> {
    let parts: Vec<_> = cx.tree().parts(comparison).collect();
    of_target(cx, &parts)
}

fn of_target(cx: &PythonChecker<'_>, parts: &[Node]) -> Option<bool> {
    let reads_capability = |side: &Node| is_part_of_capability(cx, *side);
    let reads = parts.iter().step_by(2).any(reads_capability);
    reads.then(|| answer(cx, parts, capability(cx))).flatten()
}

/// The result of a comparison, and the GPU of NVIDIA that it takes the target for; none if the result is right for an
/// unknown GPU.
pub(crate) fn taken_for(cx: &PythonChecker<'_>, comparison: Node) -> Option<(bool, &'static str)> {
    let parts: Vec<_> = cx.tree().parts(comparison).collect();
    let answer = of_target(cx, &parts)?;
    let on = |device| self::answer(cx, &parts, device);
    let on_hopper = on(HOPPER)?;
    let (on_ampere, on_ada) = (on(AMPERE), on(ADA));
    let operator = match parts[..] {
        [_, operator, _] => Some(cx.tree().kind(operator)),
        _ => None,
    };
    // A gate that accepts Hopper and rejects earlier generations takes the AMD GPU for a Hopper GPU. For a gate on
    // other generations the result is the same as for an unknown GPU, which is correct.
    let singles_out = match operator {
        Some(Kind::Equal | Kind::In) => answer,
        Some(Kind::NotEqual | Kind::NotIn) => !answer,
        _ => ![on_ampere, on_ada].contains(&Some(answer)),
    };
    let is_taken_for_hopper = singles_out && answer == on_hopper;
    // A list of old and new generations lists all supported GPUs; a list of new ones only is for Hopper's kernels.
    let is_left_out = matches!(operator, Some(Kind::In | Kind::NotIn))
        && answer != on_hopper
        && [on_ampere, on_ada].contains(&Some(on_hopper));
    // Later than gfx9, an AMD GPU is also taken for a GPU after Hopper.
    let is_taken_for_blackwell = capability(cx) >= BLACKWELL
        && singles_out
        && answer != on_hopper
        && on(BLACKWELL) == Some(answer);
    // `allow_tf32 = capability >= 80` selects kernels for NVIDIA's tensor cores; PyTorch's setting and Triton's option
    // are of another rule. A source with Gluon's modules for NVIDIA has no other kernels.
    let names_tf32 = || {
        given_to(cx, comparison).is_some_and(|name| name.to_ascii_lowercase().contains("tf32"))
            && !has_any_text(cx, &["torch.backends", "triton", "transformers"])
    };
    let is_taken_for_ampere = || {
        on_ampere == Some(answer)
            && on(TURING) == Some(!answer)
            && (names_tf32() || has_text(cx, "gluon.language.nvidia"))
    };
    if is_taken_for_hopper {
        Some((answer, "as on a Hopper GPU"))
    } else if is_taken_for_blackwell {
        Some((answer, "as on a Blackwell GPU"))
    } else if is_left_out {
        Some((answer, "as on an unlisted GPU"))
    } else if is_taken_for_ampere() {
        Some((answer, "as on an Ampere GPU"))
    } else {
        None
    }
}

/// The result of a comparison on `device`; `parts` are its operands with the operators between them.
fn answer(cx: &PythonChecker<'_>, parts: &[Node], device: Capability) -> Option<bool> {
    let mut all = true;
    let mut rest = parts;
    while let [left, operator, right, ..] = *rest {
        let operator = cx.tree().kind(operator);
        let left = evaluate(cx, left, device, MAX_DEPTH)?.digits;
        all &= match operator {
            Kind::In => is_listed(cx, &left, right, device)?,
            Kind::NotIn => !is_listed(cx, &left, right, device)?,
            _ => compare(
                operator,
                &left,
                &evaluate(cx, right, device, MAX_DEPTH)?.digits,
            )?,
        };
        rest = &rest[2..];
    }
    Some(all)
}

/// `major in (8, 9)`, `capability in [(8, 0), (9, 0)]`
fn is_listed(
    cx: &PythonChecker<'_>,
    wanted: &[i64],
    list: Node,
    device: Capability,
) -> Option<bool> {
    let tree = cx.tree();
    let list = cx.semantics.expression(list);
    if !matches!(tree.kind(list), Kind::Tuple | Kind::List | Kind::Set) {
        return None;
    }
    let mut found = false;
    for item in tree.parts(list) {
        found |= evaluate(cx, item, device, MAX_DEPTH)?.digits == wanted;
    }
    Some(found)
}

pub(crate) fn report(cx: &PythonChecker<'_>, node: Node, severity: Severity, message: String) {
    if is_named_after_amd(cx, node) {
        return;
    }
    // The test is skipped there, but nothing breaks.
    let severity = if decides_a_skip(cx, node) {
        Severity::Info
    } else {
        severity
    };
    let title = "Test for the feature, or add `torch.version.hip is None and`";
    cx.report_as(&RULE, severity, node, message, RawFix::display_only(title));
}

/// A number or a tuple of numbers, with its value on some device.
struct Number {
    digits: Vec<i64>,
    from_capability: bool,
}

impl Number {
    fn capability(device: Capability) -> Number {
        Number {
            digits: vec![device.0, device.1],
            from_capability: true,
        }
    }

    fn one(digit: i64, from_capability: bool) -> Option<Number> {
        Some(Number {
            digits: vec![digit],
            from_capability,
        })
    }
}

fn evaluate(cx: &PythonChecker<'_>, node: Node, device: Capability, depth: u8) -> Option<Number> {
    let depth = depth.checked_sub(1)?;
    let tree = cx.tree();
    if let Some(Value::Unpacked(value, index)) =
        cx.semantics.binding(node).map(|binding| binding.value)
    {
        let whole = evaluate(cx, value, device, depth)?;
        return Number::one(*whole.digits.get(index)?, whole.from_capability);
    }
    let node = cx.semantics.expression(node);
    match tree.kind(node) {
        Kind::Integer => Number::one(integer(&cx.semantics, node)?, false),
        // `(major, minor)`, `(9, 0)`
        Kind::Tuple => {
            let mut whole = Number {
                digits: Vec::new(),
                from_capability: false,
            };
            for part in tree.parts(node) {
                let part = evaluate(cx, part, device, depth)?;
                let [digit] = part.digits[..] else {
                    return None;
                };
                whole.digits.push(digit);
                whole.from_capability |= part.from_capability;
            }
            Some(whole)
        }
        Kind::Call => match cx.callee(node) {
            Some(function) => function
                .is("torch.cuda.get_device_capability")
                .then(|| Number::capability(device)),
            // `def get_sm(): major, minor = torch.cuda.get_device_capability(); return major * 10 + minor`
            None => evaluate(cx, only_returned(cx, node)?, device, depth),
        },
        Kind::Identifier if is_capability_parameter(cx, node) => Some(Number::capability(device)),
        Kind::Identifier if is_version_parameter(cx, node) => {
            Number::one(device.0 * 10 + device.1, true)
        }
        Kind::Subscript => {
            let whole = evaluate(cx, tree.child(node, Field::Value)?, device, depth)?;
            let index = integer(&cx.semantics, tree.child(node, Field::Subscript)?)?;
            Number::one(
                *whole.digits.get(usize::try_from(index).ok()?)?,
                whole.from_capability,
            )
        }
        Kind::Attribute => {
            let digit = match tree.text(tree.child(node, Field::Attribute)?) {
                "major" => device.0,
                "minor" => device.1,
                _ => return None,
            };
            let properties = cx.semantics.expression(tree.child(node, Field::Object)?);
            cx.callee(properties)?
                .is("torch.cuda.get_device_properties")
                .then(|| Number::one(digit, true))?
        }
        Kind::BinaryOperator => {
            let left = evaluate(cx, tree.child(node, Field::Left)?, device, depth)?;
            let right = evaluate(cx, tree.child(node, Field::Right)?, device, depth)?;
            let ([a], [b]) = (&left.digits[..], &right.digits[..]) else {
                return None;
            };
            let digit = match tree.kind(tree.child(node, Field::Operator)?) {
                Kind::Plus => a.checked_add(*b)?,
                Kind::Times => a.checked_mul(*b)?,
                _ => return None,
            };
            Number::one(digit, left.from_capability || right.from_capability)
        }
        _ => None,
    }
}

/// A parameter such as `capability`, where it is indexed or compared with tuples. Compared with a number it is an SM
/// version such as 90.
fn is_capability_parameter(cx: &PythonChecker<'_>, node: Node) -> bool {
    const NAMES: &[&str] = &[
        "capability",
        "compute_capability",
        "cuda_capability",
        "device_capability",
    ];
    let tree = cx.tree();
    let is_tuple = |side: Node| {
        let side = cx.semantics.expression(side);
        match tree.kind(side) {
            Kind::Tuple => true,
            Kind::List | Kind::Set => tree
                .parts(side)
                .next()
                .is_some_and(|item| tree.kind(item) == Kind::Tuple),
            _ => false,
        }
    };
    let is_used_as_tuple = |parent: Node| match tree.kind(parent) {
        Kind::Subscript => true,
        Kind::ComparisonOperator => tree
            .parts(parent)
            .step_by(2)
            .any(|side| side != node && is_tuple(side)),
        _ => false,
    };
    NAMES.contains(&tree.text(node))
        && tree.parent(node).is_some_and(is_used_as_tuple)
        && is_parameter(cx, node)
}

/// A parameter such as `sm`, compared with an SM version, in a source that reads the GPU's.
fn is_version_parameter(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    matches!(tree.text(node), "sm" | "sm_version" | "sm_arch")
        && is_parameter(cx, node)
        && tree.source().contains("get_device_")
        && tree.parent(node).is_some_and(|parent| {
            tree.parts(parent).any(|side| {
                matches!(
                    tree.text(side),
                    "70" | "75" | "80" | "86" | "89" | "90" | "100" | "120"
                )
            })
        })
}

fn is_parameter(cx: &PythonChecker<'_>, node: Node) -> bool {
    let binding = cx.semantics.binding(node);
    matches!(
        binding.map(|binding| binding.value),
        Some(Value::Parameter(_))
    )
}

fn compare(operator: Kind, left: &[i64], right: &[i64]) -> Option<bool> {
    let ordering = left.cmp(right);
    Some(match operator {
        Kind::Equal => ordering == Ordering::Equal,
        Kind::NotEqual => ordering != Ordering::Equal,
        Kind::Less => ordering == Ordering::Less,
        Kind::LessEqual => ordering != Ordering::Greater,
        Kind::Greater => ordering == Ordering::Greater,
        Kind::GreaterEqual => ordering != Ordering::Less,
        _ => return None,
    })
}

/// `driver.active.get_current_target().arch >= 90`, in a source that does not distinguish Triton's backends
fn orders_arch(cx: &PythonChecker<'_>, operator: Kind, sides: [Node; 2]) -> bool {
    let tree = cx.tree();
    let is_arch = |side: &Node| {
        let side = cx.semantics.expression(*side);
        tree.child(side, Field::Attribute)
            .is_some_and(|name| tree.text(name) == "arch")
            && tree.child(side, Field::Object).is_some_and(|object| {
                called(cx, cx.semantics.expression(object)) == "get_current_target"
            })
    };
    matches!(
        operator,
        Kind::Less | Kind::LessEqual | Kind::Greater | Kind::GreaterEqual
    ) && sides.iter().any(is_arch)
        && sides
            .iter()
            .any(|side| integer(&cx.semantics, *side).is_some())
        && !cx.mentions_hip()
        && !has_any_text(cx, &["backend ==", "backend !=", "backend in", "is_cuda"])
}

/// `"sm_90" in torch.cuda.get_arch_list()`, `f"sm_{major}{minor}" == "sm_90"`
fn compares_arch_names(cx: &PythonChecker<'_>, left: Node, right: Node) -> bool {
    let tree = cx.tree();
    let is_sm = |node| {
        string_parts(&cx.semantics, node)
            .first()
            .is_some_and(|text| text.starts_with("sm_"))
    };
    let is_list = |node| {
        cx.callee(cx.semantics.expression(node))
            .is_some_and(|name| name.is("torch.cuda.get_arch_list"))
    };
    let is_built = |node: Node| {
        let string = cx.semantics.expression(node);
        tree.kind(string) == Kind::String
            && tree.subtree(string).any(|part| {
                tree.kind(part) == Kind::Interpolation
                    && tree
                        .parts(part)
                        .next()
                        .and_then(|inner| evaluate(cx, inner, ADA, MAX_DEPTH))
                        .is_some_and(|number| number.from_capability)
            })
    };
    (is_sm(left) && is_list(right))
        || (is_sm(left) && is_sm(right) && (is_built(left) || is_built(right)))
}
