//! Sources whose lanes exchange data within half of a wavefront only, which is right with 64 lanes too.

use super::counts_to_32;
use crate::Source;

/// True if every shuffle has an explicit width, or if tiles of 32 are used: lanes are then counted within half of a
/// wavefront, which is correct.
pub(super) fn works_on_halves(source: &Source<'_>) -> bool {
    let tiles = ["tiled_partition", "thread_block_tile"]
        .iter()
        .flat_map(|word| source.places(word))
        .any(|at| source.reads(*at + 1, &["<", "32"]));
    let mut shuffles = source
        .words()
        .filter(|(word, _)| word.starts_with("__shfl"))
        .flat_map(|(word, places)| places.iter().map(move |at| (word, *at)))
        .filter_map(|(word, at)| Some((word, source.call(at)?)))
        .map(|(word, call)| {
            let with_width = if word.ends_with("_sync") { 4 } else { 3 };
            source.arguments(&call).len() >= with_width
        })
        .peekable();
    let has_shuffles = shuffles.peek().is_some();
    (tiles || has_shuffles) && shuffles.all(|has_width| has_width)
}

/// True if lanes are counted to 32, and all exchanges are `__shfl_xor` over 16 lanes or fewer, which stay within these 32.
pub(super) fn exchanges_within_halves(source: &Source<'_>) -> bool {
    let begins_at_16 = |name: &str| {
        let places = source.places(name).iter();
        let mut values = places
            .filter(|at| source.token_text(**at + 1) == "=" && source.token_text(**at + 2) != "=")
            .map(|at| source.token_text(*at + 2))
            .peekable();
        values.peek().is_some() && values.all(|value| value == "16")
    };
    let is_short = |word: &str, at: u32| {
        let arguments = source.call(at).map(|call| source.arguments(&call));
        let distance = if word.ends_with("_sync") { 2 } else { 1 };
        let distance = arguments.and_then(|arguments| arguments.into_iter().nth(distance));
        distance.is_some_and(|distance| {
            let text = source.slice(distance);
            text.parse::<u32>()
                .map_or_else(|_| begins_at_16(text), |lanes| lanes <= 16)
        })
    };
    let mut has_any = false;
    let all = source.words().all(|(word, places)| {
        let is_xor = matches!(word, "__shfl_xor_sync" | "__shfl_xor");
        has_any |= is_xor;
        let combines = [
            "__shfl",
            "__ballot",
            "__any",
            "__all",
            "__match",
            "__reduce",
            "__activemask",
        ];
        match is_xor {
            true => places.iter().all(|at| is_short(word, *at)),
            false => !combines.iter().any(|start| word.starts_with(start)),
        }
    });
    all && has_any && counts_to_32(source)
}
