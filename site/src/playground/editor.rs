//! The editor: CodeMirror (site/js/editor.js) when it is loaded and wanted, the text area of the page otherwise.

use crate::browser::script;
use leptos::html::Textarea;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(js_namespace = hipward)]
extern "C" {
    /// CodeMirror in the place of a text area.
    #[derive(Clone)]
    type CodeEditor;

    #[wasm_bindgen(catch, js_name = mountEditor)]
    async fn mount_editor(
        area: &web_sys::HtmlTextAreaElement,
        on_change: JsValue,
        on_fix: JsValue,
    ) -> Result<JsValue, JsValue>;

    /// Selects a line (from 1) of a text area and moves the focus there.
    #[wasm_bindgen(js_name = selectLine)]
    fn select_line(area: &web_sys::HtmlTextAreaElement, line: u32);

    #[wasm_bindgen(method)]
    fn text(this: &CodeEditor) -> String;

    #[wasm_bindgen(method, js_name = setText)]
    fn set_text(this: &CodeEditor, text: &str);

    /// Marks the findings of a report.
    #[wasm_bindgen(method, js_name = setReport)]
    fn set_report(this: &CodeEditor, report: &JsValue);

    #[wasm_bindgen(method)]
    fn select(this: &CodeEditor, from: u32, to: u32);

    /// Replaces the text as one step of the history, marks lines (from 1) and scrolls to the first.
    #[wasm_bindgen(method, js_name = applyFix)]
    fn apply_fix(this: &CodeEditor, text: &str, lines: &[u32]);

    /// Undoes the last step of the history. Returns false if there is none.
    #[wasm_bindgen(method)]
    fn undo(this: &CodeEditor) -> bool;

    /// Forgets the history.
    #[wasm_bindgen(method, js_name = clearHistory)]
    fn clear_history(this: &CodeEditor);

    /// Shows the text area again.
    #[wasm_bindgen(method)]
    fn remove(this: &CodeEditor);
}

#[derive(Clone, Copy)]
pub(super) struct Editor {
    pub(super) area: NodeRef<Textarea>,
    code: StoredValue<Option<CodeEditor>, LocalStorage>,
    /// The newest report, for an editor that is mounted later.
    report: StoredValue<Option<JsValue>, LocalStorage>,
    /// Whether the reader wants the text area.
    pub(super) is_plain: RwSignal<bool>,
    kind: RwSignal<&'static str>,
}

impl Editor {
    pub(super) fn new() -> Self {
        Editor {
            area: NodeRef::new(),
            code: StoredValue::new_local(None),
            report: StoredValue::new_local(None),
            is_plain: RwSignal::new(false),
            kind: RwSignal::new(""),
        }
    }

    /// `code` or `plain`; empty before the first choice.
    pub(super) fn kind(&self) -> &'static str {
        self.kind.get()
    }

    fn area(&self) -> web_sys::HtmlTextAreaElement {
        // The island is hydrated, so its elements are there.
        self.area.get_untracked().unwrap_throw()
    }

    pub(super) fn text(&self) -> String {
        match self.code.get_value() {
            Some(code) => code.text(),
            None => self.area().value(),
        }
    }

    /// The text that the page was served with.
    pub(super) fn example(&self) -> String {
        self.area().default_value().unwrap_or_default()
    }

    pub(super) fn set_text(&self, text: &str) {
        self.area().set_value(text);
        if let Some(code) = self.code.get_value() {
            code.set_text(text);
        }
    }

    /// Forgets the history, so that undoing does not bring back the text of another file.
    pub(super) fn forget_history(&self) {
        if let Some(code) = self.code.get_value() {
            code.clear_history();
        }
    }

    /// Replaces the text after a fix and shows the changed lines (from 1).
    pub(super) fn apply_fix(&self, text: &str, lines: &[u32]) {
        if let Some(code) = self.code.get_value() {
            self.area().set_value(text);
            code.apply_fix(text, lines);
            return;
        }
        let area = self.area();
        area.set_value(text);
        if let Some(line) = lines.first() {
            select_line(&area, *line);
        }
    }

    /// Undoes the last step of the editor's history. Returns false if the editor has none.
    pub(super) fn undo(&self) -> bool {
        self.code.get_value().is_some_and(|code| code.undo())
    }

    /// Marks the findings of a report.
    pub(super) fn set_report(&self, report: JsValue) {
        if let Some(code) = self.code.get_value() {
            code.set_report(&report);
        }
        self.report.set_value(Some(report));
    }

    /// Scrolls the editor into view if it is below the fold, as it is on a phone.
    pub(super) fn reveal(&self) {
        let height = window().inner_height().ok();
        let height = height
            .and_then(|height| height.as_f64())
            .unwrap_or_default();
        if let Ok(Some(panes)) = self.area().closest(".panes")
            && panes.get_bounding_client_rect().top() > height * 0.6
        {
            panes.scroll_into_view();
        }
    }

    /// Selects a range of UTF-16 offsets and moves the focus there.
    pub(super) fn select(&self, from: u32, to: u32) {
        if let Some(code) = self.code.get_value() {
            code.select(from, to);
            return;
        }
        let area = self.area();
        let _ = area.focus();
        let _ = area.set_selection_range(from, to);
    }

    /// Switches between text area and CodeMirror. `on_change` gets each edited text, `on_fix` the index of a finding whose
    /// fix was chosen in the editor.
    pub(super) async fn set_plain(
        &self,
        plain: bool,
        on_change: impl FnMut(String) + 'static,
        on_fix: impl FnMut(u32) + 'static,
    ) -> Result<(), String> {
        self.is_plain.set(plain);
        match self.code.get_value() {
            Some(code) if plain => {
                self.area().set_value(&code.text());
                code.remove();
                self.code.set_value(None);
            }
            None if !plain => {
                let on_change = Closure::<dyn FnMut(String)>::new(on_change);
                let on_fix = Closure::<dyn FnMut(u32)>::new(on_fix);
                let area = self.area();
                let mounted =
                    mount_editor(&area, on_change.into_js_value(), on_fix.into_js_value());
                match mounted.await {
                    Ok(code) => {
                        let code: CodeEditor = code.unchecked_into();
                        // The reader may have chosen the text area, or chosen twice, while the editor was loaded.
                        if self.is_plain.get_untracked() || self.code.with_value(Option::is_some) {
                            code.remove();
                            return Ok(());
                        }
                        // The report may be older than the editor.
                        self.report.with_value(|report| {
                            if let Some(report) = report {
                                code.set_report(report);
                            }
                        });
                        self.code.set_value(Some(code));
                    }
                    Err(error) => {
                        self.kind.set("plain");
                        return Err(script::message(&error));
                    }
                }
            }
            _ => {}
        }
        let kind = match self.code.with_value(Option::is_some) {
            true => "code",
            false => "plain",
        };
        self.kind.set(kind);
        Ok(())
    }
}
