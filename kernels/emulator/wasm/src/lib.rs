//! The emulator in the browser: one launch at a time, which is executed up to any instruction. Requests and answers are JSON;
//! [`request`] and [`view`] are their types. An error is a sentence for the reader.

pub mod request;
mod session;
pub mod values;
pub mod view;

pub use session::{Session, describe};

use std::cell::RefCell;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Smaller and faster than the standard allocator.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Calls a method: `describe`, `start` or `go`.
///
/// # Errors
///
/// The request is wrong, or the listing or launch cannot be executed.
#[wasm_bindgen]
pub fn call(method: &str, request: &str) -> Result<String, JsError> {
    answer(method, request).map_err(|message| JsError::new(&message))
}

/// The answer of [`call`].
///
/// # Errors
///
/// As [`call`]; a sentence.
pub fn answer(method: &str, request: &str) -> Result<String, String> {
    match method {
        "describe" => to_json(&describe(&parse(request)?)?),
        "start" => {
            let session = Session::new(parse(request)?)?;
            let view = session.view(&request::Shown::default());
            SESSION.set(Some(session));
            to_json(&view)
        }
        "go" => SESSION.with_borrow_mut(|session| {
            let session = session
                .as_mut()
                .ok_or("There is no launch; run the kernel again.")?;
            let request: request::Go = parse(request)?;
            session.go(request.to);
            to_json(&session.view(&request.shown))
        }),
        _ => Err(format!("There is no method {method}.")),
    }
}

fn parse<T: serde::de::DeserializeOwned>(request: &str) -> Result<T, String> {
    serde_json::from_str(request).map_err(|error| format!("The request is not valid: {error}"))
}

fn to_json(answer: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map_err(|error| error.to_string())
}
