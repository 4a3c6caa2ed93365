//! HW304: TF32, which few AMD architectures support.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::first;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, Condition, filled};
use crate::semantic::{Value, string};
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds code that requests TF32 on a target without it: `allow_tf32 = True`,
    /// `set_float32_matmul_precision("high")`, `fp32_precision = "tf32"`, and `input_precision="tf32"` in a Triton
    /// kernel. On every target, finds the argument `tf32=True` of Transformers and TRL, also in a script: `--tf32 True`.
    ///
    /// ## Why on ROCm
    ///
    /// gfx942 multiplies TF32 in its matrix units, and PyTorch uses them through hipBLASLt. gfx90a and Radeon GPUs never
    /// had TF32, and gfx950 removed it from the hardware. PyTorch silently accepts the setting on every GPU: without
    /// TF32, float32 products keep full precision and do not get faster. Triton is stricter: `tl.dot` with a precision that the
    /// target lacks does not compile. So is Transformers: `TrainingArguments(tf32=True)` raises ValueError in every ROCm build,
    /// because `torch.version.cuda` is None there.
    ///
    /// ## Example
    ///
    /// ```python arch=gfx950
    /// import triton
    /// import triton.language as tl
    ///
    ///
    /// @triton.jit
    /// def product(a, b):
    ///     return tl.dot(a, b, input_precision="tf32")
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python arch=gfx950
    /// import triton
    /// import triton.language as tl
    ///
    ///
    /// @triton.jit
    /// def product(a, b):
    ///     return tl.dot(a, b, input_precision="ieee")
    /// ```
    ///
    /// `"bf16x3"` is Triton's compromise on AMD GPUs. In PyTorch, use `torch.autocast` with bfloat16 to speed up
    /// float32 models.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the product is more precise, and slower. The findings on PyTorch settings are display-only; the settings
    /// do no harm.
    ///
    /// ## References
    ///
    /// * [HIP (ROCm) semantics: TF32](https://docs.pytorch.org/docs/stable/notes/hip.html)
    /// * [Data types and precision support](https://rocm.docs.amd.com/en/latest/reference/precision-support.html)
    /// * [Triton, AMD backend](https://github.com/triton-lang/triton/blob/main/third_party/amd/backend/compiler.py)
    "HW304" "tf32" {
        title: "TF32 is not available on every target",
        family: BackendCode,
        severity: Info,
        also: [Error "for Triton's tf32x3, and for Transformers' argument"],
        applicability: Unsafe,
        targets: "every target but gfx942; Triton's tf32x3 and Transformers' argument on all",
        lesson: Some("optimize/eight-bits"),
        visit: [Assignment, Call, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const TITLE: &str = "Use torch.autocast with bfloat16 where speed matters";

const NO_PRECISION: &str =
    "Triton has no such precision on {arch}, and the kernel does not compile.";

const fn dot(precision: &'static [&'static str], when: Condition) -> ApiRule {
    ApiRule {
        pattern: ApiPattern::Keyword("triton.language.dot", "input_precision", precision),
        when,
        severity: Severity::Error,
        message: NO_PRECISION,
        fix: ApiFix::unsafe_edit("Use \"ieee\", or \"bf16x3\"", "\"ieee\""),
    }
}

const USES: &[ApiRule] = &[
    dot(&["tf32"], Condition::on(|arch| !arch.has_xf32())),
    dot(&["tf32x3"], Condition::ALWAYS),
];

const SETTING: &str = "{arch} has no TF32 in hardware: the setting is silently accepted, and float32 products get no faster.";

fn check(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    match tree.kind(node) {
        Kind::KeywordArgument => {
            table_rules::check(cx, &RULE, USES, node);
            check_argument(cx, node);
            check_default(cx, node);
        }
        _ if cx.target().arch.has_xf32() => {}
        Kind::Assignment => {
            if requests_tf32(cx, node) == Some(true) {
                report(cx, node);
            }
        }
        _ => {
            let asks = cx
                .callee(node)
                .is_some_and(|name| name.is("torch.set_float32_matmul_precision"))
                && first(cx, node)
                    .is_some_and(|first| string(&cx.semantics, first) == Some("high"));
            if asks {
                report(cx, node);
            }
        }
    }
}

pub const RAISES: &str =
    "Transformers raises ValueError here: it accepts tf32 only if torch.version.cuda is set.";
pub const OMIT: &str = "Omit it, and call torch.set_float32_matmul_precision(\"high\")";

/// `TrainingArguments(tf32=True)`, `SFTConfig(tf32=True)`
fn check_argument(cx: &PythonChecker<'_>, argument: Node) {
    let tree = cx.tree();
    let is_set = |field, text| {
        tree.child(argument, field)
            .is_some_and(|part| tree.text(part) == text)
    };
    if is_set(Field::Name, "tf32")
        && is_set(Field::Value, "True")
        && tree
            .parent(argument)
            .and_then(|arguments| tree.parent(arguments))
            .and_then(|call| cx.callee(call))
            .is_some_and(|name| matches!(name.root(), "transformers" | "trl"))
        && !cx.mentions_hip()
    {
        let fix = RawFix::display_only(OMIT);
        cx.report_as(&RULE, Severity::Error, argument, RAISES, fix);
    }
}

/// `input_precision=PRECISION` with the kernel's parameter `PRECISION: tl.constexpr = "tf32x3"`, which the source does not
/// pass.
fn check_default(cx: &PythonChecker<'_>, argument: Node) {
    let tree = cx.tree();
    let text = |field| tree.child(argument, field).map(|part| tree.text(part));
    let is_default = tree
        .child(argument, Field::Value)
        .and_then(|value| cx.semantics.binding(value))
        .is_some_and(|binding| {
            matches!(binding.value, Value::Parameter(Some(default))
                if string(&cx.semantics, default) == Some("tf32x3"))
        });
    // `kernel[grid](PRECISION="ieee")`, `triton.Config({"PRECISION": "ieee"})`
    let is_passed = |name| {
        let mut uses = tree.source().split(name).skip(1);
        uses.any(|rest| rest.starts_with(['=', '"', '\'']))
    };
    if is_default
        && text(Field::Name) == Some("input_precision")
        && cx.may_look_at(tree.node_count())
        && !text(Field::Value).is_some_and(is_passed)
    {
        let message = filled(NO_PRECISION, cx.target());
        let fix = RawFix::display_only("Use \"ieee\", or \"bf16x3\"");
        cx.report_as(&RULE, Severity::Error, argument, message, fix);
    }
}

fn report(cx: &PythonChecker<'_>, node: Node) {
    let message = filled(SETTING, cx.target());
    cx.report(&RULE, node, message, RawFix::display_only(TITLE));
}

/// `torch.backends.cuda.matmul.allow_tf32 = True`, `torch.backends.cuda.matmul.fp32_precision = "tf32"`
fn requests_tf32(cx: &PythonChecker<'_>, assignment: Node) -> Option<bool> {
    let tree = cx.tree();
    let left = tree.child(assignment, Field::Left)?;
    let right = tree.child(assignment, Field::Right)?;
    let member = tree.text(tree.child(left, Field::Attribute)?);
    let wanted = match member {
        "allow_tf32" => tree.kind(right) == Kind::True,
        "fp32_precision" => string(&cx.semantics, right) == Some("tf32"),
        _ => return None,
    };
    let name = cx.resolve(left)?;
    Some(wanted && name.is_in("torch.backends") && !name.is_in("torch.backends.mkldnn"))
}
