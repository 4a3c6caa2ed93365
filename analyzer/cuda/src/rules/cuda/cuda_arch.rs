//! HW912: branches that test `__CUDA_ARCH__` or CUDA's version.

use crate::{
    CUDA_NUMBERS, CudaArch, CudaChecker, Kind, Name, Setting, Source, Tokens, body, chains,
    evaluate, hip_header, holds_only, name, selects_cuda,
};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `#if` lines whose result on AMD depends on `__CUDA_ARCH__`, `CUDA_VERSION`, `CUDART_VERSION`, or the version of
    /// cuBLAS, cuSPARSE or cuDNN: a branch for newer GPUs or toolkits that is never compiled on AMD, or a test for device
    /// code that is never true. A macro for such a condition, as in `#define HAS_BF16 (__CUDA_ARCH__ >= 800)`, counts where
    /// it is tested.
    ///
    /// In a source without any test for AMD it also finds the first test of the project's macro for CUDA, such as
    /// `USE_CUDA`. Findings in these branches have the severity info: AMD does not compile them.
    ///
    /// ## Why on ROCm
    ///
    /// A HIP compiler does not define these macros, and an undefined macro counts as 0: AMD gets the path of the oldest
    /// GPU or toolkit, or none. (PyTorch's hipify writes `TORCH_HIP_VERSION` for `CUDA_VERSION`, whose numbers are
    /// smaller than any of CUDA's.) Use `__HIP_DEVICE_COMPILE__` to test for device code, and `USE_ROCM` or
    /// `__HIP_PLATFORM_AMD__` around the definitions of device functions, which clang needs in the host pass as well.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __host__ __device__ int where() {
    /// #ifdef __CUDA_ARCH__
    ///     return 1;
    /// #else
    ///     return 0;
    /// #endif
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __host__ __device__ int where() {
    /// #if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    ///     return 1;
    /// #else
    ///     return 0;
    /// #endif
    /// }
    /// ```
    ///
    /// A comparison such as `__CUDA_ARCH__ >= 800` tests for a feature: name AMD's side explicitly, as in
    /// `__CUDA_ARCH__ >= 800 || defined(USE_ROCM)`, once the branch works there. If there is another branch, AMD has a
    /// working path, and the severity is advice, as for a branch with a specialization of a template. An `#else` that
    /// contains only `#pragma message` or `#warning`, or begins with `assert(false)`, is no path. A branch with only
    /// NVIDIA's headers is not reported. A branch for a newer toolkit is usually optional on AMD, so a version test without
    /// another branch has the severity info, unless it sets a variable that is declared before it.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: code that was not compiled for AMD's device before is now compiled. The fixes for comparisons are
    /// display-only.
    ///
    /// ## References
    ///
    /// * [HIP porting guide: identifying compilation passes](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    "HW912" "cuda-arch" {
        title: "CUDA's version macros are not defined on AMD",
        family: CudaCpp,
        severity: Warning,
        also: [
            Advice "where the target compiles another branch",
            Info "for a version of CUDA, and where the project defines the macro",
        ],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    selection_of_cuda(cx);
    if CUDA_NUMBERS
        .iter()
        .all(|number| source.places(number).is_empty())
    {
        return;
    }
    // Some projects define the macro for AMD as well, and their headers for HIP do.
    let serious = if source.is_macro("__CUDA_ARCH__") || cx.has_hip_names {
        Severity::Info
    } else {
        Severity::Warning
    };
    // Whether each open condition selects a build for finding errors.
    let mut open: Vec<bool> = Vec::new();
    // The start of the last condition that leaves a variable without a value.
    let mut unset = None;
    for ((index, line), chain) in source.directives.iter().enumerate().zip(chains(source)) {
        let in_debug = open.contains(&true);
        let for_debug = || {
            line.clone()
                .any(|token| source.token_text(token).contains("DEBUG"))
        };
        match source.directive_name(line) {
            "if" | "ifdef" => open.push(for_debug()),
            "ifndef" => open.push(false),
            "else" | "elif" => {
                open.pop();
                open.push(false);
            }
            "endif" => {
                open.pop();
            }
            _ => {}
        }
        let asks = |word: &str| {
            line.clone().any(|token| {
                let text = source.token_text(token);
                // A macro for such a condition.
                text == word
                    || body(source, text)
                        .is_some_and(|mut body| body.any(|it| source.token_text(it) == word))
            })
        };
        let name = source.directive_name(line);
        if !matches!(name, "if" | "ifdef" | "elif") {
            continue;
        }
        let Some(number) = CUDA_NUMBERS.iter().find(|number| asks(number)) else {
            continue;
        };
        if asks("__HIP_DEVICE_COMPILE__") {
            continue;
        }
        // There is a separate branch for AMD.
        if chain.names_amd {
            continue;
        }
        if holds_only(source, index, &|line| {
            let header = source.included(line).map_or("", |(header, _)| header);
            header.starts_with("cuda") && hip_header(header).is_none()
        }) {
            continue;
        }
        let next = source.directives.get(index + 1);
        if next.is_some_and(|next| overlaps_launches(source, line.end..next.start)) {
            continue;
        }
        // A branch for old GPUs is correctly skipped on AMD.
        let verdict = evaluate(source, line, CudaArch::Newest);
        if verdict.amd != Some(false) || verdict.nvidia == Some(false) {
            continue;
        }
        let asks_alone = match name {
            "ifdef" => line.len() == 3,
            _ => {
                let rest = line.start + 2;
                (line.len() == 6 && source.reads(rest, &["defined", "(", "__CUDA_ARCH__", ")"]))
                    || (line.len() == 4 && source.reads(rest, &["defined", "__CUDA_ARCH__"]))
            }
        };
        if asks_alone && *number == "__CUDA_ARCH__" {
            let condition = if name == "ifdef" { "if" } else { name };
            let declares = declares_device_code(source, index);
            let (who, message) = if declares {
                (
                    cx.amd_macro(),
                    "`__CUDA_ARCH__` is never defined on AMD, so these device functions are missing there.",
                )
            } else {
                (
                    "__HIP_DEVICE_COMPILE__",
                    "`__CUDA_ARCH__` is never defined on AMD, so this treats device code as host code.",
                )
            };
            let edits = vec![(
                source.span(line.start + 1..line.end),
                format!("{condition} defined(__CUDA_ARCH__) || defined({who})"),
            )];
            cx.report_as(
                &RULE,
                if in_debug { Severity::Info } else { serious },
                HandledBy::You,
                line.clone(),
                message,
                RawFix::unsafe_edits(format!("Test for `{who}` too"), edits),
            );
            continue;
        }
        let who = cx.amd_macro();
        let arch = cx.target.arch.name();
        if !chain.has_else
            && let Some((first, variable)) = unset_variable(source, chain.first, index)
        {
            // Each branch of the chain sets it.
            if unset.replace(first.start) == Some(first.start) {
                continue;
            }
            cx.report_as(
                &RULE,
                serious,
                HandledBy::You,
                first.clone(),
                format!("`{number}` is not defined on AMD, so {arch} compiles no branch, and `{variable}` has no value."),
                RawFix::display_only(format!("Add a branch with a value: `#elif defined({who})`")),
            );
            continue;
        }
        let (severity, takes) = if chain.has_path {
            (Severity::Advice, "compiles the other branch")
        } else if specializes(source, line.end) {
            (Severity::Advice, "compiles the general template")
        } else if *number == "__CUDA_ARCH__" {
            (serious, "never compiles this branch")
        } else {
            (Severity::Info, "never compiles this branch")
        };
        cx.report_as(
            &RULE,
            severity,
            HandledBy::You,
            line.clone(),
            format!("`{number}` is not defined on AMD: {arch} {takes}."),
            RawFix::display_only(format!("Define the AMD case: `|| defined({who})`")),
        );
    }
}

