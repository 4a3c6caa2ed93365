//! HW710: the CUDA backend's libdevice, and functions that AMD's backend does not have.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::{called, contains_any, has_any_text};
use crate::semantic::is_import_guarded;
use crate::syntax::{Field, Kind, Node};

declare_rule! {
    /// ## What it does
    ///
    /// Finds imports from `triton.language.extra.cuda` and from Gluon's module for NVIDIA GPUs, uses of their functions such as
    /// `tl.extra.cuda.libdevice.tanh`, and calls of functions of `triton.language.extra.libdevice` that have no AMD equivalent, or of
    /// `triton.language.libdevice` and of `triton.language.math`, such as `tl.math.log1p`, which Triton 3 does not have. Also finds `GPUTarget("cuda", …)`, and the `ptx` and `cubin` of
    /// a compiled kernel.
    ///
    /// ## Why on ROCm
    ///
    /// `triton.language.extra.libdevice` selects the backend's functions when a kernel is compiled. The `cuda` module
    /// is for NVIDIA only: Triton stops with "Implicit conversion of CUDA … device function has been dropped". AMD's
    /// module has some 60 of the 200 functions; the others, such as `fast_sinf` or `float_as_int`, fail to compile as
    /// well.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    /// from triton.language.extra.cuda import libdevice
    ///
    /// @triton.jit
    /// def error_function(x):
    ///     return libdevice.erf(x)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    /// from triton.language.extra import libdevice
    ///
    /// @triton.jit
    /// def error_function(x):
    ///     return libdevice.erf(x)
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe for an import of `libdevice` or from it: the general module has all of these functions on NVIDIA. Other
    /// contents of the `cuda` module, such as `globaltimer`, have no general form.
    ///
    /// ## References
    ///
    /// * [Triton tutorial: libdevice functions](https://triton-lang.org/main/getting-started/tutorials/07-extern-functions.html)
    /// * [triton/language/extra/libdevice.py](https://github.com/triton-lang/triton/blob/main/python/triton/language/extra/libdevice.py)
    /// * [third_party/amd: libdevice.py](https://github.com/triton-lang/triton/blob/main/third_party/amd/language/hip/libdevice.py)
    "HW710" "triton-cuda-libdevice" {
        title: "The CUDA backend's libdevice",
        family: Triton,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("optimize/fused-rmsnorm"),
        visit: [ImportFromStatement, Attribute, Call],
    }
}

const CUDA: &str = "triton.language.extra.cuda";
/// The part of Gluon for NVIDIA GPUs, with and without `language.`
const GLUON: &str = "triton.experimental.gluon.";
const FOR_NVIDIA: &str =
    "Except for libdevice, the contents of this module exist on NVIDIA GPUs only.";
const LIBDEVICE: &str =
    "This is the CUDA backend's libdevice: a kernel that uses it does not compile for AMD GPUs.";
const IMPORT: &str = "Import libdevice from triton.language.extra";

/// The functions of AMD's backend, as of Triton 3.9.
const ON_AMD: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fast_dividef",
    "fast_expf",
    "fast_tanhf",
    "finitef",
    "floor",
    "fma",
    "fmod",
    "hypot",
    "ilogb",
    "isfinited",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "ldexp",
    "lgamma",
    "llrint",
    "log",
    "log10",
    "log1p",
    "log2",
    "nearbyint",
    "nextafter",
    "popc",
    "pow",
    "rint",
    "round",
    "rsqrt",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "y0",
    "y1",
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    if !has_any_text(cx, &["libdevice", "extra.cuda", GLUON]) {
        return;
    }
    match cx.tree().kind(node) {
        Kind::Call => check_call(cx, node),
        Kind::Attribute => check_attribute(cx, node),
        _ => check_import(cx, node),
    }
}

fn check_import(cx: &PythonChecker<'_>, statement: Node) {
    let tree = cx.tree();
    let Some(module) = tree.child(statement, Field::ModuleName) else {
        return;
    };
    let path = tree.text(module);
    let gluon = || {
        // Within a function the rest of the source may be for every GPU.
        let is_top = tree.parent(statement) == Some(tree.root());
        let part = path.strip_prefix(GLUON).filter(|_| is_top)?;
        part.strip_prefix("language.")
            .unwrap_or(part)
            .strip_prefix("nvidia")
    };
    let Some(rest) = path.strip_prefix(CUDA).or_else(gluon) else {
        return;
    };
    let errors = ["ImportError", "ModuleNotFoundError"];
    if is_import_guarded(&cx.semantics, statement, &errors) || is_for_old_triton(cx, statement) {
        return;
    }
    let only_libdevice = rest == ".libdevice"
        || tree
            .children_in(statement, Field::Name)
            .all(|name| tree.text(name).split_whitespace().next() == Some("libdevice"));
    if !only_libdevice {
        cx.report(
            &RULE,
            module,
            FOR_NVIDIA,
            RawFix::display_only("Import it only if torch.version.hip is None"),
        );
        return;
    }
    let edits = vec![(tree.span(module), format!("triton.language.extra{rest}"))];
    cx.report(
        &RULE,
        module,
        LIBDEVICE,
        RawFix::safe_edits("Import the libdevice that selects the backend", edits),
    );
}

/// `except ModuleNotFoundError:` after an import of the libdevice that selects the backend: only an old Triton has none.
fn is_for_old_triton(cx: &PythonChecker<'_>, statement: Node) -> bool {
    let tree = cx.tree();
    tree.ancestors(statement)
        .find(|around| tree.kind(*around) == Kind::ExceptClause)
        .and_then(|handler| tree.parent(handler))
        .and_then(|whole| tree.child(whole, Field::Body))
        .is_some_and(|body| {
            contains_any(
                tree.text(body),
                &[
                    "triton.language.extra.libdevice",
                    "triton.language.extra import libdevice",
                ],
            )
        })
}

/// `tanh = tl.extra.cuda.libdevice.tanh`. Names that were imported from there are reported at their import.
fn check_attribute(cx: &PythonChecker<'_>, node: Node) {
    let tree = cx.tree();
    let text = tree.text(node);
    let is_part = tree
        .parent(node)
        .is_some_and(|parent| tree.kind(parent) == Kind::Attribute);
    if is_part
        || !text.contains("extra.cuda.")
        || has_any_text(cx, &["extra.hip"])
        || is_for_old_triton(cx, node)
        || !cx.resolve(node).is_some_and(|name| name.is_in(CUDA))
    {
        return;
    }
    let (message, title) = if text.contains(".libdevice") {
        (LIBDEVICE, IMPORT)
    } else {
        (FOR_NVIDIA, "Use it only on NVIDIA GPUs")
    };
    cx.report(&RULE, node, message, RawFix::display_only(title));
}

fn check_call(cx: &PythonChecker<'_>, call: Node) {
    if called(cx, call).is_empty() {
        return;
    }
    let Some(callee) = cx.callee(call) else {
        return;
    };
    // `multiply = libdevice.mul_rn` has a different name here.
    let name = callee.last();
    if callee.is_in("triton.language.libdevice") {
        cx.report(
            &RULE,
            call,
            "This is the libdevice of Triton 2, which is CUDA's; Triton 3 has no such module.",
            RawFix::display_only(IMPORT),
        );
        return;
    }
    let is_libdevice = callee.parts().len() == 5 && callee.is_in("triton.language.extra.libdevice");
    if !is_libdevice || ON_AMD.contains(&name) {
        return;
    }
    cx.report(
        &RULE,
        call,
        format!("AMD's libdevice has no {name}: the kernel does not compile."),
        RawFix::display_only("Write it with functions of triton.language"),
    );
}
