//! The list of reference tables, and each table's page.

use super::frame::{Page, breadcrumbs};
use crate::content::claims;
use crate::content::document::{Section, inline, plain};
use crate::content::glossary::{self, Glossary, Term};
use crate::content::reference::{RULE_COLUMN, Reference};
use crate::{Route, Site};
use leptos::prelude::*;

/// Columns of the pages of commands: code, text with code, and a list of options.
const COMMAND_COLUMN: &str = "Command";
const ABOUT_COLUMN: &str = "What it does";
const OPTIONS_COLUMN: &str = "Options";

pub(super) fn index(site: &Site) -> Page {
    let glossary = site.content.glossary.iter();
    let glossary = glossary.map(|glossary| (glossary::SLUG, &glossary.title, &glossary.summary));
    let claims = site.content.claims.iter();
    let claims = claims.map(|claims| (claims::SLUG, &claims.title, &claims.summary));
    let tables = site.content.references.iter();
    let tables = tables.map(|table| (table.slug.as_str(), &table.title, &table.summary));
    let entries: Vec<AnyView> = glossary
        .chain(claims)
        .chain(tables)
        .map(|(slug, title, summary)| {
            let href = site.href(&Route::Reference(slug.to_owned()));
            view! {
                <li>
                    <a href=href>{title.clone()}</a>
                    <p>{summary.clone()}</p>
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
            <p class="lead">"Tables to look things up in while porting."</p>
            <ul class="references">{entries}</ul>
        }
        .into_any(),
        sidebar: None,
    }
}

pub(super) fn page(site: &Site, slug: &str) -> Option<Page> {
    if slug == glossary::SLUG {
        return Some(glossary_page(site, site.content.glossary.as_ref()?));
    }
    if slug == claims::SLUG {
        return Some(super::claims::page(site, site.content.claims.as_ref()?));
    }
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
            {breadcrumbs(&[(site.href(&Route::References), "Reference")], &table.title)}
            <h1>{table.title.clone()}</h1>
            <p class="lead">{table.summary.clone()}</p>
            <div class="scroll" tabindex="0" role="group" aria-label=table.title.clone()>
                <table class="stack">
                    <thead><tr>{head}</tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {(!sources.is_empty()).then(|| view! { <h2>"Sources"</h2><ul>{sources}</ul> })}
        }
        .into_any(),
        sidebar: None,
    })
}

fn glossary_page(site: &Site, glossary: &Glossary) -> Page {
    let terms: Vec<AnyView> = glossary
        .terms
        .iter()
        .map(|term| entry(site, term))
        .collect();
    Page {
        title: glossary.title.clone(),
        description: glossary.summary.clone(),
        main: view! {
            {breadcrumbs(&[(site.href(&Route::References), "Reference")], &glossary.title)}
            <h1>{glossary.title.clone()}</h1>
            <p class="lead">{glossary.summary.clone()}</p>
            <dl class="glossary">{terms}</dl>
        }
        .into_any(),
        sidebar: None,
    }
}

fn entry(site: &Site, term: &Term) -> AnyView {
    let also = (!term.also.is_empty()).then(|| format!(" ({})", term.also.join(", ")));
    let cuda = term
        .cuda
        .as_ref()
        .map(|word| view! { <p class="hint">"On NVIDIA: "{word.clone()}</p> });
    let more = term.link.as_ref().map(|link| {
        let href = match link.strip_prefix('/') {
            Some(_) => site.below(link),
            None => link.clone(),
        };
        view! { " "<a href=href>{format!("More about {}", term.term)}</a> }
    });
    view! {
        <div id=term.id()>
            <dt>{term.term.clone()}{also}</dt>
            <dd>
                <p><span inner_html=inline(&term.definition, site.base())></span>{more}</p>
                {cuda}
            </dd>
        </div>
    }
    .into_any()
}

/// The text of a table or of the glossary, for the search. Each term is a section.
pub(super) fn search_sections(site: &Site, slug: &str) -> Vec<Section> {
    if slug == glossary::SLUG {
        let terms = site.content.glossary.iter();
        return terms
            .flat_map(|glossary| &glossary.terms)
            .map(|term| {
                let mut section = Section {
                    id: term.id(),
                    title: term.term.clone(),
                    text: String::new(),
                };
                section.push(&term.also.join(" "));
                section.push(" ");
                section.push(&plain(&term.definition));
                section.push(" ");
                section.push(term.cuda.as_deref().unwrap_or_default());
                section
            })
            .collect();
    }
    if slug == claims::SLUG {
        let claims = site.content.claims.iter();
        return claims.flat_map(super::claims::search_sections).collect();
    }
    let mut section = Section::default();
    let table = site.content.reference(slug);
    let cells = table.iter().flat_map(|table| table.rows.iter().flatten());
    let sources = table.iter().flat_map(|table| &table.sources);
    for text in cells.chain(sources.map(|source| &source.name)) {
        section.push(text);
        section.push(" ");
    }
    vec![section]
}

/// A line for each option: `--fix: Write safe fixes into the files`.
fn options(text: &str) -> AnyView {
    let lines: Vec<AnyView> = text
        .lines()
        .map(|line| match line.split_once(": ") {
            Some((name, about)) => {
                view! { <li><code>{name.to_owned()}</code>" "{about.to_owned()}</li> }.into_any()
            }
            None => view! { <li><code>{line.to_owned()}</code></li> }.into_any(),
        })
        .collect();
    view! { <ul class="options">{lines}</ul> }.into_any()
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
            } else if index == 0 && column == COMMAND_COLUMN {
                view! { <th scope="row"><code>{text}</code></th> }.into_any()
            } else if index == 0 {
                view! { <th scope="row">{text}</th> }.into_any()
            } else if column == ABOUT_COLUMN {
                view! { <td data-label=label inner_html=inline(&text, site.base())></td> }
                    .into_any()
            } else if column == OPTIONS_COLUMN {
                view! { <td data-label=label>{options(&text)}</td> }.into_any()
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
