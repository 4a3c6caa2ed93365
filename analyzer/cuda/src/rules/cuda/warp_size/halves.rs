//! Sources whose lanes exchange data within half of a wavefront only, which is right with 64 lanes too.

use super::{constant, counts_to_32};
use crate::Source;
use crate::token_stream::Tokens;

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

/// True if lanes are counted to 32, and all exchanges are over 16 lanes or fewer, or have a width of 32 or less.
///
/// `__shfl_xor` stays within these 32. `__shfl_down` and `__shfl_up` give the lanes at the end or the beginning of a half
/// another value than on NVIDIA, which a sum in the first lane and a scan with a condition do not use. A broadcast
/// (`__shfl`) and votes are different: they read the lane of a whole wavefront.
pub(super) fn exchanges_within_halves(source: &Source<'_>) -> bool {
    let mut has_any = false;
    let all = source.words().all(|(word, places)| {
        if !COMBINING.iter().any(|start| word.starts_with(start)) {
            return true;
        }
        has_any = true;
        // One that is named but not called may be over any lanes.
        word.starts_with("__shfl")
            && places.iter().all(|at| {
                source
                    .call(*at)
                    .is_some_and(|call| is_within_half(source, word, &source.arguments(&call)))
            })
    });
    all && has_any && counts_to_32(source)
}

const COMBINING: [&str; 7] = [
    "__shfl",
    "__ballot",
    "__any",
    "__all",
    "__match",
    "__reduce",
    "__activemask",
];

/// `mask, value, distance, width`, the first only with `_sync` and the last optional.
fn is_within_half(source: &Source<'_>, word: &str, arguments: &[Tokens]) -> bool {
    let first = usize::from(word.ends_with("_sync"));
    let text = |index: usize| Some(source.slice(arguments.get(first + index)?.clone()));
    match text(2) {
        Some(width) => width.parse::<u32>().is_ok_and(|lanes| lanes <= 32),
        None => {
            RELATIVE.iter().any(|name| word.starts_with(name))
                && text(1).is_some_and(|distance| is_short(source, distance))
        }
    }
}

const RELATIVE: [&str; 3] = ["__shfl_xor", "__shfl_down", "__shfl_up"];

/// True for a number of at most 16, and for a variable that begins with one: it is halved, or grows while it is less than 32.
fn is_short(source: &Source<'_>, distance: &str) -> bool {
    if let Ok(lanes) = distance.parse::<u32>() {
        return lanes <= 16;
    }
    let places = source.places(distance);
    let has_limit = || {
        places
            .iter()
            .any(|at| source.reads(*at + 1, &["<", "32"]) || source.reads(*at + 1, &["<=", "16"]))
    };
    let mut values = places
        .iter()
        .filter(|at| source.reads(**at + 1, &["="]))
        .map(|at| *at + 2)
        .peekable();
    values.peek().is_some()
        && values.all(|value| match source.token_text(value) {
            "16" | "8" | "4" | "2" => true,
            "1" => has_limit(),
            // `WARP_SIZE / 2`, where that is 32
            name => {
                let is_32 = |at: u32, number| constant(source, number) == Some(at);
                let defined = source.definition(name);
                source.reads(value + 1, &["/", "2", ";"])
                    && (defined.is_some_and(|(_, at)| is_32(at, at + 1))
                        || source.places(name).iter().any(|at| is_32(*at, at + 2)))
            }
        })
}
