//! HW902: CUDA headers.

use super::cuda_api;
use super::removed_torch_api::replaces;
use crate::headers::is_left_by_hipify;
use crate::{CudaChecker, Setting, Source};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::position::newline;
use hipward_analyzer_core::words::listed;
use hipward_analyzer_core::{Applicability, HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds CUDA headers that have another name in HIP, and sources that define or launch kernels or call CUDA's API
    /// without including any: nvcc includes `cuda_runtime.h` implicitly, a HIP compiler does not include HIP's header.
    ///
    /// ## Why on ROCm
    ///
    /// ROCm has no `cuda_runtime.h`. `hip/hip_runtime.h` replaces it and `cuda.h`; each library's headers are in a
    /// separate folder. Two CUDA headers may correspond to one HIP header, which is then included once.
    ///
    /// In a PyTorch extension PyTorch's hipify changes the includes; only those that it does not know are reported, and
    /// headers of THC and ATen that PyTorch 2 does not have.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <cuda.h>
    /// #include <cuda_runtime.h>
    /// #include <cublas_v2.h>
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <hipblas/hipblas.h>
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the header declares the same functions under the HIP names, which the fix of `cuda-api` writes.
    ///
    /// ## References
    ///
    /// * [HIP porting guide](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    "HW902" "cuda-header" {
        title: "CUDA's headers have other names in HIP",
        family: CudaCpp,
        severity: Error,
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

/// The headers of the old library THC that PyTorch 2.15 still has.
const KEPT_OF_THC: [&str; 2] = ["THC/THCAtomics.cuh", "THC/THCDeviceUtils.cuh"];

fn is_removed_from_thc(header: &str) -> bool {
    let is_name = header.strip_prefix("THC/").is_some_and(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
    });
    is_name && !KEPT_OF_THC.contains(&header)
}

/// A header of PyTorch that old extensions include, and its path in PyTorch 2.
const MOVED: (&str, &str) = (
    "ATen/SparseTensorUtils.h",
    "ATen/native/SparseTensorUtils.h",
);

fn in_extension(cx: &CudaChecker<'_>) {
    // The first header of THC is replaced, and the others are removed.
    let mut is_replaced = None;
    for (header, token) in cx.source.includes() {
        if is_removed_from_thc(header) {
            let fix = match is_replaced {
                None => instead_of_thc(cx.source, token),
                Some(true) => without(cx.source, token),
                Some(false) => RawFix::display_only(USES_THC),
            };
            is_replaced.get_or_insert(fix.applicability == Applicability::Safe);
            let message = format!("PyTorch has no `{header}` since 1.11.");
            cx.report(&RULE, token..token + 1, message, fix);
        }
        if header == MOVED.0 {
            let edits = vec![(cx.source.span(token..token + 1), format!("<{}>", MOVED.1))];
            let message = format!("PyTorch 2 has no `{}`; it is `{}`.", MOVED.0, MOVED.1);
            let fix = RawFix::safe_edits(format!("Include `{}`", MOVED.1), edits);
            cx.report(&RULE, token..token + 1, message, fix);
        }
        if !cx.is_for_both(token) {
            continue;
        }
        if cx.source.token_text(token) == "\"nccl.h\"" {
            let edits = vec![(cx.source.span(token..token + 1), "<nccl.h>".to_owned())];
            let message = "PyTorch's hipify converts `nccl.h` in angle brackets only.";
            let fix = RawFix::safe_edits("Include `<nccl.h>`", edits);
            cx.report(&RULE, token..token + 1, message, fix);
        }
        if !is_left_by_hipify(header) {
            continue;
        }
        let title = match cx.amd_header(header) {
            Some(hip) if !hip.is_empty() => format!("Include `{hip}` under `#ifdef USE_ROCM`"),
            _ => "Include it under `#ifndef USE_ROCM`".to_owned(),
        };
        cx.report(
            &RULE,
            token..token + 1,
            format!("PyTorch's hipify does not convert `{header}`, which ROCm does not have."),
            RawFix::display_only(title),
        );
    }
}

const USES_THC: &str =
    "Include `ATen/cuda/CUDAContext.h`, and use PyTorch's functions instead of THC's";

/// Replaces a header of THC, if the source uses nothing of THC but what `removed-torch-api` replaces.
fn instead_of_thc(source: &Source<'_>, include: u32) -> RawFix {
    // `THCState`, `THArgCheck`, but not `THREADS`.
    let is_of_thc = |word: &str| {
        let mut rest = word.strip_prefix("TH").unwrap_or_default().bytes();
        let next = rest.next().unwrap_or_default();
        let is_name = next == b'C'
            || next.is_ascii_uppercase()
                && rest.next().is_some_and(|byte| byte.is_ascii_lowercase());
        is_name && !replaces(word)
    };
    if source.words().any(|(word, _)| is_of_thc(word)) {
        return RawFix::display_only(USES_THC);
    }
    let mut headers = vec!["ATen/cuda/CUDAContext.h"];
    if !source.places("THCCeilDiv").is_empty() {
        headers.push("ATen/ceil_div.h");
    }
    headers.retain(|new| !source.includes().any(|(header, _)| header == *new));
    let Some((first, more)) = headers.split_first() else {
        return without(source, include);
    };
    let mut new = format!("<{first}>");
    for header in more {
        new += newline(source.text);
        new += &format!("#include <{header}>");
    }
    let edits = vec![(source.span(include..include + 1), new)];
    RawFix::safe_edits(format!("Include `{first}`"), edits)
}

