//! Series of `#if`, `#elif` and `#else`: what a branch without a match falls back on, and which branches are for AMD.

use super::{CudaArch, Verdict, evaluate, names_amd};
use crate::lexer::Directive;
use crate::token_stream::TokenStream;

/// The state of an `#if` with its `#elif`s and its `#else`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    /// The index of its first line.
    pub first: usize,
    pub has_else: bool,
    /// The `#else` contains more than messages of the compiler.
    pub has_path: bool,
    /// One of its branches tests for AMD.
    pub names_amd: bool,
    /// A condition in a branch that nvcc does not select tests for AMD.
    pub has_amd_within: bool,
    /// One of its branches is for AMD only, so the others are for other vendors.
    pub(super) is_shared_out: bool,
}

/// The chain that each preprocessor line opens or continues.
pub fn chains(source: &TokenStream<'_>) -> Vec<Chain> {
    let mut first_of: Vec<usize> = (0..source.directives.len()).collect();
    let mut chains = vec![Chain::default(); source.directives.len()];
    // The first line, and whether nvcc selects the current branch.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (index, line) in source.directives.iter().enumerate() {
        let name = source.directive_name(line);
        let asks = |wanted: &dyn Fn(&str) -> bool| {
            line.clone().any(|token| wanted(source.token_text(token)))
        };
        let is_nvccs =
            name != "ifndef" && asks(&|word| word == "__CUDACC__") && !asks(&|word| word == "!");
        match name {
            "if" | "ifdef" | "ifndef" => open.push((index, is_nvccs)),
            "endif" => {
                open.pop();
                continue;
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                if let Some(last) = open.last_mut() {
                    last.1 = is_nvccs;
                }
            }
            _ => continue,
        }
        let first = open.last().map_or(index, |(first, _)| *first);
        first_of[index] = first;
        chains[first].has_else |= name == "else";
        chains[first].has_path |= name == "else"
            && !holds_only(source, index, &|line| {
                matches!(source.directive_name(line), "pragma" | "warning")
            })
            && !fails(source, line.end);
        if asks(&names_amd) {
            chains[first].names_amd = true;
            if let [.., (around, false), _] = open[..] {
                chains[around].has_amd_within = true;
            }
        }
        chains[first].is_shared_out |= name != "else"
            && evaluate(source, line, CudaArch::Unknown) == Verdict::new(Some(true), Some(false));
    }
    let of_line = |first| Chain {
        first,
        ..chains[first]
    };
    first_of.into_iter().map(of_line).collect()
}

/// True for a source with an include guard or `#pragma once`.
pub(crate) fn is_header(source: &TokenStream<'_>) -> bool {
    let is_pragma = |line: &Directive| {
        source.directive_name(line) == "pragma" && source.token_text(line.start + 2) == "once"
    };
    is_in_guard(source) || source.directives.iter().any(is_pragma)
}

/// True if an include guard is around the source.
pub(super) fn is_in_guard(source: &TokenStream<'_>) -> bool {
    let [first, second, ..] = &source.directives[..] else {
        return false;
    };
    let word = |line: &Directive| source.token_text(line.start + 2);
    let mut depth = 0_u32;
    let end = source.directives.iter().position(|line| {
        match source.directive_name(line) {
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    source.directive_name(first) == "ifndef"
        && source.directive_name(second) == "define"
        && second.len() == 3
        && word(first) == word(second)
        && end == Some(source.directives.len() - 1)
}

/// True for a branch that begins with `assert(false)`, `assert(0)` or `__trap()`.
fn fails(source: &TokenStream<'_>, at: u32) -> bool {
    match source.token_text(at) {
        "assert" => {
            matches!(source.token_text(at + 2), "false" | "0") && source.token_text(at + 3) == ")"
        }
        word => matches!(word, "__trap" | "__builtin_trap"),
    }
}

/// True if the branch of the directive at `index` consists of directives that `is_one` accepts, and comments.
pub(crate) fn holds_only(
    source: &TokenStream<'_>,
    index: usize,
    is_one: &dyn Fn(&Directive) -> bool,
) -> bool {
    for pair in source.directives[index..].windows(2) {
        if pair[1].start != pair[0].end {
            return false;
        }
        if matches!(source.directive_name(&pair[1]), "endif" | "else" | "elif") {
            return true;
        }
        if !is_one(&pair[1]) {
            return false;
        }
    }
    false
}
