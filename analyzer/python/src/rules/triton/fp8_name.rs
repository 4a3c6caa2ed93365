//! HW711: Triton's names of FP8 formats, by target.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::backend::fp8_dtype::has_maximum_of_ocp;
use crate::rules::helpers::calls::given_to;
use crate::rules::helpers::kernels::kernel_around;
use crate::semantic::Value;
use crate::syntax::{Field, Kind, Node};
use hipward_analyzer_core::{Fp8Format, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds Triton's FP8 types that the target's hardware does not support: `tl.float8e4nv`, `tl.float8e4b8`,
    /// `tl.float8e5b16`, `tl.float8e4b15`.
    ///
    /// ## Why on ROCm
    ///
    /// MI300 (gfx942) multiplies the FNUZ formats, `float8e4b8` and `float8e5b16`, whose largest E4M3 value is 240.
    /// MI350 (gfx950), RDNA 4 (gfx1200, gfx1201) and gfx1250 multiply the OCP formats, `float8e4nv` and `float8e5`, up to
    /// 448, as NVIDIA does. MI200 (gfx90a) and RDNA 3 have no FP8. Triton converts the other formats in software: the result is correct, but a matrix product
    /// is slow. `float8e4b15` is a format of NVIDIA's older GPUs and does not compile for AMD.
    ///
    /// ## Example
    ///
    /// ```python arch=gfx942
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def quantize(x):
    ///     return x.to(tl.float8e4nv)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python arch=gfx942
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def quantize(x):
    ///     return x.to(tl.float8e4b8)
    /// ```
    ///
    /// Code for both architectures should use the type of the tensor's pointer. A source that names both kinds already
    /// selects one and is not reported.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: scales and stored weights have to be converted. Display-only beside the number 448, which is NaN in the other
    /// format, and in a bitcast.
    ///
    /// ## References
    ///
    /// * [ROCm: data types and precision support](https://rocm.docs.amd.com/en/latest/reference/precision-support.html)
    /// * [triton: third_party/amd/backend/compiler.py](https://github.com/triton-lang/triton/blob/main/third_party/amd/backend/compiler.py)
    "HW711" "triton-fp8-name" {
        title: "An FP8 format that the GPU does not support",
        family: Triton,
        severity: Warning,
        also: [Error "for a format that Triton cannot convert on AMD GPUs"],
        applicability: Unsafe,
        targets: "every ROCm target; the format depends on the architecture",
        lesson: Some("optimize/eight-bits"),
        visit: [Attribute],
    }
}

fn check(cx: &PythonChecker<'_>, attribute: Node) {
    let tree = cx.tree();
    let Some(member) = tree.child(attribute, Field::Attribute) else {
        return;
    };
    let name = tree.text(member);
    if !name.starts_with("float8e") {
        return;
    }
    let is_triton = cx
        .resolve(attribute)
        .is_some_and(|path| path.is_in("triton.language"));
    // `x.dtype == tl.float8e4nv` is a test, not a selection.
    let is_tested = tree
        .ancestors(attribute)
        .take_while(|node| tree.kind(*node) != Kind::Block)
        .any(|node| {
            matches!(
                tree.kind(node),
                Kind::ComparisonOperator | Kind::Pair | Kind::AssertStatement
            )
        });
    // In a kernel, or passed to one; a table of types on the host only lists them.
    let is_used = kernel_around(cx, attribute).is_some() || given_to(cx, attribute).is_some();
    if !is_triton || is_tested || !is_used {
        return;
    }
    if name.starts_with("float8e4b15") {
        cx.report_as(
            &RULE,
            Severity::Error,
            member,
            "Triton has no conversion to this format on AMD GPUs: the kernel does not compile.",
            RawFix::display_only("Use float8e4b8 on gfx942, float8e4nv on gfx950 and gfx12"),
        );
        return;
    }
    let (formats, instead) = match (cx.target().arch.fp8(), name) {
        (None, _) => (None, None),
        (Some(Fp8Format::Fnuz), "float8e4nv") => (Some("FNUZ"), Some("float8e4b8")),
        (Some(Fp8Format::Ocp), "float8e4b8") => (Some("OCP"), Some("float8e4nv")),
        (Some(Fp8Format::Ocp), "float8e5b16") => (Some("OCP"), Some("float8e5")),
        _ => return,
    };
    let arch = cx.target().arch.name();
    let message = match formats {
        None => format!("{arch} has no FP8: Triton converts it in software."),
        Some(formats) => {
            format!("{arch} has the {formats} formats: Triton converts this one in software.")
        }
    };
    if chooses(cx) || is_callers(cx, attribute, name) {
        return;
    }
    // The bits of stored numbers, and values up to 448, have another meaning in the other format.
    let is_fixed = has_maximum_of_ocp(cx)
        || tree
            .parent(attribute)
            .is_some_and(|list| tree.text(list).contains("bitcast"));
    let fix = match instead.filter(|_| !is_fixed) {
        Some(instead) => RawFix::unsafe_edits(
            format!("Use tl.{instead}, with scales for its range"),
            vec![(tree.span(member), instead.to_owned())],
        ),
        None if is_fixed => {
            RawFix::display_only("Use the other format, with its range and its bits")
        }
        None => RawFix::display_only("Use bfloat16 or int8"),
    };
    cx.report(&RULE, member, message, fix);
}

/// `tl.float8e4nv if FP8 else tl.float16` with a parameter, and code in `if c_ptr.dtype.element_ty == tl.float8e4nv:`: the
/// kernel follows the tensors that it gets, and the code that creates them selects the format.
fn is_callers(cx: &PythonChecker<'_>, attribute: Node, name: &str) -> bool {
    let tree = cx.tree();
    tree.ancestors(attribute)
        .take_while(|node| tree.kind(*node) != Kind::FunctionDefinition)
        .any(|node| match tree.kind(node) {
            Kind::ConditionalExpression => tree.parts(node).nth(1).is_some_and(|condition| {
                matches!(
                    cx.semantics.binding(condition).map(|found| found.value),
                    Some(Value::Parameter(_))
                )
            }),
            Kind::IfStatement | Kind::ElifClause => tree
                .child(node, Field::Condition)
                .is_some_and(|condition| tree.text(condition).contains(name)),
            _ => false,
        })
}

/// The source names Triton's formats of both kinds, or checks for FNUZ: its author selects between them. PyTorch's FNUZ
/// types do not show that the kernel handles them.
fn chooses(cx: &PythonChecker<'_>) -> bool {
    let tree = cx.tree();
    let find = || {
        let names = |is_such: &dyn Fn(&str) -> bool| {
            tree.nodes().any(|node| {
                matches!(tree.kind(node), Kind::Identifier | Kind::StringContent)
                    && is_such(tree.text(node))
            })
        };
        let asks = names(&|text| text.contains("fnuz") && !text.starts_with("float8_e"));
        let both = || names(&|text| text.contains("e4b8")) && names(&|text| text.contains("e4nv"));
        if asks || both() {
            vec![tree.root()]
        } else {
            Vec::new()
        }
    };
    !cx.once("fp8 formats", find).is_empty()
}
