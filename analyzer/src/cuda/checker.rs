//! The interface between CUDA C++ sources and their rules.

use super::conditions::{Vendors, knows_amd};
use super::headers::hip_header;
use super::source::{Source, Tokens};
use crate::analysis::Options;
use crate::draft::{Draft, Drafts, Suggestion};
use crate::report::{HandledBy, Severity, Target};
use crate::rules::RuleMeta;
use crate::team::check_cuda;

/// The compiler of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// The source's own build: names have to be HIP names.
    Plain,
    /// A PyTorch extension, or a build that runs hipify itself: names change at build time.
    PyTorchExtension,
}

/// The source, and its findings so far.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a Source<'a>,
    pub(crate) target: &'a Target,
    pub(crate) setting: Setting,
    /// A header defines CUDA's names as HIP names.
    pub(crate) has_hip_names: bool,
    /// One of its conditions tests for AMD, or a header defines CUDA's names as HIP names.
    pub(crate) knows_amd: bool,
    drafts: Drafts,
}

impl<'a> Checker<'a> {
    /// The findings of the selected rules in `source`.
    pub(crate) fn run(source: &'a Source<'a>, options: &'a Options) -> Vec<Draft> {
        // CUDA's own header would be missing.
        let has_hip_names = options.has_hip_names
            && !source.includes().any(|(header, token)| {
                hip_header(header).is_some() && source.vendors(token) == Vendors::Both
            });
        let checker = Checker {
            source,
            target: &options.target,
            has_hip_names,
            setting: match options.pytorch_extension {
                Some(true) => Setting::PyTorchExtension,
                Some(false) => Setting::Plain,
                None => setting(source),
            },
            knows_amd: has_hip_names || knows_amd(source),
            drafts: Drafts::default(),
        };
        // SYCL is not CUDA, even if the source was converted from CUDA.
        let is_sycl = source
            .includes()
            .any(|(header, _)| header.ends_with("sycl.hpp"));
        for rule in options.selected() {
            if let Some(check) = rule.cuda.filter(|_| !is_sycl) {
                check(&checker);
            }
        }
        for draft in check_cuda(&checker, options) {
            checker.drafts.push(draft);
        }
        checker.drafts.finish()
    }

    /// Reports a finding of `rule` at a range of tokens, unless they are compiled for one vendor only: NVIDIA's branch
    /// is not compiled for the target, and AMD's branch was written for it.
    ///
    /// In a source with a condition for AMD, an error becomes information, because the author would have noticed it. A
    /// finding about code that compiles but is wrong, such as a warp of 32, keeps its severity.
    pub(crate) fn report(
        &self,
        rule: &'static RuleMeta,
        tokens: Tokens,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        let severity = match rule.severity {
            Severity::Error if self.knows_amd => Severity::Info,
            severity => severity,
        };
        self.report_as(rule, severity, HandledBy::You, tokens, message, fix);
    }

    /// [`Checker::report`] with a different severity and handler.
    pub(crate) fn report_as(
        &self,
        rule: &'static RuleMeta,
        severity: Severity,
        handled_by: HandledBy,
        tokens: Tokens,
        message: impl Into<String>,
        fix: impl Into<Option<Suggestion>>,
    ) {
        if self.drafts.is_full() || !self.is_for_both(tokens.start) {
            return;
        }
        self.drafts.push(Draft {
            rule: rule.into(),
            span: self.source.span(tokens),
            message: message.into(),
            severity,
            handled_by,
            fix: fix.into(),
        });
    }

    /// False for code that only one vendor's compiler sees.
    pub(crate) fn is_for_both(&self, token: u32) -> bool {
        self.source.vendors(token) == Vendors::Both
    }

    /// The positions of a word that both vendors compile and that refer to the global name, in order.
    pub(crate) fn uses<'s>(&'s self, word: &str) -> impl Iterator<Item = u32> + use<'s, 'a> {
        self.source
            .places(word)
            .iter()
            .copied()
            .take_while(|_| !self.drafts.is_full())
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
