//! The promises that the target tests, shared with the tests.

#[path = "../tests/common/promises.rs"]
mod promises;

pub use promises::execute;
