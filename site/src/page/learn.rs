//! The course as one page: its parts and lessons in order, by kind; and the reading paths through it. The home page shows
//! the parts of the tutorial.

use super::frame::{Page, breadcrumbs};
use crate::content::document::{inline, plain};
use crate::content::{Kind, Lesson, Part, ReadingPath};
use crate::{Route, Site};
use leptos::prelude::*;

pub(super) fn page(site: &Site) -> Page {
    let minutes: u32 = site
        .content
        .lessons()
        .map(|(_, lesson)| lesson.meta.minutes)
        .sum();
    let count = site.content.lessons().count();
    let groups: Vec<AnyView> = Kind::ALL
        .into_iter()
        .filter_map(|kind| group(site, kind))
        .collect();
    let main = view! {
        <h1>"Learn"</h1>
        <p class="lead">
            "The lessons follow the order of the work: port, baseline, optimize, re\u{2011}benchmark. "
            {count}" pages, about "{duration(minutes)}" of reading."
        </p>
        // Filled by js/progress.js.
        <p class="progress" data-progress hidden></p>
        {paths(site)}
        {groups}
    };
    Page {
        title: "Learn".to_owned(),
        description: "Every lesson on porting PyTorch code to ROCm, in the order of the work."
            .to_owned(),
        main: main.into_any(),
        sidebar: None,
    }
}

/// `40 minutes`, or `3 hours`.
fn duration(minutes: u32) -> String {
    if minutes < 120 {
        format!("{minutes} minutes")
    } else {
        format!("{} hours", (minutes + 30) / 60)
    }
}

/// The reading paths that have pages, and the filter by path, which js/path-filter.js applies and stores.
fn paths(site: &Site) -> Option<AnyView> {
    let paths: Vec<ReadingPath> = ReadingPath::ALL
        .into_iter()
        .filter(|path| site.content.is_on(*path))
        .collect();
    if paths.is_empty() {
        return None;
    }
    let links: Vec<AnyView> = paths
        .iter()
        .map(|path| {
            view! {
                <li>
                    <h3><a href=site.href(&Route::ReadingPath(*path))>{path.title()}</a></h3>
                    <p>{path.summary()}</p>
                </li>
            }
            .into_any()
        })
        .collect();
    let options: Vec<AnyView> = paths
        .iter()
        .map(|path| view! { <option value=path.slug()>{path.title()}</option> }.into_any())
        .collect();
    Some(
        view! {
            <section aria-labelledby="paths">
                <h2 id="paths">"Reading paths"</h2>
                <ul class="doors" role="list">{links}</ul>
                <p class="needs-js">
                    <label>
                        "Show the pages for "
                        <select data-path-filter>
                            <option value="">"everyone"</option>
                            {options}
                        </select>
                    </label>
                </p>
            </section>
        }
        .into_any(),
    )
}

/// The pages of one reading path, in order.
pub(super) fn path(site: &Site, path: ReadingPath) -> Page {
    let on_path: Vec<(&Part, &Lesson)> = site
        .content
        .lessons()
        .filter(|(_, lesson)| lesson.meta.paths.contains(&path))
        .collect();
    let minutes: u32 = on_path.iter().map(|(_, lesson)| lesson.meta.minutes).sum();
    let count = on_path.len();
    let entries: Vec<AnyView> = on_path
        .into_iter()
        .map(|(part, lesson)| entry(site, part, lesson, None))
        .collect();
    Page {
        title: format!("Reading path: {}", path.title()),
        description: path.summary().to_owned(),
        main: view! {
            {breadcrumbs(&[(site.href(&Route::Learn), "Learn")], path.title())}
            <h1>"Reading path: "{path.title()}</h1>
            <p class="lead">{path.summary()}</p>
            <p>{count}" pages, about "{duration(minutes)}" of reading."</p>
            // Filled by js/progress.js.
            <p class="progress" data-progress hidden></p>
            <ol class="parts">{entries}</ol>
        }
        .into_any(),
        sidebar: None,
    }
}

/// The parts of one kind with their lessons.
fn group(site: &Site, kind: Kind) -> Option<AnyView> {
    let parts = site.content.parts.iter().filter(|part| part.kind == kind);
    // The parts of the tutorial have numbers, as on the home page.
    let parts: Vec<AnyView> = parts
        .enumerate()
        .map(|(at, part)| with_lessons(site, part, (kind == Kind::Tutorial).then_some(at)))
        .collect();
    (!parts.is_empty()).then(|| {
        let id = format!("kind-{}", kind.id());
        view! {
            <section aria-labelledby=id.clone() data-kind=kind.id()>
                <h2 id=id.clone()>{kind.group()}</h2>
                <p>{kind.summary()}</p>
                <ol class="parts" role="list">{parts}</ol>
            </section>
        }
        .into_any()
    })
}

fn with_lessons(site: &Site, part: &Part, number: Option<usize>) -> AnyView {
    let lessons: Vec<AnyView> = (1..)
        .zip(&part.lessons)
        .map(|(at, lesson)| {
            let number = number.map(|part| format!("{part}.{at}"));
            entry(site, part, lesson, number)
        })
        .collect();
    view! {
        <li id=part.slug.clone()>
            <h3>
                {number.map(|number| view! { <span class="ordinal">{number}" "</span> })}
                {part.title.clone()}
            </h3>
            <p>{part.summary.clone()}</p>
            <ol role="list">{lessons}</ol>
        </li>
    }
    .into_any()
}

/// A lesson. It names itself in `data-lesson`, so that scripts can mark it as read, and its reading paths in `data-paths`.
fn entry(site: &Site, part: &Part, lesson: &Lesson, number: Option<String>) -> AnyView {
    let route = Route::lesson(part, lesson);
    let paths: Vec<&str> = lesson.meta.paths.iter().map(|path| path.slug()).collect();
    view! {
        <li data-lesson=part.address(lesson) data-paths=paths.join(" ")>
            {number.map(|number| view! { <span class="ordinal">{number}" "</span> })}
            <a href=site.href(&route)>{plain(&lesson.meta.title)}</a>
            " "
            <span class="hint">{lesson.meta.minutes}" min"</span>
            <p inner_html=inline(&lesson.meta.summary, site.base())></p>
        </li>
    }
    .into_any()
}

/// The parts of the tutorial without their lessons, for the home page.
pub(super) fn parts(site: &Site) -> AnyView {
    let tutorial = site.content.parts.iter();
    let parts: Vec<AnyView> = tutorial
        .filter(|part| part.kind == Kind::Tutorial)
        .map(|part| {
            let minutes: u32 = part.lessons.iter().map(|lesson| lesson.meta.minutes).sum();
            let pages = match part.lessons.len() {
                1 => "1 page".to_owned(),
                count => format!("{count} pages"),
            };
            let href = format!("{}#{}", site.href(&Route::Learn), part.slug);
            view! {
                <li>
                    <h3><a href=href>{part.title.clone()}</a></h3>
                    <p>{part.summary.clone()}</p>
                    <p class="hint">{pages}", "{duration(minutes)}</p>
                </li>
            }
            .into_any()
        })
        .collect();
    view! {
        <section aria-labelledby="all-lessons">
            <h2 id="all-lessons">"The course, in the order of the work"</h2>
            <ol class="workflow" role="list">{parts}</ol>
        </section>
    }
    .into_any()
}
