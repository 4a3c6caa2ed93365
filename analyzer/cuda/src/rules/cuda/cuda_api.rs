//! HW901: names of CUDA's runtime, driver and libraries that HIP has under another name.

mod calls;

use std::collections::{HashMap, HashSet};

use calls::Call;

use crate::conditions::{Chain, chains, holds_only};
use crate::lexer::Directive;
use crate::{
    CudaChecker, HIPIFIED_CUB_NAMES, Kind, Name, RocName, Setting, Source, before_rocm_7, hipify,
    is_the_projects, name, names_amd,
};
use hipward_analyzer_core::diagnostic::{RawFix, Replacement};
use hipward_analyzer_core::position::newline;
use hipward_analyzer_core::words::listed;
use hipward_analyzer_core::{HandledBy, Severity, Version, sort};

declare_rule! {
    /// ## What it does
    ///
    /// Finds functions, types, constants and macros of CUDA's runtime, its driver API, cuBLAS, cuBLASLt, cuSPARSE,
    /// cuFFT, cuRAND, cuSOLVER, NVRTC, CUB and NVTX that have another name in HIP.
    ///
    /// ## Why on ROCm
    ///
    /// HIP's API is CUDA's with different names, so the compiler stops at the first `cuda…` name. Most names follow one
    /// pattern (`cudaMalloc` is `hipMalloc`, `cublasSgemm` is `hipblasSgemm`); some do not (`cudaMallocHost` is
    /// `hipHostMalloc` with an additional flag). NCCL and Thrust have the same names.
    ///
    /// In a PyTorch extension no change is necessary: `torch.utils.cpp_extension` runs PyTorch's hipify over the
    /// sources of a `CUDAExtension` when it builds on ROCm. One finding reports this for the whole file, and only names
    /// that PyTorch's hipify does not convert are reported individually, such as `using namespace cub`, and kernels that are passed by name to
    /// `cudaFuncSetAttribute` and its siblings: CUDA has a template for them, HIP's functions take a `const void*`. A source
    /// that gets these names from a header of its own project, such as `using cudaError_t = hipError_t`, is not reported. Neither is `#ifdef __CUDACC__` with a branch
    /// for AMD, only pragmas, or an `#else` that computes the same without calls.
    ///
    /// With `[target] libraries = "roc"` in the configuration file, the names of cuBLAS, cuSPARSE, cuSOLVER and cuRAND
    /// become those of rocBLAS, rocSPARSE, rocSOLVER and rocRAND, and the names of cuDNN become those of MIOpen where
    /// MIOpen has a counterpart. The arguments are changed as HIPIFY does. For ROCm before 7.0 hipBLAS's functions with
    /// complex or mixed types get the suffix `_v2`, which these releases need for HIP's types.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __constant__ float weights[16];
    ///
    /// void load(const float* host, float** pinned, size_t bytes) {
    ///     cudaMemcpyToSymbol(weights, host, bytes);
    ///     if (cudaMallocHost(pinned, bytes) != cudaSuccess) return;
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __constant__ float weights[16];
    ///
    /// void load(const float* host, float** pinned, size_t bytes) {
    ///     hipMemcpyToSymbol(HIP_SYMBOL(weights), host, bytes);
    ///     if (hipHostMalloc(pinned, bytes, hipHostMallocDefault) != hipSuccess) return;
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Safe: the HIP function does the same as the CUDA function. The first fix of a name also changes the name in messages,
    /// which are string literals with spaces: `"cudaMalloc failed"`. Symbols are wrapped in `HIP_SYMBOL`, a kernel that is
    /// passed as a pointer is cast to one (also in an extension: CUDA accepts the cast), `cudaMallocHost` gets its flag,
    /// and `cudaGraphInstantiate` with three
    /// arguments becomes `hipGraphInstantiateWithFlags`. Names of MIOpen are unsafe fixes, because MIOpen selects the
    /// algorithms of convolutions itself and needs calls that cuDNN does not have. `__CUDACC__` in a condition becomes a test for either
    /// `__CUDACC__` or `__HIPCC__`. If HIP's function needs arguments that the call does not have, as in
    /// `hipsparseSpSM_solve`, the fix is display-only. In an extension, names of CUB that PyTorch's hipify leaves get the line
    /// `namespace cub = hipcub;` for ROCm.
    ///
    /// ## References
    ///
    /// * [HIP porting guide](https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html)
    /// * [Supported CUDA APIs](https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/supported_apis.html)
    "HW901" "cuda-api" {
        title: "CUDA names have HIP equivalents",
        family: CudaCpp,
        severity: Error,
        also: [Info "for names that PyTorch's hipify renames"],
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    if cx.has_hip_names {
        return;
    }
    let mut found = Vec::new();
    let chains = match cx.source.places("__CUDACC__") {
        [] => Vec::new(),
        _ => chains(cx.source),
    };
    for (word, places) in cx.source.words() {
        let Some(counterpart) = counterpart(cx, word) else {
            continue;
        };
        if is_the_projects(cx.source, word) {
            continue;
        }
        let is_one = |at: &&u32| {
            cx.is_for_both(**at)
                && is_the_api(cx.source, word, **at)
                && (*word != *"__CUDACC__" || is_open_question(cx.source, &chains, **at))
        };
        found.extend(places.iter().filter(is_one).map(|at| {
            let mut counterpart = counterpart.clone();
            counterpart.hipify_knows &= word != "cub"
                || cx.source.token_text(at + 1) == "::"
                    && listed(HIPIFIED_CUB_NAMES, cx.source.token_text(at + 2));
            (*at, word, counterpart)
        }));
    }
    // C++ that only works around nvcc is not CUDA code.
    if found.iter().all(|(_, word, ..)| *word == "__CUDACC__") && !is_device_code(cx) {
        return;
    }
    let mut found = sort::by_key(found, |(at, ..)| [*at as usize, 0, 0]);
    let in_extension = cx.setting == Setting::PyTorchExtension;
    if in_extension {
        by_hipify(cx, &found);
        kernels_as_pointers(cx, &found);
        found.retain(|(.., counterpart)| !counterpart.hipify_knows);
        // A header may declare the namespace for hipCUB.
        let has_alias = cx.source.is_macro("cub");
        found.retain(|(at, word, _)| *word != "cub" || !has_alias && !cub(cx, *at));
    }
    let mut mentions = if in_extension {
        HashMap::new()
    } else {
        mentions(cx, &found)
    };
    for (at, word, counterpart) in found {
        let Counterpart { name: hip, .. } = counterpart;
        let rewritten = match counterpart.roc_changes {
            Some(changes) => hipify::rewrite(cx.source, at, changes)
                .map_or(Call::ByHand(""), |edits| Call::Rewritten(None, edits)),
            None => calls::rewrite(cx.source, at, word),
        };
        let (hip, edits, by_hand) = match rewritten {
            Call::Rewritten(name, edits) => (name.map_or(hip, str::to_owned), edits, None),
            Call::ByHand(hint) => (hip, Vec::new(), Some(hint)),
        };
        let is_miopen =
            counterpart.roc_changes.is_some() && word.to_ascii_lowercase().starts_with("cudnn");
        let library = match counterpart.roc_changes {
            None => "HIP",
            Some(_) if is_miopen => "MIOpen",
            Some(_) => "the roc libraries",
        };
        let mut message = if in_extension {
            format!("PyTorch's hipify does not rename `{word}`; it is `{hip}` in HIP.")
        } else {
            format!("`{word}` is `{hip}` in {library}.")
        };
        let mut title = format!("Write `{hip}`");
        if let Some(hint) = by_hand {
            message.pop();
            message.push_str(", which has different parameters.");
            title = format!("Call `{hip}` with its own arguments");
            if !hint.is_empty() {
                title = format!("{title}: {hint}");
            }
        }
        let fix = if in_extension {
            // The source is also built for NVIDIA.
            RawFix::display_only(format!("{title} under `#ifdef USE_ROCM`"))
        } else if by_hand.is_some() {
            RawFix::display_only(title)
        } else if let Some(edit) = compilers_question(cx.source, at, word) {
            RawFix::safe_edits("Test for `__HIPCC__` too", vec![edit])
        } else {
            let in_messages = mentions.get_mut(word).map(std::mem::take);
            let in_messages = in_messages.unwrap_or_default().into_iter().map(|start| {
                let start = start as usize;
                (start..start + word.len(), hip.clone())
            });
            let edits = [
                vec![(cx.source.span(at..at + 1), hip.clone())],
                edits,
                in_messages.collect(),
            ]
            .concat();
            if is_miopen {
                RawFix::unsafe_edits(title, edits)
            } else {
                RawFix::safe_edits(title, edits)
            }
        };
        cx.report(&RULE, at..at + 1, message, fix);
    }
}

/// The start of the names in messages: string literals with spaces, such as `"cudaMalloc failed"`. A literal without spaces
/// may be a key, such as the name for `dlsym`.
fn mentions<'a>(
    cx: &CudaChecker<'a>,
    found: &[(u32, &'a str, Counterpart)],
) -> HashMap<&'a str, Vec<u32>> {
    let mut mentions: HashMap<&str, Vec<u32>> = HashMap::new();
    for (_, word, _) in found {
        if !matches!(*word, "cuda" | "cub" | "__CUDACC__") {
            mentions.entry(word).or_default();
        }
    }
    let source = cx.source;
    let tokens = if mentions.is_empty() {
        0
    } else {
        source.token_count()
    };
    for token in 0..tokens {
        let text = source.token_text(token);
        let is_message =
            source.kind(token) == Kind::Text && text.starts_with('"') && text.contains(' ');
        if !is_message || !cx.is_for_both(token) {
            continue;
        }
        let literal = source.span(token..token + 1).start;
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at] == b'\\' {
                at += 2;
                continue;
            }
            let length = bytes[at..]
                .iter()
                .take_while(|byte| is_part(**byte))
                .count();
            let word = text.get(at..at + length).unwrap_or_default();
            if let Some(places) = mentions.get_mut(word) {
                places.push((literal + at) as u32);
            }
            at += length.max(1);
        }
    }
    mentions
}

