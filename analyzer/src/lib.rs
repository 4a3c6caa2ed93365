//! Source text in, [`Report`] out.
//!
//! Pure: no I/O, no clock, no panic, and parsing never fails. Everything that reads files or
//! prints lives in the command line (`runner/`) or in the browser (`site/`, `analyzer/wasm`).

mod report;

pub use report::*;
