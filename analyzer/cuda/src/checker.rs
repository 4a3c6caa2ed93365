//! The interface between CUDA C++ sources and their rules.

use super::conditions::{Change, CudaArch, Vendors, changes_with, knows_amd};
use super::headers::hip_header;
use super::source::Source;
use super::token_stream::Tokens;
use crate::hipify::IS_COMPLETE as ROC_IS_COMPLETE;
use crate::rules::{CudaRule, RULES};
use crate::{CudaOptions, Libraries, RocName, roc_header, roc_name};
use hipward_analyzer_core::diagnostic::{DiagnosticSink, RawDiagnostic, RawFix};
use hipward_analyzer_core::rule::Rule;
use hipward_analyzer_core::{HandledBy, Severity, Target};

/// The compiler of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The source's own build: names have to be HIP names.
    Plain,
    /// A PyTorch extension, or a build that runs hipify itself: names change at build time.
    PyTorchExtension,
}

/// The source, and its findings so far.
pub struct CudaChecker<'a> {
    pub source: &'a Source<'a>,
    pub target: &'a Target,
    pub setting: Setting,
    /// The libraries that names are converted to.
    pub libraries: Libraries,
    /// A header defines CUDA's names as HIP names.
    pub has_hip_names: bool,
    /// The source is a string of another source, which a runtime compiler compiles.
    pub is_fragment: bool,
    /// One of its conditions tests for AMD, or a header defines CUDA's names as HIP names.
    pub knows_amd: bool,
    /// Where the code is compiled, if CUDA's macros and the switches that nothing sets are undefined on AMD.
    compiled: Vec<Change>,
    diagnostics: DiagnosticSink,
}

impl<'a> CudaChecker<'a> {
    /// The findings of the selected rules in `source`.
    pub fn run(source: &'a Source<'a>, options: &CudaOptions<'a>) -> Vec<RawDiagnostic> {
        // CUDA's own header would be missing.
        let has_hip_names = options.has_hip_names
            && !source.includes().any(|(header, token)| {
                // A library such as CUB needs no names of the runtime.
                !header.contains('/')
                    && hip_header(header).is_some()
                    && source.vendors(token) == Vendors::Both
            });
        let setting = match options.pytorch_extension {
            Some(true) => Setting::PyTorchExtension,
            Some(false) => Setting::Plain,
            None => setting(source),
        };
        let knows_amd = has_hip_names || knows_amd(source);
        // An extension's build may define `WITH_CUDA` on ROCm as well.
        let arch = match setting {
            Setting::Plain if !knows_amd => CudaArch::Unbuilt,
            _ => CudaArch::Absent,
        };
        let checker = CudaChecker {
            source,
            target: options.target,
            libraries: options.libraries,
            has_hip_names,
            is_fragment: options.is_fragment,
            setting,
            knows_amd,
            compiled: changes_with(source, arch, options.unset_switches),
            diagnostics: DiagnosticSink::default(),
        };
        // SYCL is not CUDA, even if the source was converted from CUDA.
        let is_sycl = source
            .includes()
            .any(|(header, _)| header.ends_with("sycl.hpp"));
        for CudaRule { rule, check } in RULES.iter().copied().filter(|_| !is_sycl) {
            if options.filter.includes(rule.id, rule.on_request) {
                check(&checker);
            }
        }
        for diagnostic in (options.extension)(&checker) {
            checker.diagnostics.push(diagnostic);
        }
        checker.diagnostics.finish()
    }

    /// Reports a finding of `rule` at a range of tokens, unless they are compiled for one vendor only: NVIDIA's branch
    /// is not compiled for the target, and AMD's branch was written for it.
    ///
    /// In a source with a condition for AMD, an error becomes information, because the author would have noticed it. A
    /// finding about code that compiles but is wrong, such as a warp of 32, keeps its severity. A finding in a
    /// branch for a version of CUDA, which is not compiled on AMD, is information.
    pub fn report(
        &self,
        rule: &'static Rule,
        tokens: Tokens,
        message: impl Into<String>,
        fix: impl Into<Option<RawFix>>,
    ) {
        let severity = match rule.severity {
            Severity::Error if self.knows_amd => Severity::Info,
            severity => severity,
        };
        self.report_as(rule, severity, HandledBy::You, tokens, message, fix);
    }

