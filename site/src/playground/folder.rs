//! An open folder: site/js/project.js reads its files and checks them in the analyzer's worker.

use super::project::Progress;
use hipward_analyzer_core::Target;
use leptos::ev;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    #[derive(Clone)]
    pub(super) type Folder;

    /// A folder that is not open yet. `on_event` is called with the name and the value of each [`FolderEvent`].
    #[wasm_bindgen(js_name = openProject)]
    fn open_project(on_text: JsValue, on_event: JsValue) -> Folder;

    /// Opens the items of a drop or the files of an input.
    #[wasm_bindgen(method)]
    pub(super) async fn take(this: &Folder, how: &str, items: JsValue);

    /// Checks every file for a target (JSON), from the start if it is being checked.
    #[wasm_bindgen(method)]
    fn check(this: &Folder, target: &str);

    /// The fields of the analyzer's request about a file, as JSON. `name` is the name that is shown for it.
    #[wasm_bindgen(method)]
    pub(super) fn request(this: &Folder, name: &str) -> Option<String>;

    /// Reads a file; its text is an event. `left` is the file that was in the editor.
    #[wasm_bindgen(method)]
    pub(super) fn open(this: &Folder, path: &str, left: &str);

    /// Saves the fixed files as a `patch` or a `zip`. `left` is the file in the editor.
    #[wasm_bindgen(method)]
    fn download(this: &Folder, form: &str, target: &str, left: &str);

    /// Forgets the folder.
    #[wasm_bindgen(method)]
    pub(super) fn close(this: &Folder);
}

/// Something happened to the folder.
#[derive(Debug)]
pub(super) enum FolderEvent {
    /// A folder of this name was opened.
    Opened(String),
    /// Progress of the check, and at the end its result.
    Progress(Box<Progress>),
    /// The text of a file that was to be opened.
    Text(String),
    /// Something was done, in a sentence.
    Notice(String),
    /// Something failed, in a sentence.
    Error(String),
}

impl FolderEvent {
    /// The value of `progress` is an object, any other is a text. `None` for an event that this page does not know.
    fn parse(event: &str, value: JsValue) -> Option<Self> {
        if event == "progress" {
            let progress = serde_wasm_bindgen::from_value(value).ok()?;
            return Some(FolderEvent::Progress(Box::new(progress)));
        }
        let text = value.as_string()?;
        Some(match event {
            "opened" => FolderEvent::Opened(text),
            "text" => FolderEvent::Text(text),
            "notice" => FolderEvent::Notice(text),
            "error" => FolderEvent::Error(text),
            _ => return None,
        })
    }
}

impl Folder {
    /// `text` returns the text in the editor.
    pub(super) fn new(
        text: impl FnMut() -> String + 'static,
        mut on_event: impl FnMut(FolderEvent) + 'static,
    ) -> Self {
        let text = Closure::<dyn FnMut() -> String>::new(text);
        let on_event = Closure::<dyn FnMut(String, JsValue)>::new(move |event: String, value| {
            if let Some(event) = FolderEvent::parse(&event, value) {
                on_event(event);
            }
        });
        open_project(text.into_js_value(), on_event.into_js_value())
    }

    pub(super) fn check_for(&self, target: &Target) {
        self.check(&json(target));
    }

    pub(super) fn download_for(&self, form: &str, target: &Target, left: &str) {
        self.download(form, &json(target), left);
    }
}

fn json(target: &Target) -> String {
    // A target is four strings.
    serde_json::to_string(target).unwrap_or_default()
}

/// Whether a drag carries files.
fn has_files(event: &ev::DragEvent) -> bool {
    let files = JsValue::from_str("Files");
    event
        .data_transfer()
        .is_some_and(|data| data.types().includes(&files, 0))
}

/// Lets files be dropped.
pub(super) fn allow_drop(event: &ev::DragEvent) {
    if has_files(event) {
        event.prevent_default();
    }
}

/// Content of a drop event.
pub(super) enum Dropped {
    File(web_sys::File),
    /// Entries of a folder, or several entries.
    Entries(js_sys::Array),
}

/// Takes files out of a drop; `None` for a drop of something else, which the browser handles.
pub(super) fn take_drop(event: &ev::DragEvent) -> Option<Dropped> {
    if !has_files(event) {
        return None;
    }
    event.prevent_default();
    // The editor would insert the file's text where it was dropped.
    event.stop_propagation();
    let data = event.data_transfer()?;
    // The browser forgets the items with the event, so they are read now.
    let items = data.items();
    let entries = js_sys::Array::new();
    let mut has_folder = false;
    for at in 0..items.length() {
        if let Some(Ok(Some(entry))) = items.get(at).map(|item| item.webkit_get_as_entry()) {
            has_folder |= entry.is_directory();
            entries.push(&entry);
        }
    }
    if has_folder || entries.length() > 1 {
        return Some(Dropped::Entries(entries));
    }
    Some(Dropped::File(data.files()?.get(0)?))
}

/// Reads a file as text. The error is a sentence.
pub(super) async fn read_file(file: &web_sys::File) -> Result<String, String> {
    match read_text_file(file).await {
        Ok(text) => Ok(text.as_string().unwrap_or_default()),
        Err(error) => Err(crate::browser::script::message(&error)),
    }
}

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    #[wasm_bindgen(catch, js_name = readFile)]
    async fn read_text_file(file: &web_sys::File) -> Result<JsValue, JsValue>;
}
