//! Values that the browser stores for the site. A browser may block storage or have no space left; the page then works
//! without. (gloo-storage panics when storage is blocked.)

use leptos::prelude::window;

const PREFIX: &str = "hipward.";

/// The stored value of a key.
pub(crate) fn stored(key: &str) -> Option<String> {
    let storage = window().local_storage().ok()??;
    storage.get_item(&format!("{PREFIX}{key}")).ok()?
}

/// Stores a value.
pub(crate) fn store(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(&format!("{PREFIX}{key}"), value);
    }
}
