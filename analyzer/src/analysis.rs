//! Selects the analyzer of a source's language, and combines the languages with a team's rules.

use hipward_analyzer_core::analysis::{ParsedFile, refusal, report};
use hipward_analyzer_core::diagnostic::RuleRef;
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::rule::Family;
use hipward_analyzer_core::{
    Applicability, FixedSource, Language, Note, Report, Severity, Target, fix_until_stable,
};
use hipward_analyzer_cuda::{CudaOptions, Libraries};
use hipward_analyzer_files::{FileOptions, SetupScript};
use hipward_analyzer_python::rules::RULES_AND_TRITON;
use hipward_analyzer_python::syntax::LastParse;
use hipward_analyzer_python::{Extra, PythonExtension, PythonOptions, checker};
use hipward_analyzer_team::{TeamRules, check_cuda, check_file, check_python};

use crate::embedded_cuda::EmbeddedCuda;
use crate::embedded_files::EmbeddedFiles;
use crate::registry::RULES;
use crate::selection::Selection;

/// Options of an analysis. The default is every rule and the default target; the language is determined from the source.
///
/// ```
/// use hipward_analyzer::{Arch, Options};
///
/// let mut options = Options::default();
/// options.target.arch = Arch::Gfx1100;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The GPU architecture and the versions for which the code is analyzed.
    pub target: Target,
    /// The rules to run.
    pub rules: Selection,
    /// Language of the source; the default is determined from its content.
    pub language: Option<Language>,
    /// Whether C++ is built as a PyTorch extension, or by another build that runs hipify. Default: determined from the
    /// source. For headers the build files around the source decide, because their content may not show it.
    pub pytorch_extension: Option<bool>,
    /// The libraries that the names of CUDA's libraries are converted to in C++.
    pub libraries: Libraries,
    /// Whether a header of the project defines CUDA names for HIP: `using cudaError_t = hipError_t`.
    pub has_hip_names: bool,
    /// Macros that the project's headers define for AMD, for a C++ source that gets them, separated by spaces:
    /// `#define __shfl_sync(mask, value, lane) __shfl(value, lane)` after `#ifdef USE_ROCM`.
    pub amd_macros: String,
    /// Switches that a C++ source asks for, `#ifdef ACME_USE_FP8`, and that nothing in its project sets, separated by spaces. Findings in such
    /// a branch are information.
    pub unset_switches: String,
    /// First-party modules: modules that the source's project contains or builds. In flash-attn's repository `flash_attn`
    /// needs no port.
    pub first_party_modules: Vec<String>,
    /// Functions and constants of the project's Python modules that are false on AMD, because they need
    /// `torch.version.cuda`: `acme.utils.is_nvidia`, and `.utils.is_nvidia` for relative imports,
    /// separated by spaces.
    pub false_on_amd: String,
    /// Keys of the checkpoints that the project's Python modules save together with the parsed arguments of their command
    /// line: `model` and `optimizer` of `{"model": …, "optimizer": …, "args": args}`.
    pub saved_with_arguments: Vec<String>,
    /// The newest releases of other libraries that the requirements around the source allow, as name and version:
    /// `transformers 4.36`.
    pub release_limits: Vec<String>,
    /// Whether Python modules beside a requirements file import PyTorch.
    pub imports_torch: bool,
    /// Whether the other files of its folder import the Python module, each time in a `try`. Its own imports may fail
    /// then: they are information.
    pub is_optional_module: bool,
    /// Whether an AMD host does not use the source: there is a version for AMD beside it, its name is of another vendor's hosts,
    /// or no build of its project lists it. If so, all findings are information, and no fix is safe.
    pub is_unused_on_amd: bool,
    /// Team rules, in addition to the built-in rules.
    pub team: TeamRules,
}

/// Analyzes `source` for the target. It returns a report for every text; a note states why a source was not analyzed.
pub fn analyze(source: &str, options: &Options) -> Report {
    Session::default().analyze(source, options)
}

/// Applies every fix that is at most `up_to`, analyzes the result again, and repeats until no fix is left.
pub fn fix_all(source: &str, options: &Options, up_to: Applicability) -> FixedSource {
    let mut session = Session::default();
    fix_until_stable(source, up_to, &mut |source| {
        session.analyze(source, options)
    })
}

/// Analyzes a source repeatedly while it is edited: the same reports as those of [`analyze`], faster.
#[derive(Default)]
pub struct Session {
    last: LastParse,
}

