//! The analyzer of all languages in the browser: `hipward_analyzer::api` with JavaScript errors.

use std::cell::RefCell;

use hipward_analyzer::{Survey, api};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Smaller and faster than the standard allocator.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

thread_local! {
    /// The project that is being summarized, one file at a time.
    static SURVEY: RefCell<Survey> = RefCell::default();
}

hipward_analyzer_core::export_calls!(api::AllLanguages, hipward_analyzer::scaffold);

/// `{files: [{path, source}], target?, select?, ignore?, rules?}` → `{files: [{path, report}], summary}`.
#[wasm_bindgen]
pub fn project(request: &str) -> Result<String, JsError> {
    answer(api::project(request))
}

/// `{files: [{path, source?}]}` → `[{path, hipified, not_hipified, first_party_modules, false_on_amd, saved_with_arguments, release_limits, imports_torch, optional_modules, unused_on_amd, with_hip_names, amd_macros, unset_switches}]`, for each folder.
#[wasm_bindgen]
pub fn project_context(request: &str) -> Result<String, JsError> {
    answer(api::project_context(request))
}

/// `{files: [{path, source?}]}` → the paths of files with unsupported names that others include as requirements.
#[wasm_bindgen]
pub fn included_requirements(request: &str) -> Result<String, JsError> {
    answer(api::included_requirements(request))
}

/// As `analyze`, with `path`; the file is counted in the next summary.
#[wasm_bindgen]
pub fn survey_add(request: &str) -> Result<String, JsError> {
    answer(SURVEY.with_borrow_mut(|survey| api::survey_add(request, survey)))
}

/// `{target?}` → the porting plan of the files of the survey so far, as Markdown.
#[wasm_bindgen]
pub fn survey_plan(request: &str) -> Result<String, JsError> {
    answer(SURVEY.with_borrow(|survey| api::survey_plan(request, survey)))
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

/// `{path, before, after}` → a patch that `git apply` takes.
#[wasm_bindgen]
pub fn patch(request: &str) -> Result<String, JsError> {
    answer(api::patch(request))
}

/// Every rule: id, name, title, family, severity and so on.
#[wasm_bindgen]
pub fn rules() -> Result<String, JsError> {
    answer(api::rules())
}
