//! HW917: libcu++, CUDA's standard library for the device.

use crate::{CudaChecker, Source};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds headers of libcu++ (`cuda/std/…`, `cuda/atomic`, `cuda/barrier`, `cuda/pipeline` and similar), and each line that uses
    /// their namespaces.
    ///
    /// ## Why on ROCm
    ///
    /// libcu++ is part of the CUDA toolkit. ROCm has no `cuda/` headers. For types and algorithms the C++ standard
    /// library and HIP's own headers are often enough. libhipcxx is AMD's port of the rest; it is installed separately,
    /// with `hip/std/…` headers and the namespace `hip::std`. Pipelines and asynchronous copies have no equivalent.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <cuda/std/limits>
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <limits>
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the host's library works in device code only where its functions are `constexpr`.
    ///
    /// ## References
    ///
    /// * [libhipcxx](https://github.com/ROCm/libhipcxx)
    "HW917" "libcudacxx" {
        title: "ROCm has no libcu++",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

/// Names in the namespace `cuda` that no project's namespace of that name is likely to have.
const NAMES: &str = "std ptx ceil_div round_up round_down pipeline make_pipeline memcpy_async aligned_size_t barrier atomic_ref thread_scope_device";

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    for (header, token) in source.includes() {
        let Some(rest) = header.strip_prefix("cuda/") else {
            continue;
        };
        let standard = rest.strip_prefix("std/");
        // A project may have its own folder called `cuda`: libcu++'s headers have no extension.
        if rest.contains('.') || (standard.is_none() && rest.contains('/')) {
            continue;
        }
        let fix = match (standard, rest) {
            (Some(name), _) => format!("Include `<{name}>`, or `<hip/std/{name}>` of libhipcxx"),
            (None, "pipeline" | "barrier") => "Use `__syncthreads()` and plain copies".to_owned(),
            (None, "atomic") => "Use HIP's atomics (`__hip_atomic_…`), or libhipcxx".to_owned(),
            _ => "Use libhipcxx, or write it yourself".to_owned(),
        };
        cx.report(
            &RULE,
            token..token + 1,
            format!("`{header}` is part of libcu++, which ROCm does not have."),
            RawFix::display_only(fix),
        );
    }
    // `cuda::std::span`, `cuda::make_pipeline`
    let places = source.places("cuda");
    if places.iter().any(|at| source.before(*at, 1) == "namespace") {
        return;
    }
    let is_name = |at: &&u32| {
        source.token_text(**at + 1) == "::"
            && (source.before(**at, 1) != "::" || is_global(source, **at - 1))
            && listed(NAMES, source.token_text(**at + 2))
    };
    let mut last = None;
    for at in places.iter().filter(is_name) {
        // One finding for a line.
        let shares_line = |last: u32| !source.slice(last..*at + 1).contains('\n');
        if last.replace(*at).is_some_and(shares_line) {
            continue;
        }
        cx.report(
            &RULE,
            *at..*at + 3,
            "This is part of libcu++, which ROCm does not have.",
            RawFix::display_only("Use libhipcxx, or write it yourself"),
        );
    }
}

/// The `::` of `(::cuda::ceil_div`, and not that of `at::cuda`.
fn is_global(source: &Source<'_>, separator: u32) -> bool {
    let before = source.before(separator, 1);
    before == "return"
        || !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '>')
}
