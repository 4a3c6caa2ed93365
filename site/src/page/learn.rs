//! The course as one page: its parts and lessons in order. The home page shows the same list.

use super::frame::Page;
use crate::content::document::{inline, plain};
use crate::{Route, Site};
use leptos::prelude::*;

pub(super) fn page(site: &Site) -> Page {
    let minutes: u32 = site
        .content
        .lessons()
        .map(|(_, lesson)| lesson.meta.minutes)
        .sum();
    let count = site.content.lessons().count();
    let main = view! {
        <h1>"Learn"</h1>
        <p class="lead">
            "The lessons follow the order of the work: port, baseline, optimize, re-benchmark. "
            {count}" lessons, about "{minutes}" minutes of reading."
        </p>
        // Filled by js/progress.js.
        <p class="progress" data-progress hidden></p>
        {parts(site)}
    };
    Page {
        title: "Learn".to_owned(),
        description: "Every lesson on porting PyTorch code to ROCm, in the order of the work."
            .to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

/// Every part with its lessons. Each lesson names itself in `data-lesson`, so that a script can mark it as read.
pub(super) fn parts(site: &Site) -> AnyView {
    let parts: Vec<AnyView> = site
        .content
        .parts
        .iter()
        .map(|part| {
            let lessons: Vec<AnyView> = part
                .lessons
                .iter()
                .map(|lesson| {
                    let route = Route::lesson(part, lesson);
                    view! {
                        <li data-lesson=part.address(lesson)>
                            <a href=site.href(&route)>{plain(&lesson.meta.title)}</a>
                            " "
                            <span class="hint">{lesson.meta.minutes}" min"</span>
                            <p inner_html=inline(&lesson.meta.summary, site.base())></p>
                        </li>
                    }
                    .into_any()
                })
                .collect();
            view! {
                <li id=part.slug.clone()>
                    <h3>{part.title.clone()}</h3>
                    <p>{part.summary.clone()}</p>
                    <ol>{lessons}</ol>
                </li>
            }
            .into_any()
        })
        .collect();
    view! {
        <section aria-labelledby="all-lessons">
            <h2 id="all-lessons">"Lessons"</h2>
            <ol class="parts" role="list">{parts}</ol>
        </section>
    }
    .into_any()
}
