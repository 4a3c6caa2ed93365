//! The analyzer with JSON strings as input and output, for the browser.
//!
//! An error is a sentence for the user: every function returns one if its request is invalid.

use std::mem;
use std::sync::Arc;

use crate::analysis::{Options, Session};
use crate::project_context::{FileSource, InMemoryFiles, ProjectContext, parent};
use crate::registry::RULES;
use crate::selection::Selection;
use crate::summary::Survey;
use hipward_analyzer_core::json::calls::SourceRequest;
pub use hipward_analyzer_core::json::calls::{diff, language, languages};
use hipward_analyzer_core::json::{self, Encode, Request, calls, encode};
use hipward_analyzer_core::{Language, Report};
use hipward_analyzer_cuda::Libraries;
use hipward_analyzer_team::TeamRules;

/// The analyzer of all languages.
#[derive(Debug)]
pub struct AllLanguages;

impl calls::Analyzer for AllLanguages {
    type Options = Options;
    type Session = Session;

    const FIELDS: &'static [&'static str] = &[
        "target",
        "select",
        "ignore",
        "rules",
        "language",
        "pytorch_extension",
        "first_party_modules",
        "false_on_amd",
        "saved_with_arguments",
        "release_limits",
        "imports_torch",
        "is_optional_module",
        "is_unused_on_amd",
        "has_hip_names",
        "amd_macros",
        "unset_switches",
    ];

    fn options(request: &Request) -> Result<Options, String> {
        options(request)
    }

    fn analyze(source: &str, options: &Options, session: &mut Session) -> Report {
        session.analyze(source, options)
    }
}

/// The analysis options in a request.
fn options(request: &Request) -> Result<Options, String> {
    let team = TeamRules::read(request.list("rules")?).map_err(|error| error.to_string())?;
    let (select, ignore) = (request.texts("select")?, request.texts("ignore")?);
    let rules = Selection::with_team(&select, &ignore, &team);
    let texts = |field| -> Result<Vec<String>, String> {
        let texts = request.texts(field)?;
        Ok(texts.into_iter().map(str::to_owned).collect())
    };
    let text = |field| -> Result<String, String> {
        Ok(request.optional_text(field)?.unwrap_or_default().to_owned())
    };
    Ok(Options {
        target: request.target()?,
        rules: rules.map_err(|error| error.to_string())?,
        language: request.language()?,
        pytorch_extension: request.truth("pytorch_extension")?,
        libraries: Libraries::default(),
        has_hip_names: request.truth("has_hip_names")? == Some(true),
        amd_macros: text("amd_macros")?,
        unset_switches: text("unset_switches")?,
        first_party_modules: texts("first_party_modules")?,
        false_on_amd: text("false_on_amd")?,
        saved_with_arguments: texts("saved_with_arguments")?,
        release_limits: texts("release_limits")?,
        imports_torch: request.truth("imports_torch")? == Some(true),
        is_optional_module: request.truth("is_optional_module")? == Some(true),
        is_unused_on_amd: request.truth("is_unused_on_amd")? == Some(true),
        team,
    })
}

/// `{source, target?, select?, ignore?, rules?, language?, pytorch_extension?, first_party_modules?, false_on_amd?,
/// saved_with_arguments?, release_limits?, imports_torch?, is_optional_module?, is_unused_on_amd?, has_hip_names?, amd_macros?, unset_switches?}` → `Report`; `rules` are team rules.
pub fn analyze(request: &str, session: &mut Session) -> Result<String, String> {
    calls::analyze::<AllLanguages>(request, session)
}

/// `{source, target?, language?, indices: […]}` → `{source, applied: […]}`.
pub fn apply(request: &str) -> Result<String, String> {
    calls::apply::<AllLanguages>(request)
}

/// `{source, target?, language?, up_to?}` → `{source, applied}`.
pub fn fix_all(request: &str) -> Result<String, String> {
    calls::fix_all::<AllLanguages>(request)
}

/// The answer of [`project`].
struct Project {
    files: Vec<ProjectFile>,
    summary: hipward_analyzer_core::Summary,
}

struct ProjectFile {
    path: String,
    report: Report,
}

impl Encode for ProjectFile {
    fn encode(&self, out: &mut String) {
        json::object(out, &[("path", &self.path), ("report", &self.report)]);
    }
}

impl Encode for Project {
    fn encode(&self, out: &mut String) {
        json::object(out, &[("files", &self.files), ("summary", &self.summary)]);
    }
}

