//! The playground's page.

use super::frame::Page;
use crate::playground::{Playground, rule_counts};
use crate::{Route, Site};
use leptos::prelude::*;

pub(super) fn page(site: &Site) -> Page {
    let main = view! {
        <h1>"Playground"</h1>
        // The island reads the numbers of rules.
        <p class="lead" data-rules=rule_counts()>
            "Paste PyTorch code, or drop a whole folder, and see what breaks or crawls on ROCm, with fixes to approve. Nothing you paste or drop leaves this page. "
            "See "<a href=site.href(&Route::Rules)>"the rules"</a>"."
        </p>
        <noscript>
            <p class="admonition note">
                "The check runs in your browser and needs JavaScript. In a terminal, "
                <code>"hipward check FILE --diff"</code>
                " reports the same findings."
            </p>
        </noscript>
        <Playground />
    };
    Page {
        title: "Playground".to_owned(),
        description: "Paste PyTorch code and see, in the browser, what breaks or crawls on ROCm."
            .to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}
