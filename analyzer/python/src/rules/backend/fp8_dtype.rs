//! HW308: the FP8 format that the target's matrix units support.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{assigned_to, contains_any, function_parameter, has_text};
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Fp8Format;

declare_rule! {
    /// ## What it does
    ///
    /// Finds tensors created in, or cast to, an FP8 format that the target's matrix units do not support, directly or
    /// through a function of the source, names such as `self.dtype` and `default_dtype` with that format, and `torch.finfo` of it, in
    /// code that multiplies or scales with it. In sources with TileLang kernels, also finds its names of these formats.
    ///
    /// ## Why on ROCm
    ///
    /// There are two families. gfx942 multiplies `float8_e4m3fnuz` and `float8_e5m2fnuz`, which have a different bias
    /// and a largest e4m3 value of 240. gfx950, gfx1200, gfx1201 and gfx1250 multiply the same formats as NVIDIA,
    /// `float8_e4m3fn` and `float8_e5m2`, with values up to 448. Other AMD GPUs, such as gfx90a, do not multiply FP8.
    /// With the wrong format `torch._scaled_mm` raises, Triton emulates, and a scale computed with 448 overflows 240.
    ///
    /// ## Example
    ///
    /// ```python
    /// import torch
    ///
    /// one = torch.ones((), device="cuda")
    /// x = torch.randn(16, 16, device="cuda").to(torch.float8_e4m3fn)
    /// y = torch._scaled_mm(x, x.t(), scale_a=one, scale_b=one)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import torch
    ///
    /// one = torch.ones((), device="cuda")
    /// x = torch.randn(16, 16, device="cuda").to(torch.float8_e4m3fnuz)
    /// y = torch._scaled_mm(x, x.t(), scale_a=one, scale_b=one)
    /// ```
    ///
    /// For several targets, choose the format once, by `torch.cuda.get_device_properties(0).gcnArchName`. A source that
    /// uses both formats is not reported. To convert a checkpoint to the other format, map -0 to 0 and double its
    /// scale.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: range and rounding change, and the scales have to change with them. Display-only in a source with the number 448:
    /// a value above 240 becomes NaN in `float8_e4m3fnuz`.
    ///
    /// ## References
    ///
    /// * [Data types and precision support](https://rocm.docs.amd.com/en/latest/reference/precision-support.html)
    /// * [vLLM: normalize_e4m3fn_to_e4m3fnuz](https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/quantization/utils/w8a8_utils.py)
    "HW308" "fp8-dtype" {
        title: "The FP8 format depends on the architecture",
        family: BackendCode,
        severity: Warning,
        applicability: Unsafe,
        targets: "every ROCm target; the format depends on the architecture",
        lesson: Some("optimize/eight-bits"),
        visit: [Attribute],
    }
}
/// The two formats of each family.
const OCP: [&str; 2] = ["float8_e4m3fn", "float8_e5m2"];
const FNUZ: [&str; 2] = ["float8_e4m3fnuz", "float8_e5m2fnuz"];

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let Some(member) = tree.child(node, Field::Attribute) else {
        return;
    };
    let text = tree.text(member);
    if !text.starts_with("float8_e") || !is_made(cx, node) {
        return;
    }
    let (wrong, right) = match cx.target().arch.fp8() {
        Some(Fp8Format::Fnuz) => (&OCP, Some(&FNUZ)),
        Some(_) => (&FNUZ, Some(&OCP)),
        None => (&OCP, None),
    };
    let Some(index) = wrong.iter().position(|format| *format == text) else {
        return;
    };
    if cx
        .resolve(node)
        .is_none_or(|name| name.parts() != ["torch", text])
        || is_settled(cx, node)
    {
        return;
    }
    let arch = cx.target().arch.name();
    match right {
        Some(right) => {
            let right = right[index];
            let title = format!("Use torch.{right}");
            let mut message = format!("The matrix units of {arch} use {right}, not {text}: a scaled matmul with this raises, and the range differs.");
            // A value between 240 and 448 becomes NaN in the other format.
            let fix = if right == FNUZ[0] && has_maximum_of_ocp(cx) {
                message.push_str(" Its maximum is 240, not 448.");
                RawFix::display_only(format!("{title}, and torch.finfo of it for 448"))
            } else {
                RawFix::unsafe_edits(title, vec![(tree.span(member), right.to_owned())])
            };
            cx.report(&RULE, node, message, fix);
        }
        None => cx.report(
            &RULE,
            node,
            format!("{arch} has no FP8 matrix units: a scaled matmul raises, and other operations convert first."),
            RawFix::display_only("Use bfloat16 on this target"),
        ),
    }
}

