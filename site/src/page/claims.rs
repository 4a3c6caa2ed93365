//! The page of the porting guides' statements, by verdict.

use super::frame::{Page, breadcrumbs};
use super::lesson::on_this_page;
use crate::content::claims::{Claim, Claims, Verdict};
use crate::content::document::{Section, inline, plain};
use crate::{Route, Site};
use leptos::prelude::*;

/// The verdicts in the order of the page, each with its heading's fragment, its heading, and its meaning.
const VERDICTS: [(Verdict, &str, &str, &str); 4] = [
    (
        Verdict::Wrong,
        "wrong",
        "Wrong",
        "Disproved by a measurement or by the project’s own documentation, or no longer true.",
    ),
    (
        Verdict::Depends,
        "depends",
        "It depends",
        "True under conditions that the guide does not state.",
    ),
    (Verdict::Holds, "holds", "Holds", "Confirmed."),
    (
        Verdict::Unmeasured,
        "unmeasured",
        "Not measured",
        "Neither a measurement of ours nor a source with conditions decides it.",
    ),
];

pub(super) fn page(site: &Site, claims: &Claims) -> Page {
    let found = |verdict| {
        claims
            .list
            .iter()
            .filter(move |claim| claim.verdict == verdict)
    };
    let contents = VERDICTS.iter().map(|(verdict, id, title, _)| {
        let href = format!("#{id}");
        let entry = format!("{title} ({})", found(*verdict).count());
        view! { <li><a href=href>{entry}</a></li> }.into_any()
    });
    let contents = on_this_page(contents.collect());
    let sections: Vec<AnyView> = VERDICTS
        .iter()
        .map(|(verdict, id, title, meaning)| {
            let rows: Vec<AnyView> = found(*verdict)
                .map(|claim| row(site, claims, claim))
                .collect();
            view! {
                <h2 id=*id>{*title}</h2>
                <p>{*meaning}</p>
                <table class="stack">
                    <thead>
                        <tr>
                            <th scope="col">"Claim"</th>
                            <th scope="col">"Measured here"</th>
                            <th scope="col">"Evidence"</th>
                            <th scope="col">"Explained in"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            }
            .into_any()
        })
        .collect();
    Page {
        title: claims.title.clone(),
        description: claims.summary.clone(),
        main: view! {
            {breadcrumbs(&[(site.href(&Route::References), "Reference")], &claims.title)}
            <h1>{claims.title.clone()}</h1>
            <p class="lead">{claims.summary.clone()}</p>
            {contents}
            {sections}
        }
        .into_any(),
        sidebar: None,
    }
}

fn row(site: &Site, claims: &Claims, claim: &Claim) -> AnyView {
    let statement = inline(&claim.statement, site.base());
    let guide = claims.guide(claim).map(|guide| {
        view! { <a class="hint" href=guide.url.clone()>{guide.title.clone()}</a> }
    });
    let measured = match claim.measured.as_str() {
        "" => "–".to_owned(),
        measured => inline(measured, site.base()),
    };
    let evidence = match claim.url.as_str() {
        "" => view! { {claim.source.clone()} }.into_any(),
        url => view! { <a href=url.to_owned()>{claim.source.clone()}</a> }.into_any(),
    };
    let lesson = site.content.lesson_at(&claim.lesson).map(|(part, lesson)| {
        let href = site.href(&Route::lesson(part, lesson));
        view! { <a href=href>{plain(&lesson.meta.title)}</a> }
    });
    view! {
        <tr>
            <th scope="row"><span inner_html=statement></span><br />{guide}</th>
            <td data-label="Measured here" inner_html=measured></td>
            <td data-label="Evidence">{evidence}</td>
            <td data-label="Explained in">{lesson}</td>
        </tr>
    }
    .into_any()
}

/// The text of the page by headings, for the search.
pub(super) fn search_sections(claims: &Claims) -> Vec<Section> {
    let sections = VERDICTS.iter().map(|(verdict, id, title, _)| {
        let mut section = Section {
            id: (*id).to_owned(),
            title: (*title).to_owned(),
            text: String::new(),
        };
        for claim in claims.list.iter().filter(|claim| claim.verdict == *verdict) {
            section.push(&plain(&claim.statement));
            section.push(" ");
        }
        section
    });
    sections.collect()
}
