//! HW708: a store that converts to a fixed type.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{
    argument, called, contains_any, first_value, keyword, latest, name_of, receiver,
};
use crate::rules::helpers::kernels::{is_tl, kernel_around, parameters, pointer};
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `tl.store(…, value.to(tl.bfloat16))` and the same with `tl.float16`: a type that is fixed in the kernel.
    ///
    /// ## Why on ROCm
    ///
    /// A float32 output silently gets values that were rounded to 8 bits of mantissa; a reference test in bfloat16 does
    /// not detect it. `tl.store` converts to the type of the pointer by itself, so the cast only loses precision. GPUs
    /// before MI350 (gfx950) have no instruction that converts to bfloat16, and each conversion takes several
    /// instructions.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    ///     tl.store(y_ptr + offsets, (2 * x).to(tl.bfloat16), mask=mask)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    /// @triton.jit
    /// def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    ///     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ///     mask = offsets < n
    ///     x = tl.load(x_ptr + offsets, mask=mask).to(tl.float32)
    ///     tl.store(y_ptr + offsets, (2 * x).to(y_ptr.dtype.element_ty), mask=mask)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: an output of another type gets different values. This is intended.
    ///
    /// ## References
    ///
    /// * [triton.language.store](https://triton-lang.org/main/python-api/generated/triton.language.store.html)
    "HW708" "triton-store-dtype" {
        title: "A store with a fixed type",
        family: Triton,
        severity: Advice,
        applicability: Unsafe,
        targets: "every target",
        lesson: Some("optimize/fused-rmsnorm"),
        visit: [Call],
    }
}

fn check(cx: &PythonChecker<'_>, store: Node) {
    let tree = cx.tree();
    let Some(dtype) = fixed_dtype(cx, store) else {
        return;
    };
    let Some(kernel) = kernel_around(cx, store) else {
        return;
    };
    // A kernel that is named after the type needs it; and one finding is enough for a kernel that unrolls its stores.
    let name = name_of(cx, kernel).to_ascii_lowercase();
    let is_meant = contains_any(&name, &["bf16", "bfloat16", "fp16", "half", "dequant"]);
    let is_first = !cx
        .within(kernel)
        .take_while(|earlier| *earlier < store)
        .any(|earlier| fixed_dtype(cx, earlier).is_some());
    if is_meant || !is_first {
        return;
    }
    let title = "Use the type of the pointer";
    let fix = match output(cx, kernel, store) {
        Some(name) => RawFix::unsafe_edits(
            title,
            vec![(tree.span(dtype), format!("{name}.dtype.element_ty"))],
        ),
        None => RawFix::display_only(title),
    };
    cx.report(
        &RULE,
        dtype,
        "The value is rounded to this type even if the output has a wider one.",
        fix,
    );
}

/// The `tl.bfloat16` of `tl.store(…, value.to(tl.bfloat16))`, directly or through a name.
fn fixed_dtype(cx: &PythonChecker<'_>, store: Node) -> Option<Node> {
    if !is_tl(cx, store, "store") {
        return None;
    }
    let cast = latest(cx, argument(cx, store, 1, "value")?);
    if called(cx, cast) != "to" || keyword(cx, cast, "bitcast").is_some() {
        return None;
    }
    receiver(cx, cast)?;
    let dtype = first_value(cx, cast)?;
    let is_fixed = cx.tree().kind(dtype) == Kind::Attribute
        && cx.resolve(dtype).is_some_and(|name| {
            name.is_any(&["triton.language.bfloat16", "triton.language.float16"])
        });
    is_fixed.then_some(dtype)
}

/// The parameter at the start of the store's pointer expression.
fn output<'a>(cx: &PythonChecker<'a>, kernel: Node, store: Node) -> Option<&'a str> {
    let tree = cx.tree();
    let mut base = tree.unparenthesized(pointer(cx, store)?);
    for _ in 0..12 {
        base = match tree.kind(base) {
            Kind::BinaryOperator => tree.unparenthesized(tree.child(base, Field::Left)?),
            Kind::Identifier => {
                let is_parameter = parameters(cx, kernel)
                    .iter()
                    .any(|parameter| tree.text(*parameter) == tree.text(base));
                if is_parameter {
                    return Some(tree.text(base));
                }
                match latest(cx, base) {
                    same if same == base => return None,
                    value => value,
                }
            }
            _ => return None,
        };
    }
    None
}
