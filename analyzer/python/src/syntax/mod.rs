//! Parses source text into a flat syntax tree, without the meaning of names and independent of ROCm.

mod comments;
mod kinds;
mod parse;
mod tree;

pub use kinds::{Field, KIND_COUNT, Kind};
pub use parse::{LastParse, parse};
pub use tree::{Node, Tree};
