//! HW928: C++ that nvcc accepts and clang does not.

use crate::{CudaChecker, Kind, Source, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};
use std::collections::HashSet;

declare_rule! {
    /// ## What it does
    ///
    /// Finds three mistakes in device code that nvcc accepts: a type of a template parameter without `typename`
    /// (`Traits::BlockLoadT(storage).Load(…)`), the storage class `register`, and a function with a result that contains no `return`.
    ///
    /// ## Why on ROCm
    ///
    /// HIP's compiler is clang. It stops with `missing 'typename' prior to dependent type name`, and since C++17, which is its default,
    /// with `ISO C++17 does not allow 'register' storage class specifier`. The end of a function that should return a value is
    /// undefined behavior: clang warns, and treats the code around a call as unreachable, so that a kernel can be empty.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// template <typename Traits>
    /// __global__ void load(typename Traits::Storage& storage, float* in, float (&out)[4]) {
    ///     register float scale = 2.0f;
    ///     Traits::BlockLoadT(storage).Load(in, out);
    ///     out[0] *= scale;
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// template <typename Traits>
    /// __global__ void load(typename Traits::Storage& storage, float* in, float (&out)[4]) {
    ///     float scale = 2.0f;
    ///     typename Traits::BlockLoadT(storage).Load(in, out);
    ///     out[0] *= scale;
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe for `typename` and `register`, which change nothing for nvcc. Display-only for a missing `return`.
    ///
    /// ## References
    ///
    /// * [HIP porting guide](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    /// * [Clang: diagnostic flags](https://clang.llvm.org/docs/DiagnosticsReference.html#wregister)
    "HW928" "nvcc-only-cpp" {
        title: "nvcc accepts this C++, clang does not",
        family: CudaCpp,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let qualifiers = ["__device__", "__global__"];
    let functions: Vec<u32> = qualifiers.iter().flat_map(|word| cx.uses(word)).collect();
    if functions.is_empty() {
        return;
    }
    for at in cx.uses("register") {
        storage_class(cx, at);
    }
    for parameter in type_parameters(source) {
        for at in source.places(parameter) {
            if cx.is_for_both(*at) {
                type_without_typename(cx, *at);
            }
        }
    }
    for at in functions {
        missing_return(cx, at);
    }
}

/// `register float x = 0;`, but not `register float x asm("v0");`, which binds a register.
fn storage_class(cx: &CudaChecker<'_>, at: u32) {
    /// An upper limit for the tokens of a declaration before its value.
    const MAX: u32 = 16;
    let source = cx.source;
    let mut declaration = (at + 1..at + MAX).map(|token| source.token_text(token));
    let is_declaration =
        source.kind(at + 1) == Kind::Word && !matches!(source.before(at, 1), "." | "->" | "#");
    let is_bound = declaration
        .find(|text| matches!(*text, "asm" | "__asm__" | "=" | ";" | "," | "{" | "["))
        .is_some_and(|text| text.contains("asm"));
    if !is_declaration || is_bound || source.is_macro("register") {
        return;
    }
    let word = source.span(at..at + 1);
    let with_space = word.start..source.span(at + 1..at + 2).start;
    cx.report(
        &RULE,
        at..at + 1,
        "clang refuses `register` in C++17 and later; nvcc ignores it.",
        RawFix::safe_edits("Remove `register`", vec![(with_space, String::new())]),
    );
}

/// The names of the type parameters of templates: `T` of `template <typename T, class = void>`.
fn type_parameters<'a>(source: &Source<'a>) -> HashSet<&'a str> {
    let places = ["typename", "class"]
        .iter()
        .flat_map(|word| source.places(word));
    places
        .filter(|at| {
            matches!(source.before(**at, 1), "<" | ",")
                && source.kind(*at + 1) == Kind::Word
                && matches!(source.token_text(*at + 2), "," | ">" | "=")
        })
        .map(|at| source.token_text(*at + 1))
        .collect()
}

