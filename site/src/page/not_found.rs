//! The page for unknown addresses.

use super::frame::Page;
use crate::{Route, Site};
use leptos::prelude::*;

pub(super) fn page(site: &Site) -> Page {
    Page {
        title: "Page not found".to_owned(),
        description: "There is no page at this address.".to_owned(),
        main: view! {
            <h1>"There is no page here"</h1>
            <p class="lead">"The address may be mistyped. The page of a job is on the runner that ran it."</p>
            <ul>
                <li><a href=site.href(&Route::Learn)>"All lessons"</a></li>
                <li><a href=site.href(&Route::Playground)>"Playground"</a></li>
                <li><a href=site.href(&Route::Rules)>"Rules"</a></li>
            </ul>
        }
        .into_any(),
        sidebar: None,
    }
}