/// One finding for everything that PyTorch's hipify renames.
fn by_hipify(cx: &CudaChecker<'_>, found: &[(u32, &str, Counterpart)]) {
    let mut seen = HashSet::new();
    let names: Vec<&str> = found
        .iter()
        .filter(|(_, word, hip)| hip.hipify_knows && seen.insert(*word))
        .map(|(_, word, ..)| *word)
        .collect();
    let Some((at, ..)) = found.iter().find(|(.., hip)| hip.hipify_knows) else {
        return;
    };
    let examples: Vec<_> = names
        .iter()
        .take(3)
        .map(|name| format!("`{name}`"))
        .collect();
    let rest = match names.len() - examples.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "hipify renames {}{rest} when this is built on ROCm; no change is necessary.",
        examples.join(", ")
    );
    cx.report_as(
        &RULE,
        Severity::Info,
        HandledBy::Hipify,
        *at..at + 1,
        message,
        RawFix::display_only("Leave the names unchanged"),
    );
}

/// Reports `cub::BlockExchange`, which hipify leaves, and `using namespace cub`. False for other uses of the word.
fn cub(cx: &CudaChecker<'_>, at: u32) -> bool {
    let source = cx.source;
    let used = match source.token_text(at + 1) {
        "::" => at..at + 3,
        ";" if source.before(at, 1) == "namespace" => at..at + 1,
        _ => return false,
    };
    let name = source.slice(used.clone());
    let message = format!("PyTorch's hipify does not rename `{name}`; it is `hip{name}` in HIP.");
    let title = "Declare `namespace cub = hipcub;` for ROCm";
    let fix = match after_includes(source, at) {
        Some(place) => {
            let end = newline(source.text);
            let alias = format!("#ifdef USE_ROCM{end}namespace cub = hipcub;{end}#endif{end}");
            RawFix::safe_edits(title, vec![(place..place, alias)])
        }
        None => RawFix::display_only(title),
    };
    cx.report(&RULE, used, message, fix);
    true
}