/// `Traits::BlockLoadT(storage).Load(…)`: a temporary object of a type that depends on a template parameter. It is a type if
/// the source declares it, or by its name if it is one of CUB's.
fn type_without_typename(cx: &CudaChecker<'_>, at: u32) {
    let source = cx.source;
    let name = at + 2;
    if source.token_text(at + 1) != "::"
        || source.kind(name) != Kind::Word
        || source.token_text(name + 1) != "("
        || matches!(source.before(at, 1), "typename" | "::" | "." | "->")
    {
        return;
    }
    let word = source.token_text(name);
    let is_alias = |place: &u32| source.before(*place, 1) == "using";
    let is_type = source.places(word).iter().any(is_alias)
        || ["Block", "Warp"]
            .iter()
            .any(|start| word.starts_with(start));
    let is_temporary = source
        .partner(name + 1)
        .is_some_and(|close| source.token_text(close + 1) == ".");
    if !is_type || !is_temporary {
        return;
    }
    let start = source.span(at..at + 1).start;
    let whole = source.slice(at..name + 1);
    cx.report(
        &RULE,
        at..name + 1,
        format!("clang needs `typename` before `{whole}`, a type of a template parameter."),
        RawFix::safe_edits(
            "Write `typename`",
            vec![(start..start, "typename ".to_owned())],
        ),
    );
}

/// `__device__ float add(float x) { x + 1; }`
fn missing_return(cx: &CudaChecker<'_>, qualifier: u32) {
    let source = cx.source;
    let Some(body) = source.body_after(qualifier) else {
        return;
    };
    let Some(name) = (qualifier + 1..body.start).find(|at| is_function_name(source, *at)) else {
        return;
    };
    let function = source.token_text(name);
    let is_class = |at: &u32| matches!(source.before(*at, 1), "struct" | "class");
    if source.places(function).iter().any(is_class)
        || !has_result(source, qualifier + 1..name)
        || may_not_reach_its_end(source, body)
        || is_specialized(source, function)
    {
        return;
    }
    cx.report_as(
        &RULE,
        Severity::Error,
        HandledBy::You,
        name..name + 1,
        format!(
            "`{function}` has a result and no `return`; clang removes the code around a call of it."
        ),
        RawFix::display_only("Return the result, or declare the function `void`"),
    );
}

/// `template <> float root(float x)`: the template itself may have no use.
fn is_specialized(source: &Source<'_>, function: &str) -> bool {
    /// An upper limit for the tokens between `template <>` and the name.
    const MAX: u32 = 16;
    source.places("template").iter().any(|at| {
        source.reads(at + 1, &["<", ">"])
            && (at + 3..at + MAX).any(|token| source.token_text(token) == function)
    })
}

/// `name(`, not the parentheses of an attribute.
fn is_function_name(source: &Source<'_>, at: u32) -> bool {
    source.kind(at) == Kind::Word
        && source.token_text(at + 1) == "("
        && !source.token_text(at).starts_with("__")
        && !matches!(
            source.token_text(at),
            "decltype" | "noexcept" | "explicit" | "alignas"
        )
}

/// Whether the tokens before a function's name are a type other than `void`. The result of `auto` depends on the body.
fn has_result(source: &Source<'_>, before: Tokens) -> bool {
    let mut has_type = false;
    for at in before {
        match source.token_text(at) {
            "void" if source.token_text(at + 1) != "*" => return false,
            "auto" | "operator" | "~" | "template" | "requires" => return false,
            "inline" | "static" | "constexpr" | "const" | "explicit" | "extern" | "virtual" => {}
            // `__noinline__`, `TK_DEVICE`: qualifiers, or macros that may contain `void`.
            text if text.starts_with("__") => {}
            text if text.contains('_') && text.bytes().all(|byte| !byte.is_ascii_lowercase()) => {
                return false;
            }
            _ => has_type |= source.kind(at) == Kind::Word,
        }
    }
    has_type
}

/// Whether a function's body contains a `return`, ends the program or never ends, or uses macros, which may do so.
fn may_not_reach_its_end(source: &Source<'_>, body: Tokens) -> bool {
    body.clone().any(|at| {
        let text = source.token_text(at);
        let is_macro = || {
            source.token_text(at + 1) == "("
                && text.len() > 1
                && text.bytes().all(|byte| !byte.is_ascii_lowercase())
        };
        match text {
            "return" | "throw" | "asm" | "abort" | "assert" | "exit" => true,
            "while" => matches!(source.token_text(at + 2), "true" | "1"),
            "for" => source.reads(at + 1, &["(", ";", ";", ")"]),
            _ if source.kind(at) != Kind::Word => false,
            _ => {
                text.contains("trap")
                    || text.contains("unreachable")
                    || text.contains("asm")
                    || is_macro()
            }
        }
    }) || source.directive_of(body.start).is_some()
}