impl Session {
    /// [`analyze`].
    pub fn analyze(&mut self, source: &str, options: &Options) -> Report {
        let language = options
            .language
            .unwrap_or_else(|| Language::of_content(source));
        let lines = LineIndex::new(source);
        let mut parsed = match refusal(source, language, &lines) {
            Some(note) => ParsedFile::unreadable(note),
            None => read(source, language, &lines, options, &mut self.last),
        };
        if options.is_unused_on_amd || is_for_colab(source, language) {
            for diagnostic in &mut parsed.diagnostics {
                diagnostic.severity = Severity::Info;
                if let Some(fix) = &mut diagnostic.fix {
                    // It would change what only other hosts use.
                    fix.applicability = fix.applicability.max(Applicability::Unsafe);
                }
            }
            parsed.notes.push(Note {
                code: "unused-on-amd".to_owned(),
                message: "This file is for other hosts or not built: by its name, its folder or Colab's drive, because a parallel file for AMD exists, or because no build lists it."
                    .to_owned(),
                line: None,
            });
        }
        if options.is_optional_module {
            for diagnostic in &mut parsed.diagnostics {
                let is_of_vendor = matches!(diagnostic.rule, RuleRef::BuiltIn(rule) if rule.family == Family::VendorLibraries);
                let line = lines.text(lines.line(diagnostic.span.start));
                if is_of_vendor && (line.starts_with("import ") || line.starts_with("from ")) {
                    diagnostic.severity = Severity::Info;
                }
            }
        }
        report(source, language, &options.target, &lines, parsed, &rank)
    }
}

/// Whether a notebook mounts the drive of Google Colab, whose GPUs are NVIDIA's.
fn is_for_colab(source: &str, language: Language) -> bool {
    language == Language::Notebook
        && source.contains("google.colab")
        && source.contains("drive.mount(")
}

/// The order of findings at the same position: by the table of rules, then the team's.
fn rank(rule: &RuleRef) -> usize {
    match rule {
        RuleRef::BuiltIn(rule) => RULES
            .iter()
            .position(|known| known.id == rule.id)
            .unwrap_or_default(),
        RuleRef::Team(rule) => RULES.len() + rule.index,
    }
}

fn read(
    source: &str,
    language: Language,
    lines: &LineIndex<'_>,
    options: &Options,
    last: &mut LastParse,
) -> ParsedFile {
    let (target, filter, team) = (&options.target, &options.rules.0, &options.team);
    let cuda = CudaOptions {
        target,
        filter,
        pytorch_extension: options.pytorch_extension,
        libraries: options.libraries,
        is_fragment: false,
        has_hip_names: options.has_hip_names,
        amd_macros: &options.amd_macros,
        unset_switches: &options.unset_switches,
        extension: &|checker| check_cuda(team, filter, checker),
    };
    let team_and_cuda: [&dyn PythonExtension; 2] = [&TeamExtension(options), &EmbeddedCuda(cuda)];
    let plain = PythonOptions {
        target,
        rules: RULES_AND_TRITON,
        filter,
        first_party_modules: &options.first_party_modules,
        false_on_amd: &options.false_on_amd,
        saved_with_arguments: &options.saved_with_arguments,
        release_limits: &options.release_limits,
        extensions: &team_and_cuda,
    };
    let files = FileOptions {
        target,
        filter,
        python: plain,
        imports_torch: options.imports_torch,
        extension: &|facts| check_file(team, filter, target, facts),
    };
    let setup = SetupScript(files);
    let embedded_files = EmbeddedFiles(files);
    let [team_rules, embedded_cuda] = team_and_cuda;
    let python = PythonOptions {
        extensions: &[team_rules, embedded_cuda, &setup, &embedded_files],
        ..plain
    };
    match language {
        Language::Python => hipward_analyzer_python::read(source, lines, &python, last),
        Language::CudaCpp => hipward_analyzer_cuda::read(source, &cuda),
        _ => hipward_analyzer_files::read(source, language, &files),
    }
}

/// A team's rules for Python.
struct TeamExtension<'a>(&'a Options);

impl PythonExtension for TeamExtension<'_> {
    fn check(&self, checker: &checker::PythonChecker<'_>, found: &mut Extra) {
        let Options { team, rules, .. } = self.0;
        found
            .diagnostics
            .extend(check_python(team, &rules.0, checker));
    }
}
