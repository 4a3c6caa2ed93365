//! Preprocessor conditionals: the parts that are compiled only for AMD, and only for NVIDIA.
//!
//! A condition is evaluated twice, once as each vendor's compiler would, and either result may be unknown.

mod chains;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::lexer::{Directive, Kind};
use super::token_stream::TokenStream;
use chains::is_in_guard;
use hipward_analyzer_core::words::listed;

pub use chains::{Chain, chains};
pub(crate) use chains::{holds_only, is_header};

/// The vendors for which a part of the source is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendors {
    /// Both, as far as is known.
    Both,
    /// AMD only.
    Amd,
    /// NVIDIA only, or neither.
    NotAmd,
}

/// From this token on.
pub type Change = (u32, Vendors);

/// The value of a condition on AMD and on NVIDIA; `None` if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub amd: Option<bool>,
    pub nvidia: Option<bool>,
}

impl Verdict {
    const UNKNOWN: Verdict = Verdict::new(None, None);

    const fn new(amd: Option<bool>, nvidia: Option<bool>) -> Self {
        Verdict { amd, nvidia }
    }

    fn not(self) -> Self {
        Verdict::new(self.amd.map(|is| !is), self.nvidia.map(|is| !is))
    }

    fn and(self, other: Self) -> Self {
        let both = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        Verdict::new(both(self.amd, other.amd), both(self.nvidia, other.nvidia))
    }

    fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    fn vendors(self) -> Vendors {
        if self.amd == Some(false) {
            Vendors::NotAmd
        } else if self.nvidia == Some(false) {
            Vendors::Amd
        } else {
            Vendors::Both
        }
    }
}

/// An open `#if`: the values of its earlier branches, and of the enclosing conditions.
struct Open {
    around: Verdict,
    before: Verdict,
}

/// The positions at which the vendors change, in order. CUDA's macros are undefined on AMD where there is another branch.
pub fn changes(source: &TokenStream<'_>) -> Vec<Change> {
    changes_with(source, CudaArch::Unknown, "")
}

/// [`changes`], with `arch` where there is no other branch, and without the macros in `unset`, which nothing defines.
pub(crate) fn changes_with(
    source: &TokenStream<'_>,
    without_else: CudaArch,
    unset: &str,
) -> Vec<Change> {
    let chains = chains(source);
    let arch = |has_else: bool| match without_else {
        CudaArch::Unknown if has_else => CudaArch::Absent,
        arch => arch,
    };
    // `#if defined(X) || defined(Y)` before an `#elif` for AMD.
    let condition_of = |line: &Directive, chain: Chain| {
        let mut condition = evaluate(source, line, arch(chain.has_else));
        if chain.is_shared_out && condition.amd.is_none() && condition.nvidia != Some(false) {
            condition.amd = Some(false);
        }
        condition
    };
    let mut open: Vec<Open> = Vec::new();
    let mut now = Verdict::new(Some(true), Some(true));
    let mut changes = Vec::new();
    let mut switches: HashMap<&str, bool> = HashMap::new();
    // Macros, and whether all their definitions are in parts that AMD does not compile.
    let mut of_others: HashMap<&str, bool> = HashMap::new();
    let guard = usize::from(is_in_guard(source));
    for (index, line) in source.directives.iter().enumerate() {
        let name = source.directive_name(line);
        match name {
            // `#define FAST 1`, for `#if FAST` below
            "define" | "undef" => {
                let value = match source.token_text(line.start + 3) {
                    "0" => Some(false),
                    "1" => Some(true),
                    _ => None,
                };
                let macro_name = source.token_text(line.start + 2);
                if name == "define" {
                    let is_skipped = now.amd == Some(false);
                    *of_others.entry(macro_name).or_insert(true) &= is_skipped;
                }
                match value.filter(|_| name == "define" && line.len() == 4 && open.len() <= guard) {
                    Some(value) => switches.insert(macro_name, value),
                    None => switches.remove(macro_name),
                };
                continue;
            }
            "if" | "ifdef" | "ifndef" => {
                let mut condition = condition_of(line, chains[index]);
                let negated = source.token_text(line.start + 2) == "!";
                let only = line.start + 2 + u32::from(negated);
                let value = switches.get(source.token_text(only));
                if let Some(value) = value.filter(|_| {
                    name == "if" && only + 1 == line.end && condition == Verdict::UNKNOWN
                }) {
                    let value = Some(*value != negated);
                    condition = Verdict::new(value, value);
                }
                let is_absent = |name| of_others.get(name) == Some(&true) || listed(unset, name);
                if condition == Verdict::UNKNOWN && asked(source, line).is_some_and(is_absent) {
                    condition.amd = Some(false);
                }
                open.push(Open {
                    around: now,
                    before: condition,
                });
                now = now.and(condition);
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                let Some(last) = open.last_mut() else {
                    continue;
                };
                let condition = if name == "else" {
                    Verdict::new(Some(true), Some(true))
                } else {
                    condition_of(line, chains[index])
                };
                now = last.around.and(last.before.not()).and(condition);
                last.before = last.before.or(condition);
            }
            "endif" => {
                let Some(last) = open.pop() else { continue };
                now = last.around;
            }
            _ => continue,
        }
        let vendors = now.vendors();
        if changes.last().map_or(Vendors::Both, |(_, last)| *last) != vendors {
            changes.push((line.end, vendors));
        }
    }
    changes
}

