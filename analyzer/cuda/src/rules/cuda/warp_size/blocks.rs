//! Blocks whose size is counted in warps of 32 threads.

use crate::Source;

/// The first token of `num_warps * 32` or `32 * kNWarps`, or the 32 of `dim3 block(32, num_warps)`: `number` is the 32.
pub(super) fn counted_in_warps(source: &Source<'_>, number: u32) -> Option<u32> {
    let is_warps = |token: u32| {
        source
            .token_text(token)
            .to_ascii_lowercase()
            .contains("warps")
    };
    if source.before(number, 1) == "*" && is_warps(number.checked_sub(2)?) {
        return Some(number - 2);
    }
    if source.token_text(number + 1) == "*" && is_warps(number + 2) {
        return Some(number);
    }
    let open = number.checked_sub(1)?;
    let is_block = source.token_text(open) == "("
        && source.token_text(number + 1) == ","
        && [1, 2]
            .iter()
            .any(|back| source.before(open, *back) == "dim3");
    let arguments = source.arguments(&(open..source.partner(open)? + 1));
    let mut rows = arguments.get(1)?.clone();
    let names_warp = |token: u32| {
        source
            .token_text(token)
            .to_ascii_lowercase()
            .contains("warp")
    };
    (is_block && rows.any(names_warp)).then_some(number)
}
