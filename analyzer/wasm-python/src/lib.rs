//! The Python analyzer in the browser: a small module that every playground loads. Sources in other languages, and team
//! rules, need the module of `hipward-analyzer-wasm`.

mod api;

use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Smaller and faster than the standard allocator.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

hipward_analyzer_core::export_calls!(api::Python, hipward_analyzer_python::scaffold);
