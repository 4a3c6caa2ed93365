//! HW926: `__ldg` on PyTorch's 16-bit type.

use crate::{CudaChecker, Kind, Source, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};
use std::collections::{HashMap, HashSet};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `__ldg` on a pointer to a template's type, in a source with an `AT_DISPATCH_*` macro that instantiates kernels
    /// with `c10::Half`.
    ///
    /// ## Why on ROCm
    ///
    /// PyTorch's headers define `__ldg` for `c10::Half` in a build with CUDA only. HIP has it for the built-in types, their
    /// vectors, `__half` and `__half2`, so the kernel's instance for float16 does not compile: "no matching function for call to
    /// '__ldg'". On AMD GPUs `__ldg` is a plain load.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <torch/extension.h>
    ///
    /// template <typename scalar_t>
    /// __global__ void copy(const scalar_t* x, scalar_t* out) { out[threadIdx.x] = __ldg(x + threadIdx.x); }
    ///
    /// void run(at::Tensor x, at::Tensor out) {
    ///     AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "copy", [&] {
    ///         copy<scalar_t><<<1, 64>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>());
    ///     });
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <torch/extension.h>
    ///
    /// template <typename scalar_t>
    /// __global__ void copy(const scalar_t* x, scalar_t* out) { out[threadIdx.x] = *(x + threadIdx.x); }
    ///
    /// void run(at::Tensor x, at::Tensor out) {
    ///     AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "copy", [&] {
    ///         copy<scalar_t><<<1, 64>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>());
    ///     });
    /// }
    /// ```
    ///
    /// For a pointer with `const` and `__restrict__`, nvcc reads through the same cache as with `__ldg`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: without `__restrict__`, the load may be slower on NVIDIA GPUs.
    ///
    /// ## References
    ///
    /// * [PyTorch's `Half.h`](https://github.com/pytorch/pytorch/blob/main/torch/headeronly/util/Half.h)
    /// * [An extension that does not compile](https://github.com/rusty1s/pytorch_scatter/issues/412)
    "HW926" "ldg-half" {
        title: "HIP has no __ldg for PyTorch's c10::Half",
        family: CudaCpp,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    if source.places("__ldg").is_empty() || source.is_macro("__ldg") || !dispatches_half(source) {
        return;
    }
    let templates = template_types(source);
    // Found once for each name, so that a source with many calls takes linear time.
    let mut types = HashMap::new();
    for at in cx.uses("__ldg") {
        let Some(name) = source.call(at).and_then(|call| pointer(source, &call)) else {
            continue;
        };
        let kind = types
            .entry(name)
            .or_insert_with(|| pointee(source, name, &templates));
        let Some(kind) = kind else {
            continue;
        };
        let span = source.span(at..at + 1);
        let before = source.text.get(..span.start).unwrap_or_default();
        // Not the start of a comment.
        let load = if before.ends_with('/') { " *" } else { "*" };
        cx.report_as(
            &RULE,
            Severity::Error,
            HandledBy::You,
            at..at + 1,
            format!(
                "HIP has no `__ldg` for `c10::Half`, which `{kind}` is in the instance for float16."
            ),
            RawFix::unsafe_edits("Read through the pointer", vec![(span, load.to_owned())]),
        );
    }
}

/// `AT_DISPATCH_FLOATING_TYPES_AND_HALF(…)`, `AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, …)`
fn dispatches_half(source: &Source<'_>) -> bool {
    let follows = |place: &u32| {
        (1..12).any(|next| matches!(source.token_text(place + next), "Half" | "kHalf"))
    };
    source.words().any(|(word, places)| {
        word.starts_with("AT_DISPATCH_") && (word.contains("HALF") || places.iter().any(follows))
    })
}

/// The name in `__ldg(x + i)` and `__ldg(&x[i])`.
fn pointer<'a>(source: &Source<'a>, call: &Tokens) -> Option<&'a str> {
    let mut at = call.start + 1;
    while matches!(source.token_text(at), "&" | "(") {
        at += 1;
    }
    let is_plain = matches!(source.token_text(at + 1), "[" | "+" | ")");
    (source.kind(at) == Kind::Word && is_plain).then(|| source.token_text(at))
}

/// `scalar_t` in `template <typename scalar_t>`; not `index_t`, which is an integer.
fn template_types<'a>(source: &Source<'a>) -> HashSet<&'a str> {
    let places = ["typename", "class"].map(|word| source.places(word));
    let names = places
        .into_iter()
        .flatten()
        .map(|at| source.token_text(at + 1));
    names
        .filter(|name| !name.to_lowercase().contains("ind"))
        .collect()
}

/// The template's type that a pointer with this name points to, if all declarations of the source agree.
fn pointee<'a>(source: &Source<'a>, name: &str, templates: &HashSet<&str>) -> Option<&'a str> {
    let mut found = None;
    for at in source.places(name) {
        let Some(mut kind) = source.pointee(*at) else {
            continue;
        };
        if source.token_text(kind) == "const" {
            kind = kind.saturating_sub(1);
        }
        let kind = source.token_text(kind);
        let is_declaration = matches!(source.token_text(at + 1), "," | ")" | "=");
        if templates.contains(kind) {
            found = Some(kind);
        } else if is_declaration {
            return None;
        }
    }
    found
}
