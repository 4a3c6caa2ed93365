//! Content in, pages out; and the islands that hydrate in the browser.
//!
//! With the feature `ssr` it renders complete HTML pages as strings, for `hipward serve` and `hipward build` alike
//! ([`render_page`]); it reads no files and opens no sockets. With one of the features `island-isa`, `island-job` and
//! `island-playground` it is the WebAssembly module of that island, so that a page loads only the code of its own. Both sides
//! render the same components.

// The types of views are deep.
#![recursion_limit = "256"]
#![allow(
    unreachable_pub,
    reason = "the macros of components and islands make public items"
)]

#[cfg(any(feature = "ssr", feature = "island-isa"))]
mod isa;
#[cfg(any(feature = "ssr", feature = "island-job"))]
mod job;
#[cfg(any(feature = "ssr", feature = "island-playground"))]
mod playground;

// The module of one island uses a part of what the islands share.
#[cfg_attr(not(feature = "hydrate"), allow(dead_code))]
mod browser;
#[cfg(any(feature = "ssr", feature = "island-isa", feature = "island-playground"))]
mod code_area;
#[cfg(any(feature = "ssr", feature = "island-playground"))]
mod diff;
#[cfg(feature = "ssr")]
mod escape;
#[cfg(any(feature = "ssr", feature = "island-isa", feature = "island-job"))]
#[cfg_attr(not(any(feature = "ssr", feature = "hydrate")), allow(dead_code))]
mod format;
mod inline_code;

#[cfg(feature = "ssr")]
mod content;
#[cfg(feature = "ssr")]
mod downloads;
#[cfg(feature = "ssr")]
mod page;
#[cfg(feature = "ssr")]
mod search;
#[cfg(feature = "ssr")]
mod site;
#[cfg(feature = "ssr")]
mod sitemap;

#[cfg(feature = "ssr")]
pub use content::{Content, ContentError, ContentErrors, Mistake, Ops, ReadingPath};
#[cfg(feature = "ssr")]
pub use job::{
    JobComparison, benchmark_line, benchmark_markdown, benchmark_sentence, benchmark_table,
    benchmark_text,
};
#[cfg(feature = "ssr")]
pub use page::{
    ApprovalPage, CONTENT_SECURITY_POLICY, HistorySubject, JobHistory, JobList, JobPage,
    ListFilter, PageData, duration, render_content_errors, render_page,
};
#[cfg(feature = "ssr")]
pub use search::{SEARCH_INDEX, SEARCH_TEXTS, Search, search};
#[cfg(feature = "ssr")]
pub use site::{
    Assets, AssetsError, CONTENT_CHANGES, OWN_RUNNER, PublicSite, Route, Site, TEAM_RULES,
};

#[cfg(feature = "ssr")]
pub use sitemap::{ROBOTS, SITEMAP};

/// The script of pages whose content folder is watched; see [`Site::with_watched_content`].
#[cfg(feature = "ssr")]
pub const CONTENT_WATCHER: &str = include_str!("../js/content-watcher.js");

/// Prepares a module. js/interactive.js calls it before it hydrates the island of the page.
#[cfg(any(
    feature = "island-isa",
    feature = "island-job",
    feature = "island-playground"
))]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
}
