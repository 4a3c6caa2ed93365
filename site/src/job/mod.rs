//! A benchmark job as people see it: one set of words and views for the server's page, the live
//! island, the Markdown report and the terminal.

mod conditions;
mod floor;
mod format;
mod holds;
mod live;
#[cfg(feature = "ssr")]
mod markdown;
mod plot;
mod status;
mod table;
#[cfg(feature = "ssr")]
mod text;
mod view;

pub(crate) use format::{fixed, number};
#[cfg(feature = "ssr")]
pub(crate) use live::JobLive;
#[cfg(feature = "ssr")]
pub use markdown::benchmark_markdown;
#[cfg(feature = "ssr")]
pub use text::{benchmark_line, benchmark_sentence, benchmark_table, benchmark_text};
#[cfg(feature = "ssr")]
pub(crate) use {
    conditions::level as isolation_level, format::bytes, status::state_word, view::regions,
};
