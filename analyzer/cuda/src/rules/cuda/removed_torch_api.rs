//! HW925: names of PyTorch's C++ interface that its current headers do not have.

use crate::lines::also_in;
use crate::{CudaChecker, Tokens};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds what PyTorch removed from its C++ headers and old extensions still use: `Tensor::type()` as the type of an
    /// `AT_DISPATCH_*` macro (since 2.6), `AT_DISPATCH_ALL_TYPES_AND_HALF` (since 2.6), `AT_CHECK` (since 1.5), and
    /// `THCudaCheck`, `THCCeilDiv`, `THCState` and other names of the library THC (since 1.11). Macros that the project defines itself are not
    /// reported.
    ///
    /// ## Why on ROCm
    ///
    /// An extension that is ported to a current ROCm is compiled with a current PyTorch, often for the first time. The
    /// macros convert their first argument to a `c10::ScalarType`, and `type()` returns `at::DeprecatedTypeProperties`.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <torch/extension.h>
    ///
    /// void run(const at::Tensor& x) {
    ///     AT_CHECK(x.is_contiguous(), "x must be contiguous");
    ///     AT_DISPATCH_FLOATING_TYPES(x.type(), "run", [&] { launch(x.data_ptr<scalar_t>()); });
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <torch/extension.h>
    ///
    /// void run(const at::Tensor& x) {
    ///     TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    ///     AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", [&] { launch(x.data_ptr<scalar_t>()); });
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the new names have the same meaning, and PyTorch 1.11 already has them. Display-only for `THCState` and names that begin with
    /// `THCuda`, which have no equivalent of the same form.
    ///
    /// ## References
    ///
    /// * [PyTorch: the headers' `Dispatch.h`](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/Dispatch.h)
    /// * [PyTorch: `type()` was deprecated for dispatch](https://github.com/pytorch/pytorch/pull/17996)
    "HW925" "removed-torch-api" {
        title: "PyTorch's C++ headers do not have this any more",
        family: CudaCpp,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target; the release of PyTorch decides",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

/// A name, the release that removed it, and what replaces it.
const REMOVED: &[(&str, &str, &str)] = &[
    ("AT_CHECK", "1.5", "TORCH_CHECK"),
    ("THCudaCheck", "1.11", "C10_CUDA_CHECK"),
    ("THCCeilDiv", "1.11", CEIL_DIV),
];

const CEIL_DIV: &str = "at::ceil_div";
const ALL_TYPES_AND_HALF: &str = "AT_DISPATCH_ALL_TYPES_AND_HALF";

/// True for a name of THC that this rule replaces.
pub(super) fn replaces(name: &str) -> bool {
    REMOVED.iter().any(|(old, ..)| *old == name)
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    for (old, since, new) in REMOVED.iter().filter(|(old, ..)| !source.is_macro(old)) {
        for at in cx.uses(old) {
            let message = format!("PyTorch has no `{old}` since {since}.");
            replace(cx, at..at + 1, message, new);
        }
    }
    names_of_thc(cx);
    if cx.target.torch < Version::new(2, 6) {
        return;
    }
    let is_dispatch = |word: &str| word.starts_with("AT_DISPATCH_") && !source.is_macro(word);
    for (word, _) in source.words().filter(|(word, _)| is_dispatch(word)) {
        for at in cx.uses(word) {
            // A macro has no template arguments.
            let Some(call) = source.call(at).filter(|call| call.start == at + 1) else {
                continue;
            };
            if word == ALL_TYPES_AND_HALF {
                let message = format!("PyTorch has no `{word}` since 2.6.");
                let new = "AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, ";
                replace(cx, at..at + 2, message, new);
            }
            if let Some(name) = type_of_tensor(cx, &call) {
                let message = "`type()` does not convert to the scalar type that the AT_DISPATCH macros take since PyTorch 2.6.";
                replace(cx, name..name + 1, message.to_owned(), "scalar_type");
            }
        }
    }
}

/// `THCState`, `THCudaMalloc`: PyTorch's old C library, whose headers `cuda-header` reports. One finding for a name.
fn names_of_thc(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let is_of_thc = |word: &str| {
        let rest = word.strip_prefix("THC").unwrap_or_default();
        (rest.starts_with("State") || rest.starts_with("uda"))
            && !replaces(word)
            && !source.is_macro(word)
    };
    for (word, _) in source.words().filter(|(word, _)| is_of_thc(word)) {
        let mut uses = cx.uses(word);
        let Some(first) = uses.next() else {
            continue;
        };
        let instead = match word {
            "THCState_getCurrentStream" => "Use `at::cuda::getCurrentCUDAStream()`",
            "THCudaMalloc" | "THCudaFree" => {
                "Use a tensor of `at::empty`, or `c10::cuda::CUDACachingAllocator`"
            }
            "THCState" => "Remove it: no function of PyTorch takes it",
            _ => "Use at::Tensor and its functions",
        };
        let message = format!(
            "PyTorch has no `{word}` since 1.11.{}",
            also_in(cx, first, uses)
        );
        let fix = RawFix::display_only(instead);
        cx.report_as(
            &RULE,
            Severity::Error,
            HandledBy::You,
            first..first + 1,
            message,
            fix,
        );
    }
}

fn replace(cx: &CudaChecker<'_>, tokens: Tokens, message: String, new: &str) {
    let title = format!(
        "Use `{}`{}",
        new.split('(').next().unwrap_or(new),
        match new {
            CEIL_DIV => " of `ATen/ceil_div.h`",
            _ => "",
        }
    );
    let fix = RawFix::safe_edits(
        title,
        vec![(cx.source.span(tokens.clone()), new.to_owned())],
    );
    // Neither vendor compiles it.
    cx.report_as(&RULE, Severity::Error, HandledBy::You, tokens, message, fix);
}

/// The token `type` in `AT_DISPATCH_FLOATING_TYPES(x.type(), …)`. Macros with other types have those before it.
fn type_of_tensor(cx: &CudaChecker<'_>, call: &Tokens) -> Option<u32> {
    let source = cx.source;
    source.arguments(call).into_iter().find_map(|argument| {
        let name = argument.end.checked_sub(3)?;
        let is_member = source.before(name, 1) == "." || source.before(name, 1).ends_with('>');
        (name > argument.start && is_member && source.reads(name, &["type", "(", ")"]))
            .then_some(name)
    })
}
