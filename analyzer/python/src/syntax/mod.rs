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

/// Random numbers below a limit, the same for each seed.
#[cfg(test)]
fn random_below(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % limit.max(1) as u64) as usize
    }
}