    /// [`CudaChecker::report`] with a different severity and handler.
    pub fn report_as(
        &self,
        rule: &'static Rule,
        severity: Severity,
        handled_by: HandledBy,
        tokens: Tokens,
        message: impl Into<String>,
        fix: impl Into<Option<RawFix>>,
    ) {
        if self.diagnostics.is_full() || !self.is_for_both(tokens.start) {
            return;
        }
        let severity = if self.is_skipped(tokens.start) {
            Severity::Info
        } else {
            severity
        };
        self.diagnostics.push(RawDiagnostic {
            rule: rule.into(),
            span: self.source.span(tokens),
            message: message.into(),
            severity,
            handled_by,
            fix: fix.into(),
        });
    }

    /// The replacement for a CUDA header: of HIP, or of the roc libraries if they are selected.
    pub(crate) fn amd_header(&self, cuda: &str) -> Option<&'static str> {
        self.to_roc()
            .then(|| roc_header(cuda))
            .flatten()
            .or_else(|| hip_header(cuda))
    }

    /// The entry of a name in the roc libraries, if they are selected.
    pub(crate) fn roc_name(&self, cuda: &str) -> Option<RocName> {
        self.to_roc().then(|| roc_name(cuda)).flatten()
    }

    /// The macro for AMD's branch: PyTorch's builds define `USE_ROCM`, and HIP's compiler defines the other one.
    pub(crate) fn amd_macro(&self) -> &'static str {
        match self.setting {
            Setting::Plain if self.source.places("USE_ROCM").is_empty() => "__HIP_PLATFORM_AMD__",
            _ => "USE_ROCM",
        }
    }

    /// PyTorch's hipify writes the hip libraries.
    fn to_roc(&self) -> bool {
        ROC_IS_COMPLETE && self.libraries == Libraries::Roc && self.setting == Setting::Plain
    }

    /// False for code that only one vendor's compiler sees.
    pub fn is_for_both(&self, token: u32) -> bool {
        self.source.vendors(token) == Vendors::Both
    }

    /// True for code that AMD does not compile, because CUDA's macros are undefined there.
    pub(crate) fn is_skipped(&self, token: u32) -> bool {
        let after = self.compiled.partition_point(|(from, _)| *from <= token);
        after
            .checked_sub(1)
            .and_then(|last| self.compiled.get(last))
            .is_some_and(|(_, vendors)| *vendors == Vendors::NotAmd)
    }

    /// The positions of a word that both vendors compile and that refer to the global name, in order.
    pub fn uses<'s>(&'s self, word: &str) -> impl Iterator<Item = u32> + use<'s, 'a> {
        self.source
            .places(word)
            .iter()
            .copied()
            .take_while(|_| !self.diagnostics.is_full())
            .filter(|at| self.is_for_both(*at) && !self.source.is_qualified(*at))
    }
}

/// PyTorch's headers or registration macros identify an extension.
fn setting(source: &Source<'_>) -> Setting {
    let has_header = source.includes().any(|(header, _)| {
        ["torch/", "ATen/", "c10/", "pybind11/"]
            .iter()
            .any(|folder| header.starts_with(folder))
    });
    let has_name = [
        "TORCH_LIBRARY",
        "TORCH_LIBRARY_FRAGMENT",
        "TORCH_LIBRARY_IMPL",
        "TORCH_CHECK",
        "PYBIND11_MODULE",
        "C10_CUDA_CHECK",
        "AT_DISPATCH_FLOATING_TYPES",
    ]
    .iter()
    .any(|word| !source.places(word).is_empty());
    let has_namespace = ["at", "torch", "c10"].iter().any(|namespace| {
        source
            .places(namespace)
            .iter()
            .any(|at| source.token_text(at + 1) == "::")
    });
    if has_header || has_name || has_namespace {
        Setting::PyTorchExtension
    } else {
        Setting::Plain
    }
}