/// The macro of `#ifdef X`, `#if X` and `#if defined(X)`.
fn asked<'a>(source: &TokenStream<'a>, line: &Directive) -> Option<&'a str> {
    let mut condition = line.start + 2..line.end;
    if source.directive_name(line) == "ifndef" {
        return None;
    }
    if source.token_text(condition.start) == "defined" {
        condition.start += 1;
    }
    if source.token_text(condition.start) == "(" {
        condition = condition.start + 1..condition.end.saturating_sub(1);
    }
    (condition.len() == 1).then(|| source.token_text(condition.start))
}

/// Macros that HIP does not define, so that they evaluate to 0: the architecture, and versions of CUDA and of its libraries.
pub const CUDA_NUMBERS: &[&str] = &[
    "__CUDA_ARCH__",
    "CUDART_VERSION",
    "CUDA_VERSION",
    "CUDNN_VERSION",
    "CUBLAS_VERSION",
    "CUSPARSE_VERSION",
];

/// True for [`CUDA_NUMBERS`] and the version of nvcc.
pub(crate) fn is_cuda_number(name: &str) -> bool {
    CUDA_NUMBERS.contains(&name) || name.starts_with("__CUDACC_VER_")
}

/// `USE_CUDA`, `MY_WITH_CUDA`: a project's macro for its part for CUDA.
pub(crate) fn selects_cuda(name: &str) -> bool {
    name.ends_with("_CUDA")
        && name
            .split('_')
            .any(|part| matches!(part, "USE" | "WITH" | "HAVE" | "HAS" | "ENABLE" | "BUILD"))
}

/// How those macros are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaArch {
    /// Independent of AMD: without another branch, the author had no other case in mind.
    Unknown,
    /// As undefined on AMD.
    Absent,
    /// As undefined on AMD, and so are macros that select the part for CUDA, such as `USE_CUDA`.
    Unbuilt,
    /// As undefined on AMD, and as larger than every number on NVIDIA.
    Newest,
}

/// The value of an `#if`, `#ifdef`, `#ifndef` or `#elif` line.
pub fn evaluate(source: &TokenStream<'_>, line: &Directive, arch: CudaArch) -> Verdict {
    let mut reader = Reader {
        source,
        at: line.start + 2,
        end: line.end,
        arch,
        depth: 0,
        is_of_a_macro: false,
    };
    match source.directive_name(line) {
        "ifdef" | "elifdef" => reader.name_is_defined(),
        "ifndef" | "elifndef" => reader.name_is_defined().not(),
        _ => reader.either(),
    }
}

/// An upper limit for nested parentheses.
const MAX_DEPTH: u32 = 40;

struct Reader<'s, 'a> {
    source: &'s TokenStream<'a>,
    at: u32,
    end: u32,
    arch: CudaArch,
    depth: u32,
    /// In the condition of a macro, where other macros are not expanded, which keeps the time linear.
    is_of_a_macro: bool,
}

impl Reader<'_, '_> {
    fn text(&self, ahead: u32) -> &str {
        if self.at + ahead < self.end {
            self.source.token_text(self.at + ahead)
        } else {
            ""
        }
    }

    fn takes(&mut self, first: &str, second: &str) -> bool {
        let is_it = self.text(0) == first && (second.is_empty() || self.text(1) == second);
        if is_it {
            self.at += if second.is_empty() { 1 } else { 2 };
        }
        is_it
    }

    fn either(&mut self) -> Verdict {
        let mut verdict = self.both();
        while self.takes("|", "|") {
            verdict = verdict.or(self.both());
        }
        verdict
    }

    fn both(&mut self) -> Verdict {
        let mut verdict = self.one();
        while self.takes("&", "&") {
            verdict = verdict.and(self.one());
        }
        verdict
    }

    fn one(&mut self) -> Verdict {
        self.depth += 1;
        let verdict = if self.depth > MAX_DEPTH {
            self.at = self.end;
            Verdict::UNKNOWN
        } else if self.text(0) == "!" && self.text(1) != "=" {
            self.at += 1;
            self.one().not()
        } else if self.takes("(", "") {
            let inner = self.either();
            self.takes(")", "");
            self.unless_compared(inner)
        } else if self.takes("defined", "") {
            let parenthesis = self.takes("(", "");
            let verdict = self.name_is_defined();
            if parenthesis {
                self.takes(")", "");
            }
            verdict
        } else {
            self.value()
        };
        self.depth -= 1;
        verdict
    }