/// True if the branch has device functions and no other branch follows: clang needs them in the host pass too, in which it
/// reads the kernels that call them.
fn declares_device_code(source: &Source<'_>, index: usize) -> bool {
    let mut depth = 0_u32;
    let next = source.directives[index + 1..].iter().find(|line| {
        match source.directive_name(line) {
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" | "else" | "elif" if depth == 0 => return true,
            "endif" => depth -= 1,
            _ => {}
        }
        false
    });
    let branch = source.directives[index].end..next.map_or(0, |line| line.start);
    next.is_some_and(|line| source.directive_name(line) == "endif")
        && ["__device__", "__global__"].iter().any(|qualifier| {
            source.places(qualifier).iter().any(|at| {
                branch.contains(at)
                    && source.directive_of(*at).is_none()
                    // Not a lambda or an object in a function.
                    && source.enclosing_braces(*at).is_none_or(|braces| {
                        !matches!(source.before(braces.start, 1), ")" | "const" | "else" | "do")
                    })
            })
        })
}

/// `template <int N> struct Converter<at::BFloat16, N>` at the start of a branch: without it, the general template is used.
fn specializes(source: &Source<'_>, branch: u32) -> bool {
    if source.token_text(branch) != "template" {
        return false;
    }
    // An explicit instantiation has no `<` after `template`.
    let Some(keyword) = source.angle_end(branch + 1) else {
        return false;
    };
    let arguments = keyword + 2;
    let body = source.angle_end(arguments).filter(|body| {
        matches!(source.token_text(keyword), "struct" | "class") && source.token_text(*body) == "{"
    });
    // A specialization that only maps a type has no general template to fall back on, as a rule.
    body.and_then(|open| Some(open..source.partner(open)?))
        .is_some_and(|mut body| body.any(|at| source.token_text(at) == "("))
}

