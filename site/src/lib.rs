//! Content in, pages out; and the islands that hydrate in the browser.
//!
//! Two builds of one crate. With `ssr` it makes complete HTML pages as strings, for
//! `hipward serve` and `hipward build` alike ([`render_page`]); nothing here reads files or
//! listens. With `hydrate` it is the browser module of the islands: playground, live job and machine code.
//! What both sides draw (a job's table, a diff) is one function in `job/` or `diff.rs`.

mod browser;
mod diff;
mod html;
mod isa;
mod job;
mod playground;
mod regions;
mod wire;

#[cfg(feature = "ssr")]
mod content;
#[cfg(feature = "ssr")]
mod page;
#[cfg(feature = "ssr")]
mod search;
#[cfg(feature = "ssr")]
mod site;

#[cfg(feature = "ssr")]
pub use content::{Content, ContentError, ContentErrors, Mistake, Ops};
#[cfg(feature = "ssr")]
pub use job::{
    benchmark_line, benchmark_markdown, benchmark_sentence, benchmark_table, benchmark_text,
};
#[cfg(feature = "ssr")]
pub use page::{CONTENT_SECURITY_POLICY, JobPage, PageData, render_content_errors, render_page};
#[cfg(feature = "ssr")]
pub use search::{SEARCH_INDEX, search_index};
#[cfg(feature = "ssr")]
pub use site::{Assets, AssetsError, CONTENT_CHANGES, Route, Site, TEAM_RULES};

/// The script of pages whose content folder is watched; see [`Site::with_watched_content`].
#[cfg(feature = "ssr")]
pub const CONTENT_WATCHER: &str = include_str!("../js/content-watcher.js");

/// Called once by js/boot.js, before it hydrates the islands of a page one by one.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    leptos::mount::hydrate_islands();
}
