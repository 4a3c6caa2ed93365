//! A text area for code.

use leptos::html::Textarea;
use leptos::prelude::*;

/// A text area with the id `code`. `described_by` is the id of its help; `on_input` gets each edited text.
#[component]
pub(crate) fn CodeArea(
    text: String,
    described_by: &'static str,
    #[prop(optional)] node: NodeRef<Textarea>,
    #[prop(optional)] on_input: Option<Callback<String>>,
) -> impl IntoView {
    // Leptos does not escape text inside a text area, and a parser drops the first line feed. In the browser the element
    // already has its text, and hydration does not change it.
    #[cfg(feature = "ssr")]
    let inside = format!("\n{}", crate::escape::escape(&text));
    #[cfg(not(feature = "ssr"))]
    let inside = {
        drop(text);
        ""
    };
    view! {
        <textarea
            id="code"
            name="code"
            class="code"
            rows="26"
            wrap="off"
            spellcheck="false"
            autocomplete="off"
            autocapitalize="off"
            aria-describedby=described_by
            inner_html=inside
            node_ref=node
            on:input=move |event| {
                if let Some(on_input) = on_input {
                    on_input.run(event_target_value(&event));
                }
            }
        ></textarea>
    }
}
