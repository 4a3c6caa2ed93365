//! The analyzer with JSON strings as input and output, for the browser.
//!
//! An error is a sentence for the user.

mod encode;
pub(crate) mod json;
mod request;

use std::cell::RefCell;
#[cfg(feature = "all-languages")]
use std::sync::Arc;

use self::encode::{Encode, encode};
use self::request::Request;
use crate::analysis::{Options, Session};
use crate::report::{Applicability, Language, Report};
#[cfg(feature = "all-languages")]
use crate::rules::RULES;
use crate::selection::Selection;
#[cfg(feature = "all-languages")]
use crate::surroundings::{Given, Surroundings, parent};
use crate::team::TeamRules;

thread_local! {
    /// A browser's worker analyzes the same text repeatedly.
    static SESSION: RefCell<Session> = RefCell::default();
}

#[cfg(feature = "all-languages")]
thread_local! {
    /// The current project survey.
    static SURVEY: RefCell<crate::Survey> = RefCell::default();
}

/// A request that contains a source.
struct SourceRequest {
    request: Request,
    options: Options,
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
            #[cfg(feature = "all-languages")]
            "own_modules",
            #[cfg(feature = "all-languages")]
            "has_counterpart",
            #[cfg(feature = "all-languages")]
            "has_hip_names",
            "path",
            "indices",
            "up_to",
        ];
        let request = Request::read(text, &known)?;
        request.text("source")?;
        Ok(SourceRequest {
            options: options(&request)?,
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

/// The analysis options in a request.
fn options(request: &Request) -> Result<Options, String> {
    let team = TeamRules::read(request.list("rules")?).map_err(|error| error.to_string())?;
    let (select, ignore) = (request.texts("select")?, request.texts("ignore")?);
    let rules = Selection::with_team(&select, &ignore, &team);
    Ok(Options {
        target: request.target()?,
        rules: rules.map_err(|error| error.to_string())?,
        language: request.language()?,
        pytorch_extension: request.truth("pytorch_extension")?,
        #[cfg(feature = "all-languages")]
        has_hip_names: request.truth("has_hip_names")? == Some(true),
        #[cfg(not(feature = "all-languages"))]
        has_hip_names: false,
        #[cfg(feature = "all-languages")]
        own_modules: request
            .texts("own_modules")?
            .into_iter()
            .map(str::to_owned)
            .collect(),
        #[cfg(not(feature = "all-languages"))]
        own_modules: Vec::new(),
        #[cfg(feature = "all-languages")]
        has_counterpart: request.truth("has_counterpart")? == Some(true),
        #[cfg(not(feature = "all-languages"))]
        has_counterpart: false,
        team,
    })
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

/// `{source, path?}` → the language, by the path's name or otherwise by the content.
///
/// # Errors
/// Returns an error if the request is invalid; this applies to every function here.
pub fn language(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["source", "path"])?;
    let source = request.text("source")?;
    let named = request.text("path").ok().and_then(Language::of_path);
    Ok(encode(
        &named.unwrap_or_else(|| Language::of_content(source)),
    ))
}

/// `{paths: […]}` → the language of each path by its name, `null` for unsupported names.
pub fn languages(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["paths"])?;
    let paths = request.texts("paths")?;
    let named: Vec<Option<Language>> = paths.into_iter().map(Language::of_path).collect();
    Ok(encode(&named))
}

/// `{source, target?, select?, ignore?, rules?, language?, pytorch_extension?, own_modules?, has_counterpart?, has_hip_names?}` → `Report`; `rules` are a
/// team's own.
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

/// `{files: [{path, source}], target?, select?, ignore?, rules?}` → `{files: [{path, report}], summary}`.
///
/// A file with an unsupported name is omitted from the result, but may be part of the project context of other files.
#[cfg(feature = "all-languages")]
pub fn project(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["files", "target", "select", "ignore", "rules"])?;
    let mut options = options(&request)?;
    let given = request.objects("files", &["path", "source"])?;
    let mut sources = Vec::new();
    let mut beside = Given::default();
    for file in &given {
        let (path, source) = (file.text("path")?, file.text("source")?);
        sources.push((path, source));
        beside.add(path, Some(source));
    }
    let surroundings = Surroundings::new(beside);
    let mut survey = crate::Survey::default();
    let mut files = Vec::new();
    for (path, source) in sources {
        let Some(language) = Language::of_path(path) else {
            continue;
        };
        options.language = Some(language);
        surroundings.complete(path, &mut options);
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

/// The answer of [`surroundings`] for a folder.
#[cfg(feature = "all-languages")]
struct Folder {
    path: String,
    hipified: Vec<String>,
    not_hipified: Vec<String>,
    own_modules: Arc<Vec<String>>,
    counterparts: Vec<String>,
    hip_named: Vec<String>,
}

#[cfg(feature = "all-languages")]
impl Encode for Folder {
    fn encode(&self, out: &mut String) {
        encode::object(
            out,
            &[
                ("path", &self.path),
                ("hipified", &self.hipified),
                ("not_hipified", &self.not_hipified),
                ("own_modules", &*self.own_modules),
                ("counterparts", &self.counterparts),
                ("hip_named", &self.hip_named),
            ],
        );
    }
}

/// `{files: [{path, source?}]}` → `[{path, hipified, not_hipified, own_modules, counterparts, hip_named}]`: for each
/// folder with one of the files, the options of [`analyze`] for its files. `hipified` are the C++ files with
/// `pytorch_extension` true, `not_hipified` those with false, `counterparts` the files with an AMD version, `hip_named`
/// those for which a header defines HIP names. Every path is used; for Python modules, CMake files and shell scripts
/// the text is also needed, and for C++ the lines that include a file or name `hipError_t` or `hipStream_t`.
#[cfg(feature = "all-languages")]
pub fn surroundings(request: &str) -> Result<String, String> {
    let given = Request::read(request, &["files"])?.objects("files", &["path", "source"])?;
    let mut files = Given::default();
    let mut folders: Vec<&str> = Vec::new();
    for file in &given {
        let path = file.text("path")?;
        files.add(path, file.optional_text("source")?);
        let folder = parent(path).unwrap_or_default();
        if let Err(at) = folders.binary_search(&folder) {
            folders.insert(at, folder);
        }
    }
    let surroundings = Surroundings::new(files);
    let mut answers: Vec<Folder> = folders
        .iter()
        .map(|&path| Folder {
            hipified: Vec::new(),
            not_hipified: Vec::new(),
            own_modules: surroundings.own_modules(path),
            counterparts: Vec::new(),
            hip_named: Vec::new(),
            path: path.to_owned(),
        })
        .collect();
    for file in &given {
        let path = file.text("path")?;
        let language = Language::of_path(path);
        let folder = folders.binary_search(&parent(path).unwrap_or_default());
        let Some(answer) = folder.ok().and_then(|at| answers.get_mut(at)) else {
            continue;
        };
        if surroundings.has_counterpart(path, language) {
            answer.counterparts.push(path.to_owned());
        }
        if language == Some(Language::CudaCpp) {
            match surroundings.pytorch_extension(path) {
                Some(true) => answer.hipified.push(path.to_owned()),
                Some(false) => answer.not_hipified.push(path.to_owned()),
                None => {}
            }
            if surroundings.has_hip_names(path) {
                answer.hip_named.push(path.to_owned());
            }
        }
    }
    Ok(encode(&answers))
}

/// Like [`analyze`], with `path`: the file is counted in the summary that [`survey_finish`] returns. One file at a
/// time, so that a folder of any size needs the memory of one file.
#[cfg(feature = "all-languages")]
pub fn survey_add(request: &str) -> Result<String, String> {
    let read = SourceRequest::read(request)?;
    let path = read.request.text("path")?;
    let report = read.report();
    SURVEY.with_borrow_mut(|survey| survey.add(path, &report));
    Ok(encode(&report))
}

/// `{}` → `Summary` of the files since the last call; the next survey starts empty.
#[cfg(feature = "all-languages")]
pub fn survey_finish(request: &str) -> Result<String, String> {
    Request::read(request, &[])?;
    Ok(encode(&SURVEY.take().finish()))
}

/// `{source, target?, exercise}` → `Judgement`; `exercise` is a lesson's conditions, as a JSON text.
#[cfg(feature = "all-languages")]
pub fn judge(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["source", "target", "exercise"])?;
    let exercise = crate::Exercise::parse(request.text("exercise")?);
    let exercise = exercise.map_err(|error| error.to_string())?;
    Ok(encode(
        &exercise.judge(request.text("source")?, &request.target()?),
    ))
}

/// `{before, after}` → `DiffLine[]`.
pub fn diff(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["before", "after"])?;
    Ok(encode(&crate::diff(
        request.text("before")?,
        request.text("after")?,
    )))
}

/// `{path, before, after}` → a patch for `git apply`, empty if nothing changed.
#[cfg(feature = "all-languages")]
pub fn patch(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["path", "before", "after"])?;
    Ok(encode(&crate::unified_diff(
        request.text("path")?,
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
