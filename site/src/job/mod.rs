//! A benchmark job as it is shown to people: one set of texts and components for the server's page, the live island, the
//! Markdown report and the terminal.

#[cfg(feature = "ssr")]
mod comparison;
mod conditions;
mod included_steps;
mod live;
#[cfg(feature = "ssr")]
mod markdown;
mod plot;
mod roofline;
mod status;
mod table;
#[cfg(feature = "ssr")]
mod text;
mod view;

#[cfg(feature = "ssr")]
pub use comparison::JobComparison;
#[cfg(feature = "ssr")]
pub(crate) use live::{DOWNLOADS, JobLive, RemoteJob, Served};
#[cfg(feature = "ssr")]
pub use markdown::benchmark_markdown;
#[cfg(feature = "ssr")]
pub use text::{benchmark_line, benchmark_sentence, benchmark_table, benchmark_text};
#[cfg(feature = "ssr")]
pub(crate) use {
    comparison::{
        Evidence, NOISY, OTHER_HOST, differing, evidence, has_decisive, measured_variants, noise,
        ratio, ratio_text, stats, time,
    },
    conditions::level as isolation_level,
    status::state_word,
    view::JobResult,
};
