//! A lesson's page and the list of lessons beside it.

use super::blocks;
use super::frame::{Page, breadcrumbs};
use crate::content::document::{Heading, Section, inline, plain};
use crate::content::{Kind, Lesson, Part};
use crate::downloads::{archive_href, file_href};
use crate::{Route, Site};
use leptos::prelude::*;

pub(super) fn page(site: &Site, part: &str, lesson: &str) -> Option<Page> {
    let (part, lesson) = site.content.lesson(part, lesson)?;
    let meta = &lesson.meta;
    let body = lesson
        .body
        .html(site.base(), |block| blocks::html(site, part, lesson, block));
    let main = view! {
        <article class="lesson" data-lesson=part.address(lesson)>
            {breadcrumbs(&[(site.href(&Route::Learn), "Learn"), (format!("{}#{}", site.href(&Route::Learn), part.slug), &part.title)], &plain(&meta.title))}
            <h1 inner_html=inline(&meta.title, site.base())></h1>
            <p class="lead" inner_html=inline(&meta.summary, site.base())></p>
            {facts(site, part, lesson)}
            {contents(&lesson.body.headings)}
            <div class="prose" inner_html=body></div>
            {files(site, part, lesson)}
            {neighbours(site, part, lesson)}
        </article>
    };
    Some(Page {
        title: plain(&meta.title),
        description: plain(&meta.summary),
        main: main.into_any(),
        sidebar: Some(sidebar(site, Some(lesson))),
    })
}

fn href(site: &Site, part: &Part, lesson: &Lesson) -> String {
    site.href(&Route::lesson(part, lesson))
}

/// Goal, time, kind, prerequisites, versions.
fn facts(site: &Site, part: &Part, lesson: &Lesson) -> impl IntoView {
    let meta = &lesson.meta;
    let before: Vec<AnyView> = meta
        .prerequisites
        .iter()
        .filter_map(|reference| site.content.lesson_at(reference))
        .map(|(part, lesson)| {
            view! { <li><a href=href(site, part, lesson)>{plain(&lesson.meta.title)}</a></li> }
                .into_any()
        })
        .collect();
    let before = (!before.is_empty())
        .then(|| view! { <div><dt>"Read before"</dt><dd><ul>{before}</ul></dd></div> });
    let on = match meta.checked_on.as_str() {
        "" => String::new(),
        day => format!(", on {day}"),
    };
    let checked = (!meta.checked.is_empty()).then(|| {
        let versions = meta.checked.join(", ");
        view! { <div><dt>"Checked with"</dt><dd>{versions}{on}</dd></div> }
    });
    view! {
        <dl class="facts">
            <div><dt>"Goal"</dt><dd inner_html=inline(&meta.goal, site.base())></dd></div>
            <div><dt>"Time"</dt><dd>{meta.minutes}" minutes"</dd></div>
            <div><dt>"Kind"</dt><dd>{part.kind.name()}</dd></div>
            {before}
            {checked}
        </dl>
    }
}

/// Links to the files of the page and to an archive of them.
fn files(site: &Site, part: &Part, lesson: &Lesson) -> Option<AnyView> {
    if lesson.files.is_empty() {
        return None;
    }
    let entries: Vec<AnyView> = lesson
        .files
        .iter()
        .map(|(name, _)| {
            let href = file_href(site, part, lesson, name);
            view! { <li><a href=href download>{name.clone()}</a></li> }.into_any()
        })
        .collect();
    let archive = archive_href(site, part, lesson);
    Some(
        view! {
            <details class="files">
                <summary>"Files of this page"</summary>
                <ul>{entries}</ul>
                <p><a href=archive download>"All files (zip)"</a></p>
            </details>
        }
        .into_any(),
    )
}

/// The table of contents of one page; nothing for a short one.
pub(super) fn contents(headings: &[Heading]) -> Option<AnyView> {
    if headings.len() < 3 {
        return None;
    }
    let entries: Vec<AnyView> = headings
        .iter()
        .map(|heading| {
            let class = if heading.level == 3 { "sub" } else { "" };
            view! { <li class=class><a href=format!("#{}", heading.id)>{heading.text.clone()}</a></li> }
                .into_any()
        })
        .collect();
    Some(on_this_page(entries))
}

