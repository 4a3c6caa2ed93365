//! The promises that the targets test, shared with the tests. A target is a language and a call of [`judge`].

#[path = "../tests/common/promises.rs"]
mod promises;

pub use promises::judge;
