//! The Python analyzer in the browser: a small module that every playground loads. A source in another language, or one
//! with a team's rules, needs the module of `hipward-analyzer-wasm`.

mod api;

use std::cell::RefCell;

use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    /// The browser's worker analyzes one text again and again.
    static SESSION: RefCell<api::Session> = RefCell::default();
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

/// `{source, target?, select?, ignore?, language?}` → `Report`.
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

/// `{before, after}` → `DiffLine[]`.
#[wasm_bindgen]
pub fn diff(request: &str) -> Result<String, JsError> {
    answer(api::diff(request))
}

/// `{source, target?}` → `{source}`, completed to the snippet contract.
#[wasm_bindgen]
pub fn skeleton(request: &str) -> Result<String, JsError> {
    answer(api::skeleton(request))
}
