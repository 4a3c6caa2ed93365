//! Source text to a flat syntax tree. Nothing here knows what a name means or what ROCm is.

mod kinds;
mod parse;
mod tree;

pub(crate) use kinds::{Field, KIND_COUNT, Kind};
pub use parse::MAX_SOURCE_BYTES;
pub(crate) use parse::{LastParse, parse};
pub(crate) use tree::{Node, Tree};
