//! The list of reference tables, and each table's page.

use super::frame::Page;
use crate::content::reference::{RULE_COLUMN, Reference};
use crate::{Route, Site};
use leptos::prelude::*;

pub(super) fn index(site: &Site) -> Page {
    let entries: Vec<AnyView> = site
        .content
        .references
        .iter()
        .map(|table| {
            let href = site.href(&Route::Reference(table.slug.clone()));
            view! {
                <li>
                    <a href=href>{table.title.clone()}</a>
                    <p>{table.summary.clone()}</p>
                </li>
            }
            .into_any()
        })
        .collect();
    Page {
        title: "Reference".to_owned(),
        description: "Tables to look things up in while porting to ROCm, with their sources."
            .to_owned(),
        main: view! {
            <h1>"Reference"</h1>
            <p class="lead">"Tables to look things up in while porting. Each names its sources."</p>
            <ul class="references">{entries}</ul>
        }
        .into_any(),
        sidebar: None,
    }
}

pub(super) fn page(site: &Site, slug: &str) -> Option<Page> {
    let table = site.content.reference(slug)?;
    let head: Vec<AnyView> = table
        .columns
        .iter()
        .map(|column| view! { <th scope="col">{column.clone()}</th> }.into_any())
        .collect();
    let rows: Vec<AnyView> = table
        .rows
        .iter()
        .map(|row| cells(site, table, row))
        .collect();
    let sources: Vec<AnyView> = table
        .sources
        .iter()
        .map(|source| {
            view! { <li><a href=source.url.clone()>{source.name.clone()}</a></li> }.into_any()
        })
        .collect();
    Some(Page {
        title: table.title.clone(),
        description: table.summary.clone(),
        main: view! {
            <nav aria-label="Breadcrumbs">
                <ol class="breadcrumbs" role="list">
                    <li><a href=site.href(&Route::References)>"Reference"</a></li>
                    <li aria-current="page">{table.title.clone()}</li>
                </ol>
            </nav>
            <h1>{table.title.clone()}</h1>
            <p class="lead">{table.summary.clone()}</p>
            <div class="scroll" tabindex="0" role="group" aria-label=table.title.clone()>
                <table class="stack">
                    <thead><tr>{head}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            <h2>"Sources"</h2>
            <ul>{sources}</ul>
        }
        .into_any(),
        sidebar: None,
    })
}

/// The first cell names the row.
fn cells(site: &Site, table: &Reference, row: &[String]) -> AnyView {
    let cells: Vec<AnyView> = table
        .columns
        .iter()
        .zip(row)
        .enumerate()
        .map(|(index, (column, cell))| {
            let text = cell.clone();
            let label = column.clone();
            if text.is_empty() {
                // Nothing inside, not even a space: on a narrow screen such a cell is left out.
                view! { <td data-label=label></td> }.into_any()
            } else if index == 0 {
                view! { <th scope="row">{text}</th> }.into_any()
            } else if column == RULE_COLUMN && site.rule(cell).is_some() {
                let href = site.href(&Route::Rule(text.clone()));
                view! { <td data-label=label><a href=href>{text}</a></td> }.into_any()
            } else {
                view! { <td data-label=label>{text}</td> }.into_any()
            }
        })
        .collect();
    view! { <tr>{cells}</tr> }.into_any()
}