/// Links to the parts of a page, each a list's item.
pub(super) fn on_this_page(entries: Vec<AnyView>) -> AnyView {
    view! {
        <nav class="contents" aria-labelledby="contents">
            <p id="contents">"On this page"</p>
            <ul>{entries}</ul>
        </nav>
    }
    .into_any()
}

fn neighbours(site: &Site, part: &Part, lesson: &Lesson) -> impl IntoView {
    let lessons = site.content.lessons();
    let all: Vec<(&Part, &Lesson)> = lessons
        .filter(|(other, _)| other.kind == part.kind)
        .collect();
    let at = all
        .iter()
        .position(|(p, l)| p.slug == part.slug && l.slug == lesson.slug)
        .unwrap_or_default();
    let neighbour = |&(part, lesson): &(&Part, &Lesson)| Neighbour {
        href: href(site, part, lesson),
        title: plain(&lesson.meta.title),
    };
    in_order(
        "Lessons in order",
        at.checked_sub(1).and_then(|at| all.get(at)).map(neighbour),
        all.get(at + 1).map(neighbour),
    )
}

/// The page before or after one.
pub(super) struct Neighbour {
    pub(super) href: String,
    pub(super) title: String,
}

/// Links to the pages before and after one, at its end.
pub(super) fn in_order(
    label: &'static str,
    previous: Option<Neighbour>,
    next: Option<Neighbour>,
) -> AnyView {
    let link = |found: Option<Neighbour>, rel: &'static str, word: &'static str| {
        found.map(|Neighbour { href, title }| {
            view! { <a rel=rel class=rel href=href><span>{word}</span>{title}</a> }
        })
    };
    view! {
        <nav class="neighbours" aria-label=label>
            {link(previous, "prev", "Previous")}
            {link(next, "next", "Next")}
        </nav>
    }
    .into_any()
}

/// All lessons, grouped by kind; a drawer on a narrow screen, by the popover attribute and without a script.
pub(super) fn sidebar(site: &Site, current: Option<&Lesson>) -> AnyView {
    let groups: Vec<AnyView> = Kind::ALL
        .into_iter()
        .filter_map(|kind| {
            let parts = site.content.parts.iter().filter(|part| part.kind == kind);
            let parts: Vec<AnyView> = parts.map(|part| entry(site, part, current)).collect();
            let heading =
                (kind != Kind::Tutorial).then(|| view! { <p class="group">{kind.group()}</p> });
            (!parts.is_empty()).then(|| view! { {heading}<ol>{parts}</ol> }.into_any())
        })
        .collect();
    view! {
        <nav id="lessons" class="sidebar" aria-label="Lessons" popover="auto">{groups}</nav>
    }
    .into_any()
}

/// A part with its lessons, unfolded if one of them is the current one.
fn entry(site: &Site, part: &Part, current: Option<&Lesson>) -> AnyView {
    let lessons: Vec<AnyView> = part
        .lessons
        .iter()
        .map(|lesson| {
            let here = current.is_some_and(|current| std::ptr::eq(current, lesson));
            view! {
                <li data-lesson=part.address(lesson)>
                    <a href=href(site, part, lesson) aria-current=here.then_some("page")>
                        {plain(&lesson.meta.title)}
                    </a>
                </li>
            }
            .into_any()
        })
        .collect();
    let is_current = current.is_none_or(|current| {
        let mut lessons = part.lessons.iter();
        lessons.any(|lesson| std::ptr::eq(current, lesson))
    });
    view! {
        <li>
            <details open=is_current>
                <summary class="part" title=plain(&part.summary)>{part.title.clone()}</summary>
                <ol>{lessons}</ol>
            </details>
        </li>
    }
    .into_any()
}

/// The text of a lesson by headings, for the search.
pub(super) fn search_sections(part: &Part, lesson: &Lesson) -> Vec<Section> {
    let meta = &lesson.meta;
    let mut first = Section::default();
    first.push(&plain(&format!(
        "{} {} {} {}",
        part.title, meta.summary, meta.goal, meta.teaches
    )));
    let mut sections = lesson.body.sections(blocks::search_text);
    match sections.first_mut() {
        Some(section) if section.id.is_empty() => {
            first.push(" ");
            first.push(&section.text);
            *section = first;
        }
        _ => sections.insert(0, first),
    }
    sections
}
