//! Parses source text into a flat syntax tree, without the meaning of names and independent of ROCm.

mod comments;
mod kinds;
mod parse;
mod tree;
#[cfg(not(target_family = "wasm"))]
mod valid;

pub use kinds::{Field, KIND_COUNT, Kind};
#[cfg(not(target_family = "wasm"))]
pub use parse::is_read_alike;
pub use parse::{LastParse, parse};
pub use tree::{Node, Tree};
