//! Requests and answers as JSON. An error is a sentence for the caller.

use hipward_analyzer_core::analysis::{ParsedFile, refusal, report};
use hipward_analyzer_core::diagnostic::RuleRef;
use hipward_analyzer_core::json::calls::Completed;
pub(crate) use hipward_analyzer_core::json::calls::{diff, language, languages};
use hipward_analyzer_core::json::{Request, encode};
use hipward_analyzer_core::position::LineIndex;
use hipward_analyzer_core::selection::{KnownRule, RuleFilter};
use hipward_analyzer_core::{
    Applicability, Language, Report, Target, apply_fixes, fix_until_stable,
};
use hipward_analyzer_python::rules::RULES;
use hipward_analyzer_python::syntax::LastParse;
use hipward_analyzer_python::{PythonOptions, read};

/// The last parse of the text that is being edited.
#[derive(Default)]
pub(crate) struct Session {
    last: LastParse,
}

/// A request with a source.
struct SourceRequest {
    request: Request,
    target: Target,
    filter: RuleFilter,
    language: Option<Language>,
}

impl SourceRequest {
    #[inline(never)]
    fn read(text: &str) -> Result<Self, String> {
        let known = [
            "source",
            "target",
            "select",
            "ignore",
            "rules",
            "language",
            "pytorch_extension",
            "path",
            "indices",
            "up_to",
        ];
        let request = Request::read(text, &known)?;
        request.text("source")?;
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
        Ok(SourceRequest {
            target: request.target()?,
            filter: filter.map_err(|error| error.to_string())?,
            language: request.language()?,
            request,
        })
    }

    fn source(&self) -> &str {
        self.request.text("source").unwrap_or_default()
    }

    /// Analyzes `source` as Python, whatever its language.
    #[inline(never)]
    fn report(&self, source: &str, session: &mut Session) -> Report {
        let language = self
            .language
            .unwrap_or_else(|| Language::of_content(source));
        let lines = LineIndex::new(source);
        let options = PythonOptions {
            target: &self.target,
            rules: RULES,
            filter: &self.filter,
            first_party_modules: &[],
            extensions: &[],
        };
        let parsed = match refusal(source, language, &lines) {
            Some(note) => ParsedFile::unreadable(note),
            None => read(source, &lines, &options, &mut session.last),
        };
        report(source, language, &self.target, &lines, parsed, &rank)
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

/// `{source, …}` → `Report`.
pub(crate) fn analyze(request: &str, session: &mut Session) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    Ok(encode(&read.report(read.source(), session)))
}

/// `{source, …, indices: […]}` → `{source, applied: […]}`.
pub(crate) fn apply(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let indices = read.request.indices()?;
    let report = read.report(read.source(), &mut Session::default());
    Ok(encode(&apply_fixes(read.source(), &report, &indices)))
}

/// `{source, …, up_to?}` → `{source, applied}`.
pub(crate) fn fix_all(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let up_to = read.request.up_to()?.unwrap_or(Applicability::Safe);
    let mut session = Session::default();
    Ok(encode(&fix_until_stable(
        read.source(),
        up_to,
        &mut |source| read.report(source, &mut session),
    )))
}

/// `{source, …}` → `{source}`, completed to the snippet contract.
pub(crate) fn skeleton(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let report = read.report(read.source(), &mut Session::default());
    let source = hipward_analyzer_python::skeleton(read.source(), &report);
    Ok(encode(&Completed { source }))
}
