//! The list of rules and each rule's page, made of the rule's own doc comment.

use super::blocks;
use super::frame::{Page, breadcrumbs};
use super::lesson::{Neighbour, contents, in_order, on_this_page};
use crate::content::document::{Section, ascii_slug, inline, plain};
use crate::site::RulePage;
use crate::{Route, Site};
use hipward_analyzer::{Applicability, Language, RuleMeta, Severity, TeamRule};
use leptos::prelude::*;

pub(super) fn index(site: &Site) -> Page {
    // A family's ids need not follow one another, so its rules may lie apart in the table.
    let mut families: Vec<(&'static str, Vec<&RulePage>)> = Vec::new();
    for rule in &site.rules {
        let family = rule.meta.family.title();
        match families.iter_mut().find(|(title, _)| *title == family) {
            Some((_, rules)) => rules.push(rule),
            None => families.push((family, vec![rule])),
        }
    }
    let entries = families
        .iter()
        .map(|(family, rules)| {
            view! { <li><a href=format!("#{}", ascii_slug(family))>{*family}</a>" "<span class="hint">{rules.len()}</span></li> }
                .into_any()
        })
        .collect();
    let sections: Vec<AnyView> = families
        .into_iter()
        .map(|(family, rules)| {
            let rows = rules.into_iter().map(|rule| row(site, rule)).collect();
            table(family, rows)
        })
        .collect();
    let team = site.team_rules.as_ref().map(|team| {
        let rows = team.iter().map(|rule| team_row(site, rule)).collect();
        table("Your team’s own", rows)
    });
    Page {
        title: "Rules".to_owned(),
        description: "What Hipward looks for in PyTorch code that is to run on ROCm, and why."
            .to_owned(),
        main: view! {
            <h1>"Rules"</h1>
            <p class="lead">
                "What the analyzer looks for, why it matters on ROCm, and what to write instead. Silence one with a comment: "
                <code>"# hipward: ignore[rule-name]"</code>"."
            </p>
            {on_this_page(entries)}
            // Wired up by js/rule-filter.js.
            <p class="needs-js">
                <label>
                    "Show rules with "
                    <input type="search" data-rule-filter placeholder="flash, env, CMake …" />
                </label>
                " "
                <span class="hint" role="status" data-rule-count></span>
            </p>
            {team}
            {sections}
        }
        .into_any(),
        sidebar: None,
    }
}

fn table(title: &'static str, rows: Vec<AnyView>) -> AnyView {
    view! {
        <section data-rules>
            <h2 id=ascii_slug(title)>{title}</h2>
            <div class="scroll" tabindex="0" role="group" aria-label=title>
                <table class="rules">
                    <thead>
                        <tr>
                            <th scope="col">"Id"</th>
                            <th scope="col">"Rule"</th>
                            <th scope="col">"What it finds"</th>
                            <th scope="col">"Severity"</th>
                            <th scope="col">"Fix"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

/// A team explains its rules elsewhere, if anywhere.
fn team_row(site: &Site, rule: &TeamRule) -> AnyView {
    let name = rule.name.clone();
    let name = match &rule.link {
        Some(link) => view! { <a href=link.clone()>{name}</a> }.into_any(),
        None => name.into_any(),
    };
    view! {
        <tr>
            <td>{rule.id.clone()}</td>
            <th scope="row">{name}</th>
            <td inner_html=inline(&rule.message, site.base())></td>
            <td>{severity(rule.severity)}</td>
            <td>{rule.applicability().map(applicability)}</td>
        </tr>
    }
    .into_any()
}

fn row(site: &Site, rule: &RulePage) -> AnyView {
    let meta = rule.meta;
    view! {
        <tr>
            <td>{meta.id}</td>
            <th scope="row"><a href=site.href(&Route::Rule(meta.name.to_owned()))>{meta.name}</a></th>
            <td inner_html=inline(meta.title, site.base())></td>
            <td>{severity(meta.severity)}</td>
            <td>{applicability(meta.applicability)}</td>
        </tr>
    }
    .into_any()
}

pub(super) fn page(site: &Site, name: &str) -> Option<Page> {
    let rule = site.rule(name)?;
    let meta = rule.meta;
    let example = rule
        .doc
        .blocks()
        .find_map(|code| Some((code, Language::of_name(&code.language)?)))
        .map(|(code, language)| {
            let href = blocks::playground_href_in(site, &code.source, language, None);
            view! { <p><a class="button primary" href=href>"Open the example in the playground"</a></p> }
        });
    let lesson = meta
        .lesson
        .and_then(|reference| site.content.lesson_at(reference))
        .map(|(part, lesson)| {
            let route = Route::lesson(part, lesson);
            view! {
                <div><dt>"Lesson"</dt><dd><a href=site.href(&route)>{plain(&lesson.meta.title)}</a></dd></div>
            }
        });
    let main = view! {
        <article class="rule">
            {breadcrumbs(&[(site.href(&Route::Rules), "Rules"), (format!("{}#{}", site.href(&Route::Rules), ascii_slug(meta.family.title())), meta.family.title())], meta.name)}
            <h1>{meta.name}" "<small>{meta.id}</small></h1>
            <p class="lead" inner_html=inline(meta.title, site.base())></p>
            <dl class="facts">
                <div><dt>"Severity"</dt>{severities(meta)}</div>
                <div><dt>"Fix"</dt><dd>{applicability(meta.applicability)}</dd></div>
                <div><dt>"Applies to"</dt><dd>{meta.targets}</dd></div>
                {lesson}
            </dl>
            {contents(&rule.doc.headings)}
            <div class="prose" inner_html=rule.doc.html(site.base(), blocks::code)></div>
            {example}
            {neighbours(site, rule)}
        </article>
    };
    Some(Page {
        title: format!("{} ({})", meta.name, meta.id),
        description: plain(meta.title),
        main: main.into_any(),
        sidebar: None,
    })
}

/// The text of a rule by headings, for the search: without the references, which are titles of other sites.
pub(super) fn search_sections(rule: &RulePage) -> Vec<Section> {
    let mut title = Section::default();
    title.push(&plain(rule.meta.title));
    let mut sections = vec![title];
    let own = rule.doc.sections(|_| String::new());
    sections.extend(
        own.into_iter()
            .filter(|section| section.title != "References"),
    );
    sections
}

/// The rules before and after this one, in the order of the list.
fn neighbours(site: &Site, rule: &RulePage) -> impl IntoView {
    let at = site
        .rules
        .iter()
        .position(|other| other.meta.name == rule.meta.name)
        .unwrap_or_default();
    let neighbour = |rule: &RulePage| Neighbour {
        href: site.href(&Route::Rule(rule.meta.name.to_owned())),
        title: rule.meta.name.to_owned(),
    };
    in_order(
        "Rules in order",
        at.checked_sub(1)
            .and_then(|at| site.rules.get(at))
            .map(neighbour),
        site.rules.get(at + 1).map(neighbour),
    )
}

/// The usual severity, then the others with the findings that have them.
fn severities(rule: &RuleMeta) -> AnyView {
    rule.severities()
        .into_iter()
        .map(|(of, when)| match when {
            "" => view! { <dd>{severity(of)}</dd> }.into_any(),
            when => view! { <dd>{severity(of)}", "{when}</dd> }.into_any(),
        })
        .collect_view()
        .into_any()
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error: will not run",
        Severity::Warning => "Warning: runs wrong or slow",
        Severity::Advice => "Advice: performance",
        Severity::Info => "Info: good to know",
    }
}

fn applicability(applicability: Applicability) -> &'static str {
    match applicability {
        Applicability::Safe => "Safe: keeps behaviour",
        Applicability::Unsafe => "Look first: behaviour may change",
        Applicability::DisplayOnly => "Described, for you to do",
    }
}
