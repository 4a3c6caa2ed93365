//! The editor of a kernel's source: CodeMirror (site/js/editor.js), which writes each change into the text area of the form.

use crate::browser::storage;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    #[derive(Clone)]
    type CodeEditor;

    #[wasm_bindgen(catch, js_name = mountEditor)]
    async fn mount_editor(
        area: &web_sys::HtmlTextAreaElement,
        on_change: JsValue,
        on_fix: JsValue,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, js_name = setText)]
    fn set_text(this: &CodeEditor, text: &str);

    /// Highlights the text as a language of the analyzer.
    #[wasm_bindgen(method, js_name = setLanguage)]
    fn set_language(this: &CodeEditor, language: &str);
}

/// The editor, once it is loaded.
#[derive(Clone, Copy)]
pub(super) struct Editor(StoredValue<Option<CodeEditor>, LocalStorage>);

impl Editor {
    pub(super) fn new() -> Self {
        Editor(StoredValue::new_local(None))
    }

    /// Loads the editor in the place of a text area. Without it, the text area works as well. `on_change` is called after
    /// each edit.
    pub(super) async fn mount(
        self,
        area: web_sys::HtmlTextAreaElement,
        is_triton: bool,
        on_change: impl Fn() + 'static,
    ) {
        // The reader's choice in the playground.
        if storage::stored("playground.plain").as_deref() == Some("yes") {
            return;
        }
        let field = area.clone();
        let on_change = Closure::<dyn FnMut(String)>::new(move |text: String| {
            field.set_value(&text);
            on_change();
        });
        let mounted = mount_editor(&area, on_change.into_js_value(), JsValue::UNDEFINED).await;
        if let Ok(code) = mounted {
            self.0.set_value(Some(code.unchecked_into()));
            self.show(&area.value(), is_triton);
        }
    }

    /// Shows a text that was not typed.
    pub(super) fn show(self, text: &str, is_triton: bool) {
        self.set_language(is_triton);
        if let Some(code) = self.0.get_value() {
            code.set_text(text);
        }
    }

    pub(super) fn set_language(self, is_triton: bool) {
        if let Some(code) = self.0.get_value() {
            code.set_language(if is_triton { "python" } else { "cuda-cpp" });
        }
    }
}
