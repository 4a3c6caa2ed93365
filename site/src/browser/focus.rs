//! Keyboard focus when the element that has it is removed.

use gloo_timers::callback::Timeout;
use wasm_bindgen::JsCast;

/// Scrolls to the element with an id and moves the focus to it.
pub(crate) fn focus(id: &str) {
    let element = leptos::prelude::document().get_element_by_id(id);
    if let Some(element) =
        element.and_then(|element| element.dyn_into::<web_sys::HtmlElement>().ok())
    {
        let _ = element.focus();
    }
}

/// Runs an update of the page. If it removes the focused element, its region (`data-region`) gets the focus, so that
/// keyboard users continue there.
pub(crate) fn keep_focus(update: impl FnOnce()) {
    let document = leptos::prelude::document();
    let region = document
        .active_element()
        .and_then(|focused| focused.closest("[data-region]").ok().flatten());
    update();
    let Some(region) = region else { return };
    // Signals update the page in a microtask, which runs before a timer.
    Timeout::new(0, move || {
        let lost = document
            .active_element()
            .is_none_or(|focused| focused.tag_name() == "BODY");
        if let Some(region) = region.dyn_ref::<web_sys::HtmlElement>().filter(|_| lost) {
            region.set_tab_index(-1);
            let options = web_sys::FocusOptions::new();
            options.set_prevent_scroll(true);
            let _ = region.focus_with_options(&options);
        }
    })
    .forget();
}
