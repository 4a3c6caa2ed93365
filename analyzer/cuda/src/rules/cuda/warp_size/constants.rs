//! `warpSize` as a constant, which it is no more since ROCm 7.0.

use super::RULE;
use crate::conditions::Vendors;
use crate::{CudaChecker, Kind, Source};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;
use hipward_analyzer_core::{HandledBy, Severity};

/// `warpSize` where a constant is needed, and in host code: since ROCm 7.0 it is an object of device code.
pub(super) fn report(cx: &CudaChecker<'_>) {
    /// An upper limit for the places of a name; keeps the time linear.
    const MAX: usize = 100;
    let source = cx.source;
    let places = source.places("warpSize");
    // `int warpSize`: a variable or parameter of the project.
    let is_declared = |at: &u32| {
        let before = at.saturating_sub(1);
        source.kind(before) == Kind::Word
            && !listed(STATEMENTS, source.token_text(before))
            && source.directive_of(*at).is_none()
    };
    if places.is_empty() || places.iter().any(is_declared) {
        return;
    }
    let mut names = vec!["warpSize"];
    let mut done = 0;
    while let Some(&name) = names.get(done) {
        done += 1;
        for at in source.places(name).iter().copied().take(MAX) {
            if let Some(line) = source.directive_of(at) {
                // A macro with it.
                let defined = line.start + 2;
                let word = source.token_text(defined);
                if source.directive_name(line) == "define"
                    && defined < at
                    && source.vendors(at) != Vendors::NotAmd
                    && !names.contains(&word)
                {
                    names.push(word);
                }
            } else if !source.is_qualified(at)
                && (needs_constant(source, at) || is_host(source, at))
            {
                cx.report_as(
                    &RULE,
                    Severity::Error,
                    HandledBy::You,
                    at..at + 1,
                    "Since ROCm 7.0 `warpSize` is no constant, and only device code can read it.",
                    RawFix::display_only("Use a constant for the target, or the device's property"),
                );
            }
        }
    }
}

/// Words before a name that is used, not declared.
const STATEMENTS: &str = "return case else do throw new";

/// `float x[warpSize];`, `f<warpSize>()`, `constexpr int x = warpSize;`, `static_assert(warpSize == 64)`, `case warpSize:`
fn needs_constant(source: &Source<'_>, at: u32) -> bool {
    const WORDS: &str = "constexpr case static_assert __launch_bounds__";
    /// An upper limit for the length of an expression.
    const MAX: u32 = 32;
    let before = source.before(at, 1);
    if source.token_text(at + 1) == ">" && listed("< ,", before) {
        return before == "<" || listed("( :: ; { >", source.token_text(at + 2));
    }
    for back in (at.saturating_sub(MAX).max(2)..at).rev() {
        let text = source.token_text(back);
        let before = source.before(back, 1);
        let is_name = source.kind(back - 1) == Kind::Word;
        if listed(WORDS, text) {
            return true;
        }
        if text == "[" {
            let end = source
                .partner(back)
                .map_or("", |close| source.token_text(close + 1));
            return is_name
                && source.kind(back - 2) == Kind::Word
                && !listed(STATEMENTS, source.before(back, 2))
                && listed("; [ =", end);
        }
        if listed("; { } : , ?", text) || (text == "(" && is_name && !listed(WORDS, before)) {
            return false;
        }
    }
    false
}

/// True in a function that launches a kernel.
fn is_host(source: &Source<'_>, at: u32) -> bool {
    /// An upper limit for the tokens of a function.
    const MAX: u32 = 1_000;
    let mut inner = at;
    while let Some(braces) = source.enclosing_braces(inner) {
        let has = |places: &[u32]| places.iter().any(|place| braces.contains(place));
        if braces.len() as u32 > MAX
            || has(source.places("__global__"))
            || has(source.places("__device__"))
        {
            return false;
        }
        if braces
            .clone()
            .any(|token| source.token_text(token) == "<<<")
        {
            return true;
        }
        inner = braces.start;
    }
    false
}
