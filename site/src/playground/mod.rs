//! The playground island: paste, see what ROCm makes of it, fix, compare, send to a benchmark.
//!
//! Model, update, view. `state.rs` is what is known, `message.rs` what can happen, `update.rs`
//! what follows from it, `view.rs` what it looks like; `project.rs`
//! is a folder's part in both; `fragment.rs` reads and writes the address
//! bar. The editor itself, files and the worker are JavaScript (`browser.rs`, site/js). The server
//! writes the page around (`page/playground.rs`), which is a text area and words without a script.

#![expect(
    unreachable_pub,
    reason = "the macro of an island makes public functions"
)]

mod fragment;
mod message;
mod project;
mod state;
mod update;
mod view;

use leptos::prelude::*;

#[cfg(feature = "ssr")]
pub(crate) use fragment::lesson_fragment;

/// Makes the page around it work.
#[island]
pub(crate) fn Playground() -> impl IntoView {
    if cfg!(feature = "hydrate") {
        update::start();
    }
    view! {
        <div data-region="summary" role="status"></div>
        <div data-region="trouble" role="alert"></div>
        <div data-region="findings"></div>
        <div data-region="contract"></div>
    }
}
