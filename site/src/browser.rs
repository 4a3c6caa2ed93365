//! What the scripts in site/js do for the islands. It hangs on `globalThis.hipward`, which
//! js/boot.js puts there before it hydrates an island. Nothing here works on the server.

use crate::wire::Json;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    /// Fills the region of that name and keeps the focus where it was.
    pub(crate) fn fill(region: &str, html: &str);

    /// One question to the analyzer about a source; `settings` are a target, a language (empty for the one that the
    /// source reads like) and a file's name, such as `gfx942,7.1,2.11,3.12,cuda-cpp,kernel.cu`. `index` is the finding
    /// that is asked about. The answer is parsed JSON.
    #[wasm_bindgen(catch)]
    pub(crate) async fn ask(
        method: &str,
        source: &str,
        settings: &str,
        index: Option<u32>,
    ) -> Result<JsValue, JsValue>;

    /// How far a source is on the way to an exercise's solution, as parsed JSON; `settings` as for [`ask`].
    #[wasm_bindgen(catch)]
    pub(crate) async fn judge(
        source: &str,
        settings: &str,
        exercise: &str,
    ) -> Result<JsValue, JsValue>;

    /// The lines of a diff, as parsed JSON.
    #[wasm_bindgen(catch)]
    pub(crate) async fn diff(before: &str, after: &str) -> Result<JsValue, JsValue>;

    /// The value of a JSON text.
    #[wasm_bindgen(catch)]
    pub(crate) fn parse(json: &str) -> Result<JsValue, JsValue>;

    /// Text to a string for an address.
    #[wasm_bindgen(catch)]
    pub(crate) async fn pack(text: &str) -> Result<JsValue, JsValue>;

    /// The text of a packed string.
    #[wasm_bindgen(catch)]
    pub(crate) async fn unpack(packed: &str) -> Result<JsValue, JsValue>;

    /// Sends code as a job; the address of its page.
    #[wasm_bindgen(catch)]
    pub(crate) async fn submit(code: &str) -> Result<JsValue, JsValue>;

    /// `ready`, `not-ready` or `absent`.
    #[wasm_bindgen(js_name = runnerState)]
    pub(crate) async fn runner_state() -> JsValue;

    /// The last event that is in the page as it was served; `None` for a job that has ended.
    #[wasm_bindgen(js_name = servedSeq)]
    pub(crate) fn served_seq() -> Option<u32>;

    /// Puts a job's state into the window's title: somebody waits for it in another tab.
    pub(crate) fn entitle(state: &str);

    /// Calls `on_event` with every event of the page's job, parsed, until it answers true.
    pub(crate) fn follow(on_event: &Closure<dyn FnMut(JsValue) -> bool>);

    /// Calls `on_answer` with each answer of the compiler, parsed, and the source it is about.
    #[wasm_bindgen(js_name = onCompiled)]
    pub(crate) fn on_compiled(on_answer: &Closure<dyn FnMut(JsValue, String)>);

    /// Calls back before the next frame is drawn.
    #[wasm_bindgen(js_name = nextFrame)]
    pub(crate) fn next_frame(callback: JsValue);

    /// Where the site lives: `/`.
    pub(crate) fn base() -> String;

    /// Puts a fragment into the address bar and the address onto the clipboard; false where the
    /// clipboard is not allowed.
    #[wasm_bindgen(js_name = shareAddress)]
    pub(crate) async fn share_address(fragment: &str) -> JsValue;

    /// Goes to a page of this site, or opens it `beside` this one.
    pub(crate) fn go(address: &str, beside: bool);

    /// What stands behind `#` in the address.
    pub(crate) fn fragment() -> String;

    /// Keeps the playground's text: for this place in the history, and for the next visit.
    pub(crate) fn keep(text: &str);

    /// What was kept for this place in the history, after a reload or a step back.
    #[wasm_bindgen(js_name = keptHere)]
    pub(crate) fn kept_here() -> Option<String>;

    /// What was kept last.
    #[wasm_bindgen(js_name = keptLast)]
    pub(crate) fn kept_last() -> Option<String>;

    /// A remembered value; `None` also where the browser keeps nothing for us.
    pub(crate) fn recall(key: &str) -> Option<String>;

    /// Remembers a value if the browser lets us.
    pub(crate) fn remember(key: &str, value: &str);

    /// Calls back after some milliseconds.
    pub(crate) fn later(milliseconds: u32, callback: JsValue);

    /// The playground's editor, and everything a person does there as `(act, argument)`.
    #[wasm_bindgen(js_name = openWorkspace)]
    pub(crate) fn open_workspace(on_act: &Closure<dyn FnMut(String, String)>) -> Workspace;
}

#[wasm_bindgen]
extern "C" {
    /// The editor or the text area, whichever is there.
    pub(crate) type Workspace;

    /// What stands there.
    #[wasm_bindgen(method)]
    pub(crate) fn text(this: &Workspace) -> String;

    /// What the page was served with.
    #[wasm_bindgen(method)]
    pub(crate) fn example(this: &Workspace) -> String;

    /// Replaces the text.
    #[wasm_bindgen(method, js_name = setText)]
    pub(crate) fn set_text(this: &Workspace, text: &str);

    /// Shows the findings of a report.
    #[wasm_bindgen(method, js_name = setReport)]
    pub(crate) fn set_report(this: &Workspace, report: &JsValue);

    /// Shows a target in the pickers: architecture, ROCm, PyTorch, Python.
    #[wasm_bindgen(method, js_name = setTarget)]
    pub(crate) fn set_target(this: &Workspace, target: &str);

    /// Shows a language in its picker; empty for the one that the text reads like.
    #[wasm_bindgen(method, js_name = setLanguage)]
    pub(crate) fn set_language(this: &Workspace, language: &str);

    /// Selects a range of UTF-16 offsets, such as `12-15`, and moves the focus there.
    #[wasm_bindgen(method)]
    pub(crate) fn select(this: &Workspace, range: &str);

    /// Checks the open folder for a target, again if it is being checked. What comes of it are acts.
    #[wasm_bindgen(method, js_name = checkProject)]
    pub(crate) fn check_project(this: &Workspace, target: &str);

    /// Reads a file of the open folder; its text comes as an act. `left` is the file that was in the editor.
    #[wasm_bindgen(method, js_name = openFile)]
    pub(crate) fn open_file(this: &Workspace, path: &str, left: &str);

    /// Saves the fixed files of the open folder as `form`; `open` is the file in the editor.
    #[wasm_bindgen(method)]
    pub(crate) fn download(this: &Workspace, form: &str, target: &str, open: &str);

    /// Forgets the folder.
    #[wasm_bindgen(method, js_name = closeProject)]
    pub(crate) fn close_project(this: &Workspace);

    /// Switches between text area and editor.
    #[wasm_bindgen(method, js_name = setPlain)]
    pub(crate) fn set_plain(this: &Workspace, plain: bool);
}

/// The sentence of a rejected promise.
pub(crate) fn sentence(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => "Something in the browser did not work.".to_owned(),
    }
}

impl Json for JsValue {
    fn member(&self, key: &str) -> Option<Self> {
        let value = js_sys::Reflect::get(self, &JsValue::from_str(key)).ok()?;
        (!value.is_null() && !value.is_undefined()).then_some(value)
    }

    fn elements(&self) -> Option<Vec<Self>> {
        Some(self.dyn_ref::<js_sys::Array>()?.to_vec())
    }

    fn string(&self) -> Option<String> {
        self.as_string()
    }

    fn number(&self) -> Option<f64> {
        self.as_f64()
    }

    fn truth(&self) -> Option<bool> {
        self.as_bool()
    }
}
