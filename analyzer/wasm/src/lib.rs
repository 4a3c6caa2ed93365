//! The analyzer in the browser: `hipward_analyzer::api` with JavaScript's errors. It only converts.

use std::cell::RefCell;

use hipward_analyzer::{Session, Survey, api};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    /// The browser's worker analyzes one text again and again.
    static SESSION: RefCell<Session> = RefCell::default();
    /// The project that is being summed up, a file at a time.
    static SURVEY: RefCell<Survey> = RefCell::default();
}

/// A sentence as a JavaScript `Error`.
fn answer(answer: Result<String, String>) -> Result<String, JsError> {
    answer.map_err(|sentence| JsError::new(&sentence))
}

/// `{source, path?}` → the language it is in.
#[wasm_bindgen]
pub fn language(request: &str) -> Result<String, JsError> {
    answer(api::language(request))
}

/// `{paths: […]}` → a language or `null` for each, by its name.
#[wasm_bindgen]
pub fn languages(request: &str) -> Result<String, JsError> {
    answer(api::languages(request))
}

/// `{source, target?, select?, ignore?, language?, pytorch_extension?, first_party_modules?, has_amd_sibling?}` → `Report`.
#[wasm_bindgen]
pub fn analyze(request: &str) -> Result<String, JsError> {
    answer(SESSION.with_borrow_mut(|session| api::analyze(request, session)))
}

/// `{source, target?, indices: […]}` → `{source, applied: […]}`.
#[wasm_bindgen]
pub fn apply(request: &str) -> Result<String, JsError> {
    answer(api::apply(request))
}

/// `{source, target?, up_to?}` → `{source, applied}`.
#[wasm_bindgen]
pub fn fix_all(request: &str) -> Result<String, JsError> {
    answer(api::fix_all(request))
}

/// `{files: [{path, source}], target?, select?, ignore?, rules?}` → `{files: [{path, report}], summary}`.
#[wasm_bindgen]
pub fn project(request: &str) -> Result<String, JsError> {
    answer(api::project(request))
}

/// `{files: [{path, source?}]}` → `[{path, hipified, not_hipified, first_party_modules, with_amd_sibling, with_hip_names}]`, for each folder.
#[wasm_bindgen]
pub fn project_context(request: &str) -> Result<String, JsError> {
    answer(api::project_context(request))
}

/// As `analyze`, with `path`; the file is counted in the next summary.
#[wasm_bindgen]
pub fn survey_add(request: &str) -> Result<String, JsError> {
    answer(SURVEY.with_borrow_mut(|survey| api::survey_add(request, survey)))
}

/// `{}` → `Summary` of the files since the last one.
#[wasm_bindgen]
pub fn survey_finish(request: &str) -> Result<String, JsError> {
    answer(SURVEY.with_borrow_mut(|survey| api::survey_finish(request, survey)))
}

/// `{source, target?, exercise}` → `Judgement`.
#[wasm_bindgen]
pub fn judge(request: &str) -> Result<String, JsError> {
    answer(api::judge(request))
}

/// `{before, after}` → `DiffLine[]`.
#[wasm_bindgen]
pub fn diff(request: &str) -> Result<String, JsError> {
    answer(api::diff(request))
}

/// `{path, before, after}` → a patch that `git apply` takes.
#[wasm_bindgen]
pub fn patch(request: &str) -> Result<String, JsError> {
    answer(api::patch(request))
}

/// `{source, target?}` → `{source}`, completed to the snippet contract.
#[wasm_bindgen]
pub fn skeleton(request: &str) -> Result<String, JsError> {
    answer(api::skeleton(request))
}

/// Every rule: id, name, title, family, severity and so on.
#[wasm_bindgen]
pub fn rules() -> Result<String, JsError> {
    answer(api::rules())
}