/// True if the source has the number 448, the maximum of `float8_e4m3fn`.
pub(in crate::rules) fn has_maximum_of_ocp(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let is_it = |node: &Node| {
        matches!(tree.kind(*node), Kind::Integer | Kind::Float)
            && matches!(tree.text(*node), "448" | "448." | "448.0")
    };
    let find = || tree.nodes().find(is_it).into_iter().collect();
    has_text(cx, "448") && !cx.once("the number 448", find).is_empty()
}

/// True if the dtype creates a tensor, or numbers that depend on it: not in a comparison, a table or a default.
fn is_made(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    let Some(parent) = tree.parent(node) else {
        return false;
    };
    match tree.kind(parent) {
        // `torch.float8_e4m3fn if args.dtype == "fp8" else torch.bfloat16`
        Kind::ConditionalExpression | Kind::ParenthesizedExpression => is_made(cx, parent),
        Kind::KeywordArgument => tree
            .child(parent, Field::Name)
            .is_some_and(|name| tree.text(name) == "dtype"),
        // `torch.finfo(torch.float8_e4m3fn).bits` is the same in every format.
        Kind::ArgumentList if is_finfo(cx, parent) => tree
            .parent(parent)
            .and_then(|call| tree.parent(call))
            .and_then(|access| tree.child(access, Field::Attribute))
            .is_none_or(|field| matches!(tree.text(field), "max" | "min")),
        Kind::ArgumentList => tree
            .parent(parent)
            .and_then(|call| tree.child(call, Field::Function))
            .is_some_and(|function| {
                let last = tree.child(function, Field::Attribute).unwrap_or(function);
                matches!(tree.text(last), "to" | "type")
                    || makes_tensor_of_argument(cx, function, parent, node)
            }),
        // `FP8 = torch.float8_e4m3fn`, as a constant; `self.dtype = torch.float8_e4m3fn`, `default_dtype = …`
        Kind::Assignment => tree.child(parent, Field::Left).is_some_and(|left| {
            let text = tree.text(left);
            // `elif args.dtype == "fp8_e5m2":` before it: the format that the user asked for, as in a table
            let is_chosen = tree
                .ancestors(parent)
                .filter_map(|clause| tree.child(clause, Field::Condition))
                .any(|condition| contains_any(tree.text(condition), CHOICES));
            if is_chosen {
                return false;
            }
            match tree.kind(left) {
                Kind::Identifier if text.bytes().all(|byte| !byte.is_ascii_lowercase()) => true,
                Kind::Identifier | Kind::Attribute => text.ends_with("dtype"),
                _ => false,
            }
        }),
        _ => false,
    }
}

/// `cast(x, torch.float8_e4m3fn)`: a function of this source passes the argument on as a dtype.
fn makes_tensor_of_argument(
    cx: &PythonChecker<'_>,
    function: Node,
    arguments: Node,
    argument: Node,
) -> bool {
    let tree = cx.tree();
    let Some(Value::Function(definition)) =
        cx.semantics.binding(function).map(|binding| binding.value)
    else {
        return false;
    };
    let Some(name) = tree
        .parts(arguments)
        .position(|other| other == argument)
        .and_then(|position| function_parameter(cx, definition, position))
    else {
        return false;
    };
    cx.any_within(definition, &|part| {
        tree.kind(part) == Kind::Identifier && tree.text(part) == name && {
            let parent = tree.parent(part);
            match parent.map(|parent| tree.kind(parent)) {
                Some(Kind::KeywordArgument | Kind::ArgumentList) => is_made(cx, part),
                _ => false,
            }
        }
    })
}

