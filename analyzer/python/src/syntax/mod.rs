//! Source text to a flat syntax tree. Nothing here knows what a name means or what ROCm is.

mod kinds;
mod parse;
mod tree;

pub use kinds::{Field, KIND_COUNT, Kind};
pub use parse::{LastParse, parse};
pub use tree::{Node, Tree};