/// `{files: [{path, source}], target?, select?, ignore?, rules?}` → `{files: [{path, report}], summary}`.
///
/// A file with an unsupported name is omitted from the result, unless another one includes it as requirements, but may be
/// part of the project context of other files.
pub fn project(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["files", "target", "select", "ignore", "rules"])?;
    let mut options = options(&request)?;
    let given = request.objects("files", &["path", "source"])?;
    let mut sources = Vec::new();
    let mut beside = InMemoryFiles::default();
    for file in &given {
        let (path, source) = (file.text("path")?, file.text("source")?);
        sources.push((path, source));
        beside.add(path, Some(source));
    }
    let project_context = ProjectContext::new(beside);
    let included = included(&given)?;
    let mut survey = Survey::default();
    let mut files = Vec::new();
    for (path, source) in sources {
        let named = Language::of_path(path);
        let is_included = || {
            included
                .binary_search_by(|known| known.as_str().cmp(path))
                .is_ok()
        };
        let Some(language) = named.or_else(|| is_included().then_some(Language::Requirements))
        else {
            continue;
        };
        options.language = Some(language);
        project_context.fill_options(path, &mut options);
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

/// The answer of [`project_context`] for a folder.
struct Folder {
    path: String,
    hipified: Vec<String>,
    not_hipified: Vec<String>,
    first_party_modules: Arc<Vec<String>>,
    false_on_amd: Arc<String>,
    saved_with_arguments: Arc<Vec<String>>,
    release_limits: Arc<Vec<String>>,
    imports_torch: bool,
    optional_modules: Vec<String>,
    unused_on_amd: Vec<String>,
    with_hip_names: Vec<String>,
    amd_macros: Vec<Vec<String>>,
    unset_switches: Vec<Vec<String>>,
}

impl Encode for Folder {
    fn encode(&self, out: &mut String) {
        json::object(
            out,
            &[
                ("path", &self.path),
                ("hipified", &self.hipified),
                ("not_hipified", &self.not_hipified),
                ("first_party_modules", &*self.first_party_modules),
                ("false_on_amd", &*self.false_on_amd),
                ("saved_with_arguments", &*self.saved_with_arguments),
                ("release_limits", &*self.release_limits),
                ("imports_torch", &self.imports_torch),
                ("optional_modules", &self.optional_modules),
                ("unused_on_amd", &self.unused_on_amd),
                ("with_hip_names", &self.with_hip_names),
                ("amd_macros", &self.amd_macros),
                ("unset_switches", &self.unset_switches),
            ],
        );
    }
}

/// `{files: [{path, source?}]}` → `[{path, hipified, not_hipified, first_party_modules, false_on_amd, saved_with_arguments, release_limits, imports_torch, optional_modules, unused_on_amd,
/// with_hip_names, amd_macros, unset_switches}]`: for each folder that contains one of the files, the options with which [`analyze`] is called for the
/// files in it. `hipified` are the C++ files for which `pytorch_extension` is true, `not_hipified` those for which it is
/// false, `optional_modules` those for which `is_optional_module` is true, `unused_on_amd` those for which `is_unused_on_amd`
/// is, and `with_hip_names` those for which a header defines CUDA names for HIP. Each list in `amd_macros` is a file and the macros that headers define for AMD in it, separated by spaces, and each in `unset_switches` a file and
/// the switches that nothing sets. The
/// text is needed of Python modules, requirements, CMake files, makefiles, shell scripts and TOML files, and, of C++, the preprocessor lines and those that name
/// `hipError_t` or `hipStream_t`; of other files the path is enough.
pub fn project_context(request: &str) -> Result<String, String> {
    let given = Request::read(request, &["files"])?.objects("files", &["path", "source"])?;
    let mut files = InMemoryFiles::default();
    let mut folders: Vec<&str> = Vec::new();
    for file in &given {
        let path = file.text("path")?;
        files.add(path, file.optional_text("source")?);
        let folder = parent(path).unwrap_or_default();
        if let Err(at) = folders.binary_search(&folder) {
            folders.insert(at, folder);
        }
    }
    let project_context = ProjectContext::new(files);
    let mut answers: Vec<Folder> = folders
        .iter()
        .map(|&path| Folder {
            hipified: Vec::new(),
            not_hipified: Vec::new(),
            first_party_modules: project_context.first_party_modules(path),
            false_on_amd: project_context.false_on_amd(path),
            saved_with_arguments: project_context.saved_with_arguments(path),
            release_limits: project_context.release_limits(path),
            imports_torch: project_context.imports_torch(path),
            optional_modules: Vec::new(),
            unused_on_amd: Vec::new(),
            with_hip_names: Vec::new(),
            amd_macros: Vec::new(),
            unset_switches: Vec::new(),
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
        if project_context.is_optional_module(path) {
            answer.optional_modules.push(path.to_owned());
        }
        if project_context.is_unused_on_amd(path, language) {
            answer.unused_on_amd.push(path.to_owned());
        }
        if language == Some(Language::CudaCpp) {
            match project_context.pytorch_extension(path) {
                Some(true) => answer.hipified.push(path.to_owned()),
                Some(false) => answer.not_hipified.push(path.to_owned()),
                None => {}
            }
            let headers = project_context.header_context(path);
            if headers.has_hip_names {
                answer.with_hip_names.push(path.to_owned());
            }
            let macros = headers.amd_macros;
            if !macros.is_empty() {
                answer.amd_macros.push(vec![path.to_owned(), macros]);
            }
            let switches = project_context.unset_switches(path);
            if !switches.is_empty() {
                answer.unset_switches.push(vec![path.to_owned(), switches]);
            }
        }
    }
    Ok(encode(&answers))
}

/// `{files: [{path, source?}]}` → the paths of the files with unsupported names that others include as requirements:
/// `-r pins.lst`, `pip install -r deps/gpu`. They are analyzed with the language `requirements`. The text is needed of
/// requirements, containers, YAML, makefiles, shell scripts, `setup.py`, and of files that were found to be included.
pub fn included_requirements(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["files"])?;
    let given = request.objects("files", &["path", "source"])?;
    Ok(encode(&included(&given)?))
}

/// The included files of [`included_requirements`], sorted.
fn included(given: &[Request]) -> Result<Vec<String>, String> {
    let mut files = InMemoryFiles::default();
    let mut paths = Vec::new();
    for file in given {
        let path = file.text("path")?;
        files.add(path, file.optional_text("source")?);
        paths.push(path.to_owned());
    }
    let text = |path: &str| files.text(path);
    Ok(crate::included_requirements(paths, &text, &|path| {
        files.is_file(path)
    }))
}

/// Like [`analyze`], with `path`: the file is counted in the summary that [`survey_finish`] returns. One file at a
/// time, so that a folder of any size needs the memory of one file.
pub fn survey_add(request: &str, survey: &mut Survey) -> Result<String, String> {
    let read = SourceRequest::<AllLanguages>::read(request)?;
    let path = read.request.text("path")?;
    let report = read.report(&mut Session::default());
    survey.add(path, &report);
    Ok(encode(&report))
}

/// `{target?}` → the porting plan of the files of the survey so far, as Markdown.
pub fn survey_plan(request: &str, survey: &Survey) -> Result<String, String> {
    let target = Request::read(request, &["target"])?.target()?;
    Ok(encode(&crate::output::plan_markdown(
        &survey.plan(&target),
        None,
    )))
}

/// `{}` → `Summary` of the files since the last call; the next survey starts empty.
pub fn survey_finish(request: &str, survey: &mut Survey) -> Result<String, String> {
    Request::read(request, &[])?;
    Ok(encode(&mem::take(survey).finish()))
}

/// `{source, target?, exercise}` → `Judgement`; `exercise` is a lesson's conditions, as a JSON text.
pub fn judge(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["source", "target", "exercise"])?;
    let exercise = crate::Exercise::parse(request.text("exercise")?);
    let exercise = exercise.map_err(|error| error.to_string())?;
    Ok(encode(
        &exercise.judge(request.text("source")?, &request.target()?),
    ))
}

/// `{path, before, after}` → a patch for `git apply`, empty if nothing changed.
pub fn patch(request: &str) -> Result<String, String> {
    let request = Request::read(request, &["path", "before", "after"])?;
    Ok(encode(&crate::unified_diff(
        request.text("path")?,
        request.text("before")?,
        request.text("after")?,
    )))
}

/// `{source, target?}` → `{source}`, completed to the snippet contract.
pub fn scaffold(request: &str) -> Result<String, String> {
    calls::complete::<AllLanguages>(request, crate::scaffold)
}

/// Every rule without its page: `[{id, name, title, family, severity, …}]`.
pub fn rules() -> Result<String, String> {
    Ok(encode(&RULES))
}