    fn name_is_defined(&mut self) -> Verdict {
        let verdict = is_defined(self.source, self.text(0), self.arch);
        self.at += 1;
        verdict
    }

    /// A name or number, with the comparison that follows it.
    fn value(&mut self) -> Verdict {
        let name = self.text(0).to_owned();
        let is_word = self.at < self.end && self.source.kind(self.at) == Kind::Word;
        self.at += 1;
        // A macro's arguments: `__has_include(<x>)`.
        if is_word && self.text(0) == "(" {
            self.at = self
                .source
                .partner(self.at)
                .map_or(self.end, |close| close + 1)
                .min(self.end);
            return self.unless_compared(Verdict::UNKNOWN);
        }
        let compared = matches!(self.text(0), "<" | ">" | "=" | "+" | "-" | "*" | "/" | "%")
            || (self.text(0) == "!" && self.text(1) == "=");
        if compared {
            let is_not_zero = |ahead| {
                let number = self.text(ahead);
                number.starts_with(|c: char| c.is_ascii_digit()) && number != "0"
            };
            // `12000 <= CUDA_VERSION`, which is `CUDA_VERSION >= 12000`.
            let mirrored = (self.text(0) == "<")
                .then(|| self.text(if self.text(1) == "=" { 2 } else { 1 }))
                .filter(|name| is_cuda_number(name))
                .map(str::to_owned);
            let greater = self.text(0) == ">"
                || mirrored.is_some()
                || (self.text(0) == "=" && self.text(1) == "=" && is_not_zero(2));
            // A restriction of one old GPU: `__CUDA_ARCH__ == 750`.
            let is_one_old = name == "__CUDA_ARCH__"
                && self.text(0) == "="
                && self.text(2).parse::<u32>().is_ok_and(|arch| arch < 800);
            let is_less = self.text(0) == "<" && mirrored.is_none();
            let name = mirrored.unwrap_or(name);
            self.skip_comparison();
            // An undefined macro is 0, which is not greater than any version.
            let defined = is_defined(self.source, &name, self.arch);
            let absent = |known: Option<bool>| known.filter(|is| !is && greater);
            if is_cuda_number(&name) && self.arch == CudaArch::Newest {
                return Verdict::new(Some(!greater), Some(greater && !is_one_old));
            }
            // hipify renames `CUDA_VERSION`, and no other of these macros.
            if is_less && name == "CUDART_VERSION" && defined.amd == Some(false) {
                return Verdict::new(Some(true), None);
            }
            return Verdict::new(absent(defined.amd), absent(defined.nvidia));
        }
        let expands = is_word && !self.is_of_a_macro;
        if let Some(body) = expands.then(|| body(self.source, &name)).flatten() {
            let mut reader = Reader {
                source: self.source,
                at: body.start,
                end: body.end,
                arch: self.arch,
                depth: self.depth,
                is_of_a_macro: true,
            };
            return reader.either();
        }
        if is_word {
            is_defined(self.source, &name, self.arch)
        } else if matches!(name.as_str(), "0" | "1") {
            Verdict::new(Some(name == "1"), Some(name == "1"))
        } else {
            Verdict::UNKNOWN
        }
    }

    fn unless_compared(&mut self, verdict: Verdict) -> Verdict {
        if matches!(
            self.text(0),
            "<" | ">" | "=" | "+" | "-" | "*" | "/" | "%" | "?"
        ) {
            self.skip_comparison();
            return Verdict::UNKNOWN;
        }
        verdict
    }

    /// Advances to the next `&&`, `||` or closing parenthesis.
    fn skip_comparison(&mut self) {
        while self.at < self.end {
            match (self.text(0), self.text(1)) {
                ("&", "&") | ("|", "|") | (")", _) => return,
                ("(", _) => {
                    self.at = self
                        .source
                        .partner(self.at)
                        .map_or(self.end, |close| close + 1);
                }
                _ => self.at += 1,
            }
        }
    }
}

/// The condition that a macro stands for, if it depends on one of CUDA's: `#define HAS_BF16 (__CUDA_ARCH__ >= 800)`.
pub(crate) fn body(source: &TokenStream<'_>, name: &str) -> Option<Directive> {
    /// An upper limit for the length of such a condition.
    const MAX: u32 = 40;
    let at = *source.places(name).first()?;
    let after = source.directives.partition_point(|line| line.start <= at);
    let line = source.directives.get(after.checked_sub(1)?)?;
    let body = at + 1..line.end;
    let is_condition = source.directive_name(line) == "define"
        && line.start + 2 == at
        && line.end - line.start < MAX
        && body
            .clone()
            .any(|token| is_cuda_number(source.token_text(token)));
    is_condition.then_some(body)
}

