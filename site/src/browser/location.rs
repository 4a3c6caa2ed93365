//! The address of the page.

use leptos::prelude::{document, window};
use wasm_bindgen::JsValue;
use wasm_bindgen::UnwrapThrowExt;
use web_sys::{Url, UrlSearchParams};

/// The part of the address after `#`.
pub(crate) fn fragment() -> String {
    let hash = window().location().hash().unwrap_or_default();
    hash.trim_start_matches('#').to_owned()
}

/// The `key=value` pairs of a fragment.
pub(crate) fn parameters(fragment: &str) -> UrlSearchParams {
    // Only a sequence that is no pair is an error, and a string is none.
    UrlSearchParams::new_with_str(fragment).unwrap_throw()
}

/// The address of the site, which the page names. Empty on the server.
pub(crate) fn base() -> String {
    if cfg!(feature = "ssr") {
        return String::new();
    }
    let page = document().document_element();
    page.and_then(|page| page.get_attribute("data-base"))
        .unwrap_or_default()
}

/// The whole address.
pub(crate) fn address() -> String {
    window().location().href().unwrap_or_default()
}

/// An address of this site with its scheme and host.
pub(crate) fn absolute(address: &str) -> String {
    Url::new_with_base(address, &self::address())
        .map_or_else(|_| address.to_owned(), |url| url.href())
}

/// Replaces the part after `#` without an event or a new entry of the history.
pub(crate) fn replace_fragment(fragment: &str) {
    if let Ok(history) = window().history() {
        let state = history.state().unwrap_or(JsValue::NULL);
        let _ = history.replace_state_with_url(&state, "", Some(&format!("#{fragment}")));
    }
}

/// The text that was stored for this entry of the history, after a reload or a step back.
pub(crate) fn state_text() -> Option<String> {
    let state = window().history().ok()?.state().ok()?;
    js_sys::Reflect::get(&state, &TEXT.into()).ok()?.as_string()
}

/// Stores a text for this entry of the history. A browser may refuse one that is too large, or too many in a short time.
pub(crate) fn set_state_text(text: &str) {
    let state = js_sys::Object::new();
    if js_sys::Reflect::set(&state, &TEXT.into(), &text.into()).is_ok()
        && let Ok(history) = window().history()
    {
        let _ = history.replace_state(&state, "");
    }
}

/// The key of the text in the state of the history.
const TEXT: &str = "text";

/// Where another page opens.
pub(crate) enum Destination {
    /// In this tab, which leaves the page.
    Here,
    /// In a tab that is already open.
    Tab(web_sys::Window),
    /// In a new tab, which the browser did not allow.
    Blocked,
}

impl Destination {
    /// Opens a tab that shows `text` until [`Destination::open`]. Has to be called in the handler of a click: some seconds
    /// later a browser blocks the tab.
    pub(crate) fn new_tab(text: &str) -> Self {
        let Ok(Some(tab)) = window().open() else {
            return Destination::Blocked;
        };
        if let Some(body) = tab.document().and_then(|document| document.body()) {
            body.set_text_content(Some(text));
        }
        Destination::Tab(tab)
    }

    /// Opens `address`.
    pub(crate) fn open(&self, address: &str) {
        let location = match self {
            Destination::Here => window().location(),
            Destination::Tab(tab) => tab.location(),
            Destination::Blocked => return,
        };
        let _ = location.assign(address);
    }

    /// Closes the tab that was opened.
    pub(crate) fn close(&self) {
        if let Destination::Tab(tab) = self {
            let _ = tab.close();
        }
    }
}
