//! HW919: operators for vector types that HIP has already.

use crate::{Checker, Source};
use hipward_analyzer_core::diagnostic::Suggestion;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `__host__ __device__` definitions of `*`, `/`, `+=`, `-=`, `*=` and `/=` for two of `float2`, `float4`, `int3`
    /// and their like, as `helper_math.h` has them. One finding in a file.
    ///
    /// ## Why on ROCm
    ///
    /// CUDA's vector types are plain structures, so many projects bring operators for them. HIP's are classes that have
    /// operators: with a second set for host and device every use is ambiguous, and the compiler stops. A `+` or `-`, or
    /// an operator for `__device__` alone, is preferred over HIP's and does no harm.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// inline __host__ __device__ float2 operator*(float2 a, float2 b) {
    ///     return make_float2(a.x * b.x, a.y * b.y);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// #ifndef __HIP_PLATFORM_AMD__
    /// inline __host__ __device__ float2 operator*(float2 a, float2 b) {
    ///     return make_float2(a.x * b.x, a.y * b.y);
    /// }
    /// #endif
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Only described: put a guard around all of them.
    ///
    /// ## References
    ///
    /// * [HIP C++ language extensions: vector types](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW919" "vector-operator" {
        title: "HIP's vector types have operators",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: None,
        cuda: check,
    }
}

fn check(cx: &Checker<'_>) {
    let source = cx.source;
    let mut found = Vec::new();
    for at in cx.uses("operator") {
        // HIP's `+` and `-` are templates, which give way.
        let sign = source.token_text(at + 1);
        let assigns = source.token_text(at + 2) == "=";
        let open = if assigns { at + 3 } else { at + 2 };
        let clashes = match sign {
            "*" | "/" => true,
            "+" | "-" => assigns,
            _ => false,
        };
        if !clashes || source.token_text(open) != "(" || !is_for_the_host(source, at) {
            continue;
        }
        let Some(close) = source.partner(open) else {
            continue;
        };
        let arguments = source.arguments(&(open..close + 1));
        let is_vector = |argument: Option<&std::ops::Range<u32>>| {
            argument.is_some_and(|argument| {
                argument
                    .clone()
                    .take(3)
                    .any(|at| names_vector(source.token_text(at)))
            })
        };
        if arguments.len() == 2 && is_vector(arguments.first()) && is_vector(arguments.get(1)) {
            found.push(at..open);
        }
    }
    let Some(first) = found.first().cloned() else {
        return;
    };
    let more = match found.len() {
        1 => String::new(),
        operators => format!(" There are {operators} of them here."),
    };
    let message = format!(
        "HIP's vector types have this operator already, so that every use is ambiguous.{more}"
    );
    let fix = Suggestion::display_only("Put `#ifndef __HIP_PLATFORM_AMD__` around the operators");
    cx.report(&RULE, first, message, fix);
}

/// `__host__` among what stands before the operator.
fn is_for_the_host(source: &Source<'_>, operator: u32) -> bool {
    (1..12)
        .map(|back| source.before(operator, back))
        .take_while(|word| !matches!(*word, ";" | "}" | "{" | ""))
        .any(|word| word == "__host__")
}

/// `float2`, `uint4`, `double3`: not `half2`, whose operators are HIP's own business in either case.
fn names_vector(word: &str) -> bool {
    word.strip_suffix(['2', '3', '4']).is_some_and(|scalar| {
        matches!(
            scalar,
            "float"
                | "double"
                | "int"
                | "uint"
                | "short"
                | "ushort"
                | "char"
                | "uchar"
                | "long"
                | "ulong"
        )
    })
}
