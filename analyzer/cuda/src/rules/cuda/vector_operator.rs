//! HW919: operators for vector types that HIP already has.

use crate::lines::also_in;
use crate::{CudaChecker, Source};
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `__host__ __device__` definitions of `*`, `/`, `+=`, `-=`, `*=` and `/=` for two operands of types such as
    /// `float2`, `float4` and `int3`, as in `helper_math.h`. One finding per file, whose message lists the lines of the others.
    ///
    /// ## Why on ROCm
    ///
    /// CUDA's vector types are plain structures, so many projects define operators for them. HIP's types are classes
    /// with operators: with a second definition for host and device every use is ambiguous, and the compiler stops. A
    /// `+` or `-`, or an operator for `__device__` only, is preferred over HIP's and does no harm.
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
    /// Display-only: put a guard around all of them.
    ///
    /// ## References
    ///
    /// * [HIP C++ language extensions: vector types](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_cpp_language_extensions.html)
    "HW919" "vector-operator" {
        title: "HIP's vector types already have operators",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let mut found = Vec::new();
    for at in cx.uses("operator") {
        // HIP's `+` and `-` are templates, so the project's definition is preferred.
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
    let others = found.iter().skip(1).map(|operator| operator.start);
    let message = format!(
        "HIP's vector types already have this operator, so that every use is ambiguous.{}",
        also_in(cx, first.start, others)
    );
    let fix = RawFix::display_only("Put `#ifndef __HIP_PLATFORM_AMD__` around the operators");
    cx.report(&RULE, first, message, fix);
}

/// `__host__` before the operator.
fn is_for_the_host(source: &Source<'_>, operator: u32) -> bool {
    (1..12)
        .map(|back| source.before(operator, back))
        .take_while(|word| !matches!(*word, ";" | "}" | "{" | ""))
        .any(|word| word == "__host__")
}

/// `float2`, `uint4`, `double3`: not `half2`, whose operators HIP defines in any case.
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
