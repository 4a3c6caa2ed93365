//! The address of the page.

use leptos::prelude::{document, window};
use wasm_bindgen::JsValue;
use wasm_bindgen::UnwrapThrowExt;
use web_sys::UrlSearchParams;

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

/// Opens another page. False if the browser does not allow a new tab, for example some seconds after the last click.
pub(crate) fn open(address: &str, in_new_tab: bool) -> bool {
    if in_new_tab {
        return matches!(window().open_with_url(address), Ok(Some(_)));
    }
    let _ = window().location().assign(address);
    true
}