/// The start of the line after the last `#include` before a token that no condition contains, other than the include guard.
fn after_includes(source: &Source<'_>, token: u32) -> Option<usize> {
    let mut depth = 0_u32;
    let mut last = None;
    let before = source
        .directives
        .iter()
        .take_while(|line| line.end <= token);
    for (index, line) in before.enumerate() {
        match source.directive_name(line) {
            "ifndef" if index == 0 => {}
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" => depth = depth.saturating_sub(1),
            "include" if depth == 0 => last = Some(line),
            _ => {}
        }
    }
    let line = last.filter(|line| source.enclosing_braces(line.start).is_none())?;
    let end = source.span(line.clone()).end;
    let rest = source.text.get(end..)?.find('\n')?;
    Some(end + rest + 1)
}

/// `cudaFuncSetAttribute(kernel, …)`: CUDA has a template for it, HIP has not, and PyTorch's hipify changes only the name.
fn kernels_as_pointers(cx: &CudaChecker<'_>, found: &[(u32, &str, Counterpart)]) {
    let source = cx.source;
    for (at, word, counterpart) in found {
        let index = match *word {
            "cudaFuncSetAttribute" | "cudaFuncSetCacheConfig" | "cudaFuncSetSharedMemConfig" => 0,
            "cudaFuncGetAttributes" => 1,
            _ => continue,
        };
        let Call::Rewritten(_, edits) = calls::rewrite(source, *at, word) else {
            continue;
        };
        let kernel = source
            .call(*at)
            .and_then(|call| source.arguments(&call).into_iter().nth(index));
        let Some(kernel) = kernel.filter(|_| !edits.is_empty()) else {
            continue;
        };
        let is_pointer =
            |place: &u32| source.before(*place, 1) == "*" && source.before(*place, 2) == "void";
        let name = source.token_text(kernel.end - 1);
        if source.places(name).iter().any(is_pointer) {
            continue;
        }
        let hip = &counterpart.name;
        cx.report(
            &RULE,
            *at..at + 1,
            format!(
                "`{hip}` takes a pointer, and a kernel's name does not convert to one; hipify only renames the function."
            ),
            RawFix::safe_edits("Cast the kernel to `const void*`, as CUDA accepts too", edits),
        );
    }
}

