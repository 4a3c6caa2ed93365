//! The Python analyzer for the calls of `hipward_analyzer_core::json::calls`. An error is a sentence for the caller.

use hipward_analyzer_core::analysis::{ParsedFile, refusal, report};
use hipward_analyzer_core::diagnostic::RuleRef;
use hipward_analyzer_core::json::{Request, calls};
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::selection::{KnownRule, RuleFilter};
use hipward_analyzer_core::{Language, Report, Target};
use hipward_analyzer_python::rules::RULES;
use hipward_analyzer_python::syntax::LastParse;
use hipward_analyzer_python::{PythonOptions, read};

/// The Python analyzer.
pub(crate) struct Python;

/// Options of an analysis.
pub(crate) struct Options {
    target: Target,
    filter: RuleFilter,
    language: Option<Language>,
}

impl calls::Analyzer for Python {
    type Options = Options;
    type Session = LastParse;

    const FIELDS: &'static [&'static str] = &[
        "target",
        "select",
        "ignore",
        "rules",
        "language",
        "pytorch_extension",
    ];

    fn options(request: &Request) -> Result<Options, String> {
        if !request.list("rules")?.is_empty() {
            return Err(
                "This module has no team rules; the module of every language has.".to_owned(),
            );
        }
        let rules: Vec<_> = RULES
            .iter()
            .map(|python| KnownRule {
                id: python.rule.id,
                name: python.rule.name,
                on_request: python.rule.on_request,
            })
            .collect();
        let filter = RuleFilter::new(&request.texts("select")?, &request.texts("ignore")?, &rules);
        Ok(Options {
            target: request.target()?,
            filter: filter.map_err(|error| error.to_string())?,
            language: request.language()?,
        })
    }

    /// Analyzes `source` as Python, whatever its language.
    #[inline(never)]
    fn analyze(source: &str, options: &Options, last: &mut LastParse) -> Report {
        let language = options
            .language
            .unwrap_or_else(|| Language::of_content(source));
        let lines = LineIndex::new(source);
        let python = PythonOptions {
            target: &options.target,
            rules: RULES,
            filter: &options.filter,
            first_party_modules: &[],
            false_on_amd: "",
            saved_with_arguments: &[],
            release_limits: &[],
            extensions: &[],
        };
        let parsed = match refusal(source, language, &lines) {
            Some(note) => ParsedFile::unreadable(note),
            None => read(source, &lines, &python, last),
        };
        report(source, language, &options.target, &lines, parsed, &rank)
    }
}

/// The order of findings at the same position.
fn rank(rule: &RuleRef) -> usize {
    let id = rule.id();
    RULES
        .iter()
        .position(|known| known.rule.id == id)
        .unwrap_or_default()
}
