//! Blocks that are not whole wavefronts, beside the transposes within a warp of CUB's loads and stores.

use super::RULE;
use crate::{CudaChecker, Kind, Source};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{HandledBy, Severity};

const METHODS: [&str; 2] = ["BLOCK_LOAD_WARP_TRANSPOSE", "BLOCK_STORE_WARP_TRANSPOSE"];
const FIX: &str = "Use a multiple of 64 threads on AMD";

/// `cub::BlockLoad<T, 32, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>`, and `launch<32, 4, T>(…)` in a source where the first
/// parameter of the template `launch` is the number of threads. rocPRIM refuses a part of a wavefront at compile time.
pub(super) fn report(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let is_used = |method: &str| source.places(method).iter().any(|at| cx.is_for_both(*at));
    if !METHODS.iter().any(|method| is_used(method)) {
        return;
    }
    for number in 0..source.token_count() {
        if source.kind(number) != Kind::Number {
            continue;
        }
        let Ok(threads) = source.token_text(number).parse::<u32>() else {
            continue;
        };
        if threads == 0 || threads % 64 == 0 {
            continue;
        }
        if !(is_launch(source, number) || is_operation(source, number)) {
            continue;
        }
        let severity = if cx.knows_amd {
            Severity::Info
        } else {
            Severity::Error
        };
        let message = format!(
            "hipCUB's transposes within a warp need whole wavefronts of 64 lanes; this block has {threads} threads."
        );
        let fix = RawFix::display_only(FIX);
        cx.report_as(
            &RULE,
            severity,
            HandledBy::You,
            number..number + 1,
            message,
            fix,
        );
    }
}

/// The first argument of a template whose first parameter is the number of threads.
fn is_launch(source: &Source<'_>, number: u32) -> bool {
    let name = source.before(number, 2);
    source.before(number, 1) == "<"
        && source.kind(number.saturating_sub(2)) == Kind::Word
        && source
            .places(name)
            .iter()
            .any(|at| counts_threads(source, *at))
}

/// `template <int kNThreads, int kNItems, typename T> void launch(`
fn counts_threads(source: &Source<'_>, name: u32) -> bool {
    // The return type is short.
    let close = (name.saturating_sub(4)..name)
        .rev()
        .find(|at| source.token_text(*at) == ">");
    let Some(close) = close.filter(|_| source.token_text(name + 1) == "(") else {
        return false;
    };
    // Parameter lists longer than this are not looked at, which keeps the time linear.
    (close.saturating_sub(60)..close).any(|at| {
        source.token_text(at) == "template"
            && source.token_text(at + 1) == "<"
            && source
                .angle_end(at + 1)
                .is_some_and(|end| end == close + 1 || end == close)
            && source
                .token_text(at + 3)
                .to_ascii_lowercase()
                .contains("threads")
    })
}

/// The second argument of `cub::BlockLoad` or `cub::BlockStore` with such a method.
fn is_operation(source: &Source<'_>, number: u32) -> bool {
    let open = (number.saturating_sub(12)..number)
        .rev()
        .find(|at| matches!(source.token_text(*at), "BlockLoad" | "BlockStore"))
        .map(|at| at + 1);
    let Some((open, end)) = open.and_then(|open| Some((open, source.angle_end(open)?))) else {
        return false;
    };
    let arguments = source.arguments(&(open..end));
    arguments
        .get(1)
        .is_some_and(|second| *second == (number..number + 1))
        && (open..end).any(|at| METHODS.contains(&source.token_text(at)))
}
