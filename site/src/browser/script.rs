//! Functions of the scripts in site/js. js/boot.js puts them on `globalThis.hipward` before it hydrates an island.

use wasm_bindgen::prelude::*;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    /// The `authorization` header for the runner, if the reader entered a token on this page.
    pub(crate) fn authorization() -> Option<String>;

    /// Asks the reader for the runner's token; true once one was entered. `refused`: the server did not accept the last one.
    #[wasm_bindgen(js_name = askToken)]
    pub(crate) async fn ask_token(refused: bool) -> JsValue;

    /// Copies a text to the clipboard; false where that is not allowed.
    #[wasm_bindgen(js_name = copyText)]
    pub(crate) async fn copy_text(text: &str) -> JsValue;

    /// Packs a text into a string for an address.
    #[wasm_bindgen(catch)]
    pub(crate) async fn pack(text: &str) -> Result<JsValue, JsValue>;

    /// Restores the text of a packed string.
    #[wasm_bindgen(catch)]
    pub(crate) async fn unpack(packed: &str) -> Result<JsValue, JsValue>;
}

/// The message of a rejected promise.
pub(crate) fn message(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => "Something in the browser did not work.".to_owned(),
    }
}
