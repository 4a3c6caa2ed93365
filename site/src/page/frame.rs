//! The frame of all pages: head, header, footer and the addresses of scripts.

use crate::content::glossary;
use crate::{CONTENT_CHANGES, PublicSite, Route, Site};
use leptos::prelude::*;

/// The policy that pages are served with. Scripts are the site's own files and the one inline
/// script below, by its hash; styles may be inline because the editor makes its own.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; \
    script-src 'self' 'wasm-unsafe-eval' 'sha256-lxHWtAryd1ijmQvmTtxfl0c150ytziQ9/ZBtuGfvQ1A='; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
    worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The page of a server on which a reader signs in.
const SIGN_IN: &str = "sign-in";
/// Runs before the first paint, so that a chosen theme does not flash.
const THEME_SCRIPT: &str = include_str!("../../js/theme.js");

/// The parts of one page.
pub(super) struct Page {
    /// Plain text, without the site's name.
    pub(super) title: String,
    /// Plain text.
    pub(super) description: String,
    /// Content of `<main>`, with the page's only `<h1>`.
    pub(super) main: AnyView,
    /// Beside `<main>`: the lessons, or nothing.
    pub(super) sidebar: Option<AnyView>,
}

/// The way to a page: the pages above it, each with its address and title, and its own title.
pub(super) fn breadcrumbs(above: &[(String, &str)], title: &str) -> AnyView {
    let links: Vec<AnyView> = above
        .iter()
        .map(|(href, title)| {
            view! { <li><a href=href.clone()>{(*title).to_owned()}</a></li> }.into_any()
        })
        .collect();
    view! {
        <nav aria-label="Breadcrumbs">
            <ol class="breadcrumbs" role="list">
                {links}
                <li aria-current="page">{title.to_owned()}</li>
            </ol>
        </nav>
    }
    .into_any()
}

/// The whole document.
pub(super) fn html(site: &Site, route: &Route, page: Page) -> String {
    let title = match route {
        Route::Home => page.title,
        _ => format!("{} · Hipward", page.title),
    };
    let layout = if page.sidebar.is_some() {
        "layout with-sidebar"
    } else {
        "layout"
    };
    let menu = page.sidebar.is_some().then(|| {
        view! {
            <button type="button" class="menu" popovertarget="lessons">
                "Lessons"
            </button>
        }
    });
    // A list of strings always serializes.
    let runners = (!site.runners.is_empty())
        .then(|| serde_json::to_string(&site.runners).unwrap_or_default());
    let document = view! {
        <html lang="en" data-base=site.base().to_owned() data-runners=runners>
            <head>
                <meta charset="utf-8" />
                <title>{title}</title>
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="description" content=page.description />
                {site.public_address(route).map(|href| view! { <link rel="canonical" href=href /> })}
                <meta name="color-scheme" content="light dark" />
                <script inner_html=THEME_SCRIPT></script>
                {site.asset("favicon.svg").map(|href| view! { <link rel="icon" type="image/svg+xml" href=href /> })}
                {site.asset("site.css").map(|href| view! { <link rel="stylesheet" href=href /> })}
                <script type="application/json" id="hipward-assets" inner_html=site.script_assets()></script>
                {scripts(route)
                    .iter()
                    .filter_map(|name| site.asset(name))
                    .map(|src| view! { <script type="module" src=src></script> })
                    .collect_view()}
                {site
                    .content_version
                    .map(|version| {
                        let src = site.below(&format!("{CONTENT_CHANGES}.js"));
                        view! { <script defer src=src data-version=version.to_string()></script> }
                    })}
            </head>
            <body>
                <a class="skip" href="#main">"Skip to the content"</a>
                <header class="top">
                    {menu}
                    <a class="brand" href=site.base().to_owned()>{mark()}<span class="name">"Hipward"</span></a>
                    <div id="site-menu" class="site-menu" popover>
                        <nav aria-label="Site">
                            <ul role="list">{navigation(site, route)}</ul>
                        </nav>
                        {site
                            .signs_in
                            .then(|| {
                                let href = site.below(SIGN_IN);
                                view! { <a class="sign-in" href=href data-sign-in>"Sign in"</a> }
                            })}
                        <button type="button" class="theme needs-js" data-theme-toggle>
                            <span>"Theme: "</span>
                            <span data-theme-name>"auto"</span>
                        </button>
                    </div>
                    <button
                        type="button"
                        class="search needs-js"
                        data-search
                        aria-haspopup="dialog"
                        aria-keyshortcuts="/"
                    >
                        "Search "
                        <kbd aria-hidden="true">"/"</kbd>
                    </button>
                    <button type="button" class="menu" popovertarget="site-menu">
                        "Menu"
                    </button>
                </header>
                <div class=layout>
                    {page.sidebar}
                    <main id="main" tabindex="-1">{page.main}</main>
                </div>
                <footer class="bottom">
                    <div>
                        <p>
                            "Hipward "{env!("CARGO_PKG_VERSION")}
                            ", open source under MIT or Apache-2.0. Each number on this site states its device, versions and conditions."
                        </p>
                        <ul role="list">{footer_links(site)}</ul>
                    </div>
                </footer>
            </body>
        </html>
    };
    format!("<!DOCTYPE html>{}", document.to_html())
}

