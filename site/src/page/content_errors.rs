//! The page that `hipward serve --content` shows instead of a lesson or table with errors.

use super::frame::Page;
use crate::ContentError;
use crate::content::document::inline;
use leptos::prelude::*;

pub(super) fn page(own: &[&ContentError], others: &[&ContentError]) -> Page {
    let count = match own.len() {
        1 => "1 error".to_owned(),
        count => format!("{count} errors"),
    };
    let others = (!others.is_empty()).then(|| {
        view! {
            <h2>"Errors of other pages"</h2>
            {list(others)}
        }
    });
    Page {
        title: format!("{count} in the content of this page"),
        description: "This page has errors in its content.".to_owned(),
        main: view! {
            <h1>{count}" in the content of this page"</h1>
            <p class="lead">"All other pages are served. This page reloads when a file is saved."</p>
            {list(own)}
            {others}
        }
        .into_any(),
        sidebar: None,
    }
}

fn list(errors: &[&ContentError]) -> AnyView {
    let items: Vec<_> = errors
        .iter()
        .map(|error| {
            view! {
                <li>
                    <code>{format!("{}:{}", error.file, error.line)}</code>
                    " "
                    <span inner_html=inline(&error.mistake.to_string(), "/")></span>
                </li>
            }
        })
        .collect();
    view! { <ul class="content-errors">{items}</ul> }.into_any()
}
