//! The analyzer with JSON strings in and JSON strings out: what the browser calls.
//!
//! An error is a sentence for the caller.

mod encode;
pub(crate) mod json;
mod request;

use std::cell::RefCell;

use self::encode::{Encode, encode};
use self::request::Request;
use crate::analysis::{Options, Session};
use crate::report::{Applicability, Language, Report};
#[cfg(feature = "all-languages")]
use crate::rules::RULES;
use crate::selection::Selection;
use crate::team::TeamRules;

thread_local! {
    /// A browser's worker is asked about one text again and again.
    static SESSION: RefCell<Session> = RefCell::default();
}

/// A request that carries a source.
struct SourceRequest {
    request: Request,
    options: Options,
}

impl SourceRequest {
    #[inline(never)]
    fn read(text: &str) -> Result<Self, String> {
        let known = [
            "source", "target", "select", "ignore", "rules", "language", "indices", "up_to",
        ];
        let request = Request::read(text, &known)?;
        request.text("source")?;
        let team = TeamRules::read(request.list("rules")?).map_err(|error| error.to_string())?;
        let (select, ignore) = (request.texts("select")?, request.texts("ignore")?);
        let rules = Selection::with_team(&select, &ignore, &team);
        Ok(SourceRequest {
            options: Options {
                target: request.target()?,
                rules: rules.map_err(|error| error.to_string())?,
                language: request.language()?,
                pytorch_extension: None,
                team,
            },
            request,
        })
    }

    fn source(&self) -> &str {
        self.request.text("source").unwrap_or_default()
    }

    fn report(&self) -> Report {
        crate::analyze(self.source(), &self.options)
    }
}

/// The answer of [`skeleton`].
struct Completed {
    source: String,
}

impl Encode for Completed {
    fn encode(&self, out: &mut String) {
        encode::object(out, &[("source", &self.source)]);
    }
}

/// `{source, path?}` → the language, by the path's name or else by the content.
///
/// # Errors
/// When the request is not what was expected; so for every function here.
pub fn language(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["source", "path"])?;
    let source = request.text("source")?;
    let named = request.text("path").ok().and_then(Language::of_path);
    Ok(encode(
        &named.unwrap_or_else(|| Language::of_content(source)),
    ))
}

/// `{source, target?, select?, ignore?, rules?, language?}` → `Report`; `rules` are a team's own.
pub fn analyze(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let report = SESSION.with_borrow_mut(|session| session.analyze(read.source(), &read.options));
    Ok(encode(&report))
}

/// `{source, target?, language?, indices: […]}` → `{source, applied: […]}`.
pub fn apply(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let indices = read.request.indices()?;
    Ok(encode(&crate::apply_fixes(
        read.source(),
        &read.report(),
        &indices,
    )))
}

/// `{source, target?, language?, up_to?}` → `{source, applied}`.
pub fn fix_all(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let up_to = read.request.up_to()?.unwrap_or(Applicability::Safe);
    Ok(encode(&crate::fix_all(read.source(), &read.options, up_to)))
}

/// The answer of [`project`].
#[cfg(feature = "all-languages")]
struct Project {
    files: Vec<ProjectFile>,
    summary: crate::report::Summary,
}

#[cfg(feature = "all-languages")]
struct ProjectFile {
    path: String,
    report: Report,
}

#[cfg(feature = "all-languages")]
impl Encode for ProjectFile {
    fn encode(&self, out: &mut String) {
        encode::object(out, &[("path", &self.path), ("report", &self.report)]);
    }
}

#[cfg(feature = "all-languages")]
impl Encode for Project {
    fn encode(&self, out: &mut String) {
        encode::object(out, &[("files", &self.files), ("summary", &self.summary)]);
    }
}

/// `{files: [{path, source}], target?, select?, ignore?}` → `{files: [{path, report}], summary}`.
///
/// A file whose name is of no kind that is read is left out.
#[cfg(feature = "all-languages")]
pub fn project(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["files", "target", "select", "ignore"])?;
    let rules = Selection::new(&request.texts("select")?, &request.texts("ignore")?);
    let mut options = Options {
        target: request.target()?,
        rules: rules.map_err(|error| error.to_string())?,
        ..Options::default()
    };
    let mut survey = crate::Survey::default();
    let mut files = Vec::new();
    for file in request.objects("files", &["path", "source"])? {
        let (path, source) = (file.text("path")?, file.text("source")?);
        let Some(language) = Language::of_path(path) else {
            continue;
        };
        options.language = Some(language);
        let report = crate::analyze(source, &options);
        survey.add(path, &report);
        files.push(ProjectFile {
            path: path.to_owned(),
            report,
        });
    }
    Ok(encode(&Project {
        files,
        summary: survey.finish(),
    }))
}

/// `{before, after}` → `DiffLine[]`.
pub fn diff(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["before", "after"])?;
    Ok(encode(&crate::diff(
        request.text("before")?,
        request.text("after")?,
    )))
}

/// `{source, target?}` → `{source}`, completed to the snippet contract.
pub fn skeleton(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let source = crate::skeleton(read.source(), &read.report());
    Ok(encode(&Completed { source }))
}

/// Every rule without its page: `[{id, name, title, family, severity, …}]`.
#[cfg(feature = "all-languages")]
pub fn rules() -> Result<String, String> {
    Ok(encode(&RULES))
}