/// The scripts of a page.
fn scripts(route: &Route) -> &'static [&'static str] {
    match route {
        Route::Playground
        | Route::Isa
        | Route::Benchmark
        | Route::Jobs
        | Route::Approvals
        | Route::Compare
        | Route::History
        | Route::RemoteJob
        | Route::Job(_) => &["boot.js", "interactive.js"],
        _ => &["boot.js"],
    }
}

/// The mark: an H whose right leg is an arrow, as in the icon.
fn mark() -> impl IntoView {
    view! {
        <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
            <rect width="32" height="32" rx="7"></rect>
            <path d="M9 7v18M9 16h9M18 7v9l6 9"></path>
        </svg>
    }
}

fn footer_links(site: &Site) -> Vec<AnyView> {
    let mut links = vec![
        (site.href(&Route::Learn), "Learn"),
        (site.href(&Route::Rules), "Rules"),
        (site.href(&Route::Models), "Measurements"),
        (site.href(&Route::References), "Reference"),
    ];
    if site.content.glossary.is_some() {
        let glossary = Route::Reference(glossary::SLUG.to_owned());
        links.push((site.href(&glossary), "Glossary"));
    }
    let PublicSite {
        source, feedback, ..
    } = &site.public;
    let own = [(source, "Source"), (feedback, "Questions and corrections")];
    links.extend(
        own.into_iter()
            .filter_map(|(href, label)| Some((href.clone()?, label))),
    );
    links
        .into_iter()
        .map(|(href, label)| view! { <li><a href=href>{label}</a></li> }.into_any())
        .collect()
}

fn navigation(site: &Site, route: &Route) -> Vec<AnyView> {
    // A team's content may have no lessons.
    let learn = site.first_lesson().map(|_| Route::Learn);
    let entries = [
        (
            learn,
            "Learn",
            matches!(
                route,
                Route::Learn | Route::ReadingPath(_) | Route::Lesson { .. }
            ),
        ),
        (
            Some(Route::Playground),
            "Playground",
            *route == Route::Playground,
        ),
        (
            Some(Route::Benchmark),
            "Benchmark",
            matches!(
                route,
                Route::Benchmark
                    | Route::Jobs
                    | Route::Approvals
                    | Route::Fleet
                    | Route::Compare
                    | Route::History
                    | Route::RemoteJob
                    | Route::Job(_)
            ),
        ),
        (
            Some(Route::Rules),
            "Rules",
            matches!(route, Route::Rules | Route::Rule(_)),
        ),
        (
            Some(Route::Ops),
            "Ops",
            matches!(route, Route::Ops | Route::Op(_) | Route::Models),
        ),
        (Some(Route::Isa), "ISA", *route == Route::Isa),
        (
            Some(Route::References),
            "Reference",
            matches!(route, Route::References | Route::Reference(_)),
        ),
    ];
    entries
        .into_iter()
        .filter_map(|(target, label, here)| {
            let target = target?;
            let current = here.then_some(if target == *route { "page" } else { "true" });
            Some(
                view! {
                    <li>
                        <a href=site.href(&target) aria-current=current>{label}</a>
                    </li>
                }
                .into_any(),
            )
        })
        .collect()
}