/// AMD's name for a word.
#[derive(Clone)]
struct Counterpart {
    name: String,
    /// PyTorch's hipify converts the word.
    hipify_knows: bool,
    /// For a name of the roc libraries: the changes of a call's arguments.
    roc_changes: Option<&'static str>,
}

fn counterpart(cx: &CudaChecker<'_>, word: &str) -> Option<Counterpart> {
    let of_hip = |name: String, hipify_knows| Counterpart {
        name,
        hipify_knows,
        roc_changes: None,
    };
    match word {
        "cub" => return Some(of_hip("hipcub".to_owned(), true)),
        // `thrust::cuda::par`.
        "cuda" => return Some(of_hip("hip".to_owned(), true)),
        // Arithmetic of device code has no roc types.
        "__half" | "__nv_bfloat16" if is_device_code(cx) => {}
        _ => {
            if let Some(RocName::Known(name, changes)) = cx.roc_name(word) {
                return Some(Counterpart {
                    name: name.to_owned(),
                    hipify_knows: false,
                    roc_changes: Some(changes),
                });
            }
        }
    }
    let Name::Hip { name, hipify_knows } = name(word)? else {
        return None;
    };
    if cx.target.rocm < Version::new(7, 0)
        && let Some(older) = before_rocm_7(word, &name)
    {
        return Some(of_hip(older, hipify_knows));
    }
    Some(of_hip(name.into_owned(), hipify_knows))
}

fn is_device_code(cx: &CudaChecker<'_>) -> bool {
    ["__global__", "__device__", "__host__"]
        .iter()
        .any(|qualifier| !cx.source.places(qualifier).is_empty())
}

/// The first use of a name that has a counterpart.
pub(super) fn first_use(cx: &CudaChecker<'_>) -> Option<u32> {
    cx.source
        .words()
        .filter(|(word, _)| {
            *word != "__CUDACC__"
                && counterpart(cx, word).is_some()
                && !is_the_projects(cx.source, word)
        })
        .filter_map(|(word, places)| {
            places
                .iter()
                .copied()
                .find(|at| cx.is_for_both(*at) && is_the_api(cx.source, word, *at))
        })
        .min()
}

fn is_the_api(source: &Source<'_>, word: &str, at: u32) -> bool {
    match word {
        "cuda" => source.before(at, 1) == "::" && source.before(at, 2) == "thrust",
        "cub" => !source.is_qualified(at) && names_cub(source, at),
        _ => !source.is_qualified(at),
    }
}

