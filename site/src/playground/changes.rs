//! The changes of the text as a diff.

use super::session::Session;
use crate::browser::client_only::client_only;
use crate::diff::DiffTable;
use leptos::prelude::*;

#[component]
pub(super) fn Changes() -> impl IntoView {
    let session = expect_context::<Session>();
    move || {
        let lines = session.state.diff.get();
        (!lines.is_empty()).then(|| {
            client_only(view! {
                <section aria-labelledby="changes">
                    <h2 id="changes">"Changes"</h2>
                    <DiffTable caption="From your paste to the text above" lines />
                    <p>
                        <button
                            type="button"
                            id="compare"
                            on:click=move |_| session.restart_comparison()
                        >
                            "Compare from here on"
                        </button>
                    </p>
                </section>
            })
        })
    }
}
