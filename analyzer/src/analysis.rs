//! Selects the analyzer of a source's language, and combines the languages with a team's rules.

use hipward_analyzer_core::analysis::{ParsedFile, refusal, report};
use hipward_analyzer_core::diagnostic::RuleRef;
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::{
    Applicability, FixedSource, Language, Note, Report, Severity, Target, fix_until_stable,
};
use hipward_analyzer_cuda::CudaOptions;
use hipward_analyzer_files::FileOptions;
use hipward_analyzer_python::rules::RULES_AND_TRITON;
use hipward_analyzer_python::syntax::LastParse;
use hipward_analyzer_python::{Extra, PythonExtension, PythonOptions, checker};
use hipward_analyzer_team::{TeamRules, check_cuda, check_file, check_python};

use crate::embedded_cuda::EmbeddedCuda;
use crate::registry::RULES;
use crate::selection::Selection;

/// How to analyze. The default is every rule, for the default target, in the language that the source reads like.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The machine and versions that the code is meant for.
    pub target: Target,
    /// Which rules to run.
    pub rules: Selection,
    /// How to read the source; from its content where nothing is said.
    pub language: Option<Language>,
    /// Whether C++ is built as a PyTorch extension, whose names PyTorch's hipify changes, or by a build that runs hipify; from
    /// the source's content where nothing is said. A header need not show it: the build files around it do.
    pub pytorch_extension: Option<bool>,
    /// Whether a header of the project's gives CUDA's names for HIP to the source: `using cudaError_t = hipError_t`.
    pub has_hip_names: bool,
    /// Modules that the source's own project is or builds: in flash-attn's repository `flash_attn` needs no port.
    pub first_party_modules: Vec<String>,
    /// Whether AMD has a file of its own beside the source's, which is then for NVIDIA's hosts: what is found is information.
    pub has_amd_sibling: bool,
    /// A team's own rules, beside the built-in ones.
    pub team: TeamRules,
}

/// Analyzes `source` for the target. It never fails: text that cannot be read is a note in the report.
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

/// Analyzes a source again and again while it is edited. The reports are those of [`analyze`], sooner.
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
        if options.has_amd_sibling {
            for diagnostic in &mut parsed.diagnostics {
                diagnostic.severity = Severity::Info;
            }
            parsed.notes.push(Note {
                code: "counterpart".to_owned(),
                message: "This file is for NVIDIA hosts: a parallel file for AMD exists."
                    .to_owned(),
                line: None,
            });
        }
        report(source, language, &options.target, &lines, parsed, &rank)
    }
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
        has_hip_names: options.has_hip_names,
        extension: &|checker| check_cuda(team, filter, checker),
    };
    let python = PythonOptions {
        target,
        rules: RULES_AND_TRITON,
        filter,
        first_party_modules: &options.first_party_modules,
        extensions: &[&TeamExtension(options), &EmbeddedCuda(cuda)],
    };
    match language {
        Language::Python => hipward_analyzer_python::read(source, lines, &python, last),
        Language::CudaCpp => hipward_analyzer_cuda::read(source, &cuda),
        _ => hipward_analyzer_files::read(
            source,
            language,
            &FileOptions {
                target,
                filter,
                python,
                extension: &|facts| check_file(team, filter, target, facts),
            },
        ),
    }
}

/// A team's rules for Python.
struct TeamExtension<'a>(&'a Options);

impl PythonExtension for TeamExtension<'_> {
    fn check(&self, checker: &checker::Checker<'_>, found: &mut Extra) {
        let Options { team, rules, .. } = self.0;
        found
            .diagnostics
            .extend(check_python(team, &rules.0, checker));
    }
}
