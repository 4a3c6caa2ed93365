//! JSON to the shared types, for the browser.
//!
//! Serde's derived code for these types is larger than the whole budget of the islands, so the
//! browser's own `JSON.parse` does the parsing and this module only picks the fields. It is
//! written once against the trait [`Json`], so that tests run it against what serde writes.

mod analyzer;
mod job;
mod json;
#[cfg(test)]
mod tests;

pub(crate) use json::{Decode, Json, decode_enum, decode_struct, field};
