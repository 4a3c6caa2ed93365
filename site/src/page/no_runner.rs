//! Notice on pages that need a runner, for a site without one.

use leptos::prelude::*;

/// `heading` is what is missing; `purpose` and `machine` complete "To …, run `hipward serve` on …".
pub(super) fn no_runner(
    heading: &'static str,
    purpose: &'static str,
    machine: &'static str,
) -> AnyView {
    view! {
        <section class="admonition note" aria-labelledby="runner">
            <h2 id="runner">{heading}</h2>
            <p>
                "This copy of the site is only pages. To "{purpose}", run "
                <code>"hipward serve"</code>
                " on "{machine}", and open this page there."
            </p>
        </section>
    }
    .into_any()
}