/// The whole source is checked once, at its first FP8 type.
fn is_settled(cx: &PythonChecker<'_>, node: Node) -> bool {
    let tree = cx.tree();
    // `FP8_DTYPE = …`: other sources compute with it.
    let is_named = assigned_to(cx, node)
        .is_some_and(|name| contains_any(tree.text(name), &["FP8", "E4M3", "E5M2"]));
    let find = || {
        if is_right_as_it_is(cx, is_named) {
            vec![tree.root()]
        } else {
            Vec::new()
        }
    };
    cx.mentions_hip() || !cx.once(RULE.id, find).is_empty()
}

fn is_finfo(cx: &PythonChecker<'_>, arguments: Node) -> bool {
    cx.tree()
        .parent(arguments)
        .and_then(|call| cx.callee(call))
        .is_some_and(|name| name.is("torch.finfo"))
}

/// The formats in options.
const CHOICES: &[&str] = &["\"fp8_e", "'fp8_e", "\"float8_e", "'float8_e"];

/// Names in sources written for one NVIDIA GPU, where the format is the smallest part of the port, and in sources that
/// only store weights in FP8.
const EXEMPT: &[&str] = &["sm90", "sm100", "hopper", "blackwell", "weight_only"];

/// True if the source uses both families, stores scales of block-scaled formats (whose type is the same everywhere), or
/// neither multiplies nor scales on a GPU: then the format only reduces the size.
fn is_right_as_it_is(cx: &PythonChecker<'_>, is_named: bool) -> bool {
    let tree = cx.tree();
    let mut has_ocp = false;
    let mut has_fnuz = false;
    let mut multiplies = is_named;
    let mut scales = false;
    let mut has_gpu = is_named;
    let mut has_block_scales = false;
    let mut has_fp8_gemm = false;
    for node in tree.nodes() {
        if !matches!(tree.kind(node), Kind::Identifier | Kind::StringContent) {
            continue;
        }
        let text = tree.text(node);
        has_ocp |= OCP.contains(&text);
        if text.len() < 80 {
            let lower = text.to_ascii_lowercase();
            // `normalize_e4m3fn_to_e4m3fnuz`, `is_fp8_fnuz()`
            has_fnuz |= lower.contains("fnuz");
            // A string such as "ue8m0" names an option, which the source may not use.
            let is_name = tree.kind(node) == Kind::Identifier;
            if is_name && contains_any(&lower, &["nvfp4", "mxfp"]) || contains_any(&lower, EXEMPT) {
                return true;
            }
            has_block_scales |= is_name && contains_any(&lower, &["e8m0", "fp4"]);
            has_fp8_gemm |= contains_any(&lower, &["fp8_gemm", "gemm_fp8", "fp4_gemm"]);
            multiplies |=
                text == "dot" || contains_any(&lower, &["scaled_mm", "scaled_grouped_mm"]);
            // `qk_int8_pv_fp8_kernel`
            multiplies |= lower.contains("fp8")
                && contains_any(
                    &lower,
                    &[
                        "kernel", "attn", "sdpa", "linear", "matmul", "_mm_", "bmm", "index",
                        "logits",
                    ],
                );
            scales |= text == "finfo";
            has_gpu |= contains_any(&lower, &["cuda", "triton"]);
        }
    }
    // A product with FP8 operands needs the target's format, whatever the type of its scales.
    multiplies |= has_fp8_gemm;
    has_block_scales && !has_fp8_gemm || has_ocp && has_fnuz || !(multiplies || scales && has_gpu)
}
