//! Functions of the scripts in site/js. js/interactive.js puts them on `globalThis.hipward` before it hydrates an island.

use wasm_bindgen::prelude::*;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    /// The `authorization` header for a request to a runner, if the reader entered its token.
    pub(crate) fn authorization(address: &str) -> Option<String>;

    /// Shows a dialog for the token of the runner with this address; true once one was entered. `refused`: the runner did not
    /// accept the last one.
    #[wasm_bindgen(js_name = askToken)]
    pub(crate) async fn ask_token(refused: bool, address: &str) -> JsValue;

    /// The address of the runner that the reader has chosen, or of the first that is ready. Ends with a slash.
    #[wasm_bindgen(js_name = chosenRunner)]
    pub(crate) async fn chosen_runner() -> JsValue;

    /// The name of a runner. Empty for the server of the page, if it is the only runner.
    #[wasm_bindgen(js_name = runnerName)]
    pub(crate) fn runner_name(runner: &str) -> String;

    /// The address of the page of a runner's job.
    #[wasm_bindgen(js_name = jobPage)]
    pub(crate) fn job_page(runner: &str, id: &str) -> String;

    /// The API's address of the job that the address of this page names, if its runner is one of the site's.
    #[wasm_bindgen(js_name = remoteJob)]
    pub(crate) fn remote_job() -> Option<String>;

    /// Copies a text to the clipboard; false where that is not allowed.
    #[wasm_bindgen(js_name = copyText)]
    pub(crate) async fn copy_text(text: &str) -> JsValue;

    /// Shows the panel that executes a kernel in the emulator, or hides it for an empty source.
    #[wasm_bindgen(js_name = showRun, catch)]
    pub(crate) async fn show_run(
        region: &web_sys::Element,
        source: &str,
        arch: &str,
    ) -> Result<JsValue, JsValue>;

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
