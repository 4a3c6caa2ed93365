//! JSON through the browser's own parser. A page that parses no JSON in Rust needs no parser in its module, which makes the
//! module smaller.

use serde::de::DeserializeOwned;

/// Parses a text. `None` if it is not JSON, or not of this type.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Option<T> {
    let value = js_sys::JSON::parse(text).ok()?;
    serde_wasm_bindgen::from_value(value).ok()
}