/// False for `__CUDACC__` in a condition whose author handles AMD's compiler, or that AMD's compiler need not pass.
fn is_open_question(source: &Source<'_>, chains: &[Chain], at: u32) -> bool {
    let Some(line) = source.directive_of(at) else {
        return true;
    };
    if line
        .clone()
        .take(64)
        .any(|token| names_amd(source.token_text(token)))
    {
        return false;
    }
    let index = source.directives.partition_point(|line| line.start < at);
    let Some(chain) = index.checked_sub(1).and_then(|own| chains.get(own)) else {
        return true;
    };
    !(chain.names_amd
        || chain.has_amd_within
        // clang ignores nvcc's pragmas.
        || holds_only(source, index - 1, &|line| source.directive_name(line) == "pragma")
        || has_fallback(source, line, index))
}

/// True in a function, before an `#else` with a plain computation that every compiler compiles: no call is in it.
fn has_fallback(source: &Source<'_>, line: &Directive, next: usize) -> bool {
    /// An upper limit for the tokens of both branches.
    const MAX: u32 = 400;
    let [other, end, ..] = &source.directives[next..] else {
        return false;
    };
    // With a launch in place of one branch, AMD would run on the CPU.
    let launches = |token| {
        source.token_text(token).starts_with("cuda") || source.reads(token, &["<", "<", "<"])
    };
    let calls = |token: u32| {
        source.kind(token) == Kind::Word
            && source.token_text(token + 1) == "("
            && source.token_text(token) != "return"
    };
    source.directive_name(line) == "ifdef"
        && source.directive_name(other) == "else"
        && source.directive_name(end) == "endif"
        && end.end - line.start < MAX
        && !(line.end..other.start).any(launches)
        && !(other.end..end.start).any(calls)
        && source
            .enclosing_braces(other.start)
            .is_some_and(|braces| source.before(braces.start, 1) == ")")
}

/// An upper limit for the number of included headers that extend CUB.
const MAX_INCLUDES: usize = 200;

/// `cub::X`, `using namespace cub;`, `namespace reduction = cub;`, and `namespace cub {` in a source that includes the
/// library and extends it.
fn names_cub(source: &Source<'_>, at: u32) -> bool {
    // `::cub`
    let global = u32::from(source.before(at, 1) == "::");
    let before = |back: u32| source.before(at, global + back);
    match source.token_text(at + 1) {
        "::" => true,
        "{" => {
            before(1) == "namespace"
                && source
                    .includes()
                    .take(MAX_INCLUDES)
                    .any(|(header, _)| header.starts_with("cub/") || header.starts_with("hipcub/"))
        }
        ";" => {
            (before(1) == "namespace" && before(2) == "using")
                || (before(1) == "=" && before(3) == "namespace")
        }
        _ => false,
    }
}

/// `#ifdef __CUDACC__` for both compilers: with `__HIPCC__` alone the code would look like AMD-only code.
fn compilers_question(source: &Source<'_>, at: u32, word: &str) -> Option<Replacement> {
    const EITHER: &str = "defined(__CUDACC__) || defined(__HIPCC__)";
    if word != "__CUDACC__" {
        return None;
    }
    let line = source.directive_of(at)?;
    let name = line.start + 1;
    match source.directive_name(line) {
        // Not a valid condition; the replacement would remove what is between the two.
        "ifdef" | "ifndef" if at != name + 1 => None,
        "ifdef" => Some((source.span(name..at + 1), format!("if {EITHER}"))),
        "ifndef" => Some((
            source.span(name..at + 1),
            "if !defined(__CUDACC__) && !defined(__HIPCC__)".to_owned(),
        )),
        "if" | "elif" => {
            let tokens = match (source.before(at, 2), source.before(at, 1)) {
                ("defined", "(") if source.token_text(at + 1) == ")" => at - 2..at + 2,
                ("defined", "(") => return None,
                (_, "defined") => at - 1..at + 1,
                _ => at..at + 1,
            };
            let is_alone = tokens.start == name + 1 && tokens.end == line.end;
            let text = if is_alone {
                EITHER.to_owned()
            } else {
                format!("({EITHER})")
            };
            Some((source.span(tokens), text))
        }
        _ => None,
    }
}