/// NVIDIA's part of a macro's name, and the AMD equivalent.
const PAIRS: [(&str, &str); 4] = [
    ("CUDA", "HIP"),
    ("CUDA", "ROCM"),
    ("CU", "HIP"),
    ("CU", "ROC"),
];

/// Whether each vendor's compiler or build defines a macro.
fn is_defined(source: &TokenStream<'_>, name: &str, arch: CudaArch) -> Verdict {
    match name {
        "__HIP_PLATFORM_NVIDIA__" | "__HIP_PLATFORM_NVCC__" | "__NVCC__" | "_NVHPC_CUDA" => {
            Verdict::new(Some(false), Some(true))
        }
        "__HIP_DEVICE_COMPILE__" | "__AMDGCN__" | "__AMDGCN_WAVEFRONT_SIZE" => {
            Verdict::new(None, Some(false))
        }
        _ if arch == CudaArch::Unbuilt && selects_cuda(name) => Verdict::new(Some(false), None),
        _ if is_cuda_number(name) => match arch {
            CudaArch::Unknown => Verdict::UNKNOWN,
            CudaArch::Absent | CudaArch::Unbuilt => Verdict::new(Some(false), None),
            CudaArch::Newest => Verdict::new(Some(false), Some(true)),
        },
        _ if name.starts_with("__gfx") => Verdict::new(None, Some(false)),
        _ if names_amd(name) => Verdict::new(Some(true), Some(false)),
        // `BUILD_CUDA` with a `BUILD_HIP`, `USE_CUSPARSE` with a `USE_ROCSPARSE`.
        _ if PAIRS.iter().any(|(nvidias, amds)| {
            name.contains(nvidias) && !source.places(&name.replace(nvidias, amds)).is_empty()
        }) =>
        {
            Verdict::new(Some(false), Some(true))
        }
        _ if names_nvidias_part(name) => Verdict::new(Some(false), None),
        _ => Verdict::UNKNOWN,
    }
}

/// True for a source with its own condition for AMD, which shows that it was compiled there.
///
/// A condition that is the same for both vendors, such as `defined(__CUDACC__) || defined(__HIPCC__)`, does not count:
/// fixes insert it.
pub fn knows_amd(source: &TokenStream<'_>) -> bool {
    source.directives.iter().any(|line| {
        let has = |wanted: &str| line.clone().any(|token| source.token_text(token) == wanted);
        let asks = |wanted: &dyn Fn(&str) -> bool| {
            line.clone().any(|token| wanted(source.token_text(token)))
        };
        source.directive_name(line).contains("if") && asks(&names_amd) && {
            let compilers = has("__CUDACC__");
            let device_code = has("__CUDA_ARCH__");
            asks(&|word| match word {
                "__HIPCC__" => !compilers,
                "__HIP_DEVICE_COMPILE__" => !device_code,
                word => names_amd(word),
            })
        }
    })
}

/// `USE_ROCM`, `__HIP_PLATFORM_AMD__`, `__HIPCC__`, `GGML_USE_HIP` and similar macros of projects.
pub fn names_amd(name: &str) -> bool {
    let parts = || name.split('_').filter(|part| !part.is_empty());
    // Include guards contain the file name: `MY_HIP_COMPAT_H`.
    let is_guard = parts().next_back().is_some_and(|last| {
        ["H", "HPP", "CUH", "HXX", "HH", "INCLUDED"]
            .iter()
            .any(|ending| last.eq_ignore_ascii_case(ending))
    });
    !is_guard
        && parts().any(|part| {
            matches!(part, "ROCM" | "AMD" | "AMDGPU" | "ROCBLAS" | "CUDA2HIP")
                || part
                    .strip_prefix("HIP")
                    .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_uppercase()))
        })
}

/// NVIDIA's libraries and generations, for which a build for AMD has no option.
const NVIDIAS: &str = "AMPERE BLACKWELL CUDNN CUFILE CUPTI CUSPARSELT CUTENSOR CUTLASS HOPPER NVML NVSHMEM OPTIX TENSORRT \
    TURING VOLTA";

/// `HAS_GEMM_SM75`, `USE_CUDNN`, `TURING_MMA_AVAILABLE`: a part for an NVIDIA GPU or library. `DISABLE_SM80` tests for
/// the opposite.
fn names_nvidias_part(name: &str) -> bool {
    let is_number = |part: &str| {
        part.strip_prefix("SM")
            .is_some_and(|number| number.len() > 1 && number.as_bytes()[0].is_ascii_digit())
    };
    name.split('_')
        .any(|part| is_number(part) || listed(NVIDIAS, part))
        && !name.contains("DISABLE")
        && !name.contains("NO_")
}
