//! Parses source text into a flat syntax tree, without the meaning of names and independent of ROCm.

mod kinds;
mod parse;
mod tree;

pub(crate) use kinds::{Field, KIND_COUNT, Kind};
pub use parse::MAX_SOURCE_BYTES;
pub(crate) use parse::{LastParse, parse};
pub(crate) use tree::{Node, Tree};