/// `Algorithm a;`, followed by conditions, the first of which is at `first`, and whose branch at `index` begins with `a = …`:
/// the first line, and `a`.
fn unset_variable<'s>(
    source: &'s Source<'_>,
    first: usize,
    index: usize,
) -> Option<(&'s Tokens, &'s str)> {
    let first = source.directives.get(first)?;
    let variable = first.start.checked_sub(2).filter(|name| *name > 0)?;
    let name = source.token_text(variable);
    let branch = source.directives[index].end;
    let is_declared =
        source.token_text(variable + 1) == ";" && source.kind(variable - 1) == Kind::Word;
    (is_declared && source.reads(branch, &[name, "="])).then_some((first, name))
}

/// `cudaTriggerProgrammaticLaunchCompletion();` alone: it lets the next kernel start early, and is rightly left out on AMD.
fn overlaps_launches(source: &Source<'_>, branch: Tokens) -> bool {
    /// An upper limit for the tokens of one such statement.
    const MAX: usize = 16;
    let text = source.slice(branch.clone());
    branch.len() <= MAX
        && [
            "cudaTriggerProgrammaticLaunchCompletion",
            "cudaGridDependencySynchronize",
            "griddepcontrol",
        ]
        .iter()
        .any(|name| text.contains(name))
}

/// The first test of a macro such as `USE_CUDA` around CUDA code, in a source that never tests for AMD.
fn selection_of_cuda(cx: &CudaChecker<'_>) {
    let source = cx.source;
    if cx.setting == Setting::PyTorchExtension || cx.knows_amd {
        return;
    }
    let selection = source.directives.iter().find_map(|line| {
        let is_condition = matches!(source.directive_name(line), "if" | "ifdef" | "elif");
        let token = line
            .clone()
            .find(|token| selects_cuda(source.token_text(*token)))?;
        let is_it = is_condition
            && evaluate(source, line, CudaArch::Unbuilt).amd == Some(false)
            && cx.is_for_both(token);
        is_it.then_some((line, token))
    });
    let Some((line, token)) = selection else {
        return;
    };
    let has_header = source
        .includes()
        .any(|(header, token)| hip_header(header).is_some() && cx.is_skipped(token));
    let is_cuda = |word: &str| matches!(name(word), Some(Name::Hip { .. }));
    let has_name = || {
        source
            .words()
            .any(|(word, places)| is_cuda(word) && places.iter().any(|at| cx.is_skipped(*at)))
    };
    if has_header || has_name() {
        cx.report(
            &RULE,
            line.clone(),
            format!(
                "`{}` selects CUDA code, and no branch is for AMD: {} compiles none of it.",
                source.token_text(token),
                cx.target.arch.name()
            ),
            RawFix::display_only("Define it in the ROCm build too, and convert its code with hipify, or add a branch for AMD"),
        );
    }
}