/// Removes an include, if its line has nothing else.
fn without(source: &Source<'_>, include: u32) -> RawFix {
    let title = "Remove the include";
    match source.directive_of(include) {
        Some(line) if include + 1 == line.end => {
            let whole = whole_line(source.text, source.span(line.clone()));
            RawFix::safe_edits(title, vec![(whole, String::new())])
        }
        _ => RawFix::display_only(title),
    }
}

fn check(cx: &CudaChecker<'_>) {
    if cx.setting == Setting::PyTorchExtension {
        in_extension(cx);
        return;
    }
    let source = cx.source;
    let mut present: Vec<&str> = source
        .includes()
        .filter(|(_, token)| cx.is_for_both(*token))
        .map(|(header, _)| header)
        .filter(|header| cx.amd_header(header).is_none())
        .collect();
    for line in &source.directives {
        let Some((header, token)) = source.included(line) else {
            continue;
        };
        let Some(hip) = cx.amd_header(header) else {
            continue;
        };
        if !cx.is_for_both(token) {
            continue;
        }
        let (message, fix) = if hip.is_empty() || present.contains(&hip) {
            let message = if hip.is_empty() {
                format!("`{header}` has no equivalent in HIP, and none is needed.")
            } else {
                format!("`{header}` is `{hip}` in HIP, which is already included.")
            };
            (message, without(source, token))
        } else {
            present.push(hip);
            // The same delimiters.
            let include = if source.token_text(token).starts_with('"') {
                format!("\"{hip}\"")
            } else {
                format!("<{hip}>")
            };
            let edits = vec![(source.span(token..token + 1), include)];
            (
                format!("`{header}` is `{hip}` in HIP."),
                RawFix::safe_edits(format!("Include `{hip}`"), edits),
            )
        };
        cx.report(&RULE, token..token + 1, message, fix);
    }
    let has_runtime = present.iter().any(|header| {
        header.starts_with("hip/hip_runtime") || header.starts_with("hip/hip_cooperative")
    });
    if !has_runtime {
        without_header(cx);
    }
}

/// Uses of HIP without a header that declares the runtime. A header of the project may declare it.
fn without_header(cx: &CudaChecker<'_>) {
    let source = cx.source;
    // `#define __global__`: a C++ compiler compiles the kernel for the CPU.
    if source.definition("__global__").is_some() {
        return;
    }
    let own = source.includes().any(|(header, _)| {
        // C++ standard headers have no extension.
        header.contains('.')
            && cx.amd_header(header).is_none()
            && !listed(WITHOUT_RUNTIME, header)
            && !header.starts_with("hip")
            && !header.starts_with("roc")
            && !header.starts_with("miopen/")
    });
    if own {
        return;
    }
    let is_amd = |header: &str| {
        cx.amd_header(header).is_some_and(|hip| !hip.is_empty())
            || header.starts_with("hip")
            || header.starts_with("roc")
            || header.starts_with("miopen/")
    };
    let first = |word: &str| {
        let mut places = source.places(word).iter().copied();
        places.find(|at| cx.is_for_both(*at))
    };
    let launch = source
        .launches()
        .map(|launch| launch.name)
        .find(|name| cx.is_for_both(*name))
        .or_else(|| first("hipLaunchKernelGGL"));
    // A header may rely on what is included before it, and a source for the runtime compiler needs no header.
    let is_whole = !cx.is_fragment && !is_guarded(source) && source.includes().next().is_some();
    let kernel = || is_whole.then(|| first("__global__")).flatten();
    // The libraries' headers declare the runtime's functions.
    let call = || {
        let has_library = source.includes().any(|(header, _)| is_amd(header));
        (is_whole && !has_library)
            .then(|| cuda_api::first_use(cx))
            .flatten()
    };
    let Some(launch) = launch.or_else(kernel).or_else(call) else {
        return;
    };
    // Before the first include, otherwise before the first line of code, after the leading comment of the file.
    let first = source
        .includes()
        .next()
        .and_then(|(_, token)| source.directive_of(token))
        .map_or(0, |line| line.start);
    let at = source.span(first..first + 1).start;
    let include = format!("#include <hip/hip_runtime.h>{}", newline(source.text));
    cx.report_as(
        &RULE,
        Severity::Error,
        HandledBy::You,
        launch..launch + 1,
        "nvcc includes `cuda_runtime.h` implicitly; a HIP compiler needs `hip/hip_runtime.h`.",
        RawFix::safe_edits("Include `hip/hip_runtime.h`", vec![(at..at, include)]),
    );
}

/// True for a header: `#pragma once`, or an include guard.
fn is_guarded(source: &Source<'_>) -> bool {
    let mut lines = source.directives.iter();
    lines.next().is_some_and(|first| {
        let name = source.token_text(first.start + 2);
        match source.directive_name(first) {
            "pragma" => name == "once",
            "ifndef" => lines.next().is_some_and(|second| {
                source.directive_name(second) == "define"
                    && source.token_text(second.start + 2) == name
            }),
            _ => false,
        }
    })
}

/// Headers that do not declare the runtime: C headers, and the helpers of CUDA's samples that many projects contain.
const WITHOUT_RUNTIME: &str = "assert.h errno.h float.h helper_cuda.h helper_functions.h helper_image.h helper_string.h \
    helper_timer.h inttypes.h limits.h math.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h \
    sys/time.h time.h unistd.h";

/// A line with its line break, if it contains nothing else.
pub(super) fn whole_line(text: &str, line: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let rest = text.get(line.end..).unwrap_or_default();
    let end = rest.find('\n').map_or(text.len(), |at| line.end + at + 1);
    let only = text
        .get(line.end..end)
        .is_some_and(|rest| rest.trim().is_empty());
    if only { line.start..end } else { line }
}
