//! CUDA C++: the parser, and the interface for its rules. The rules are in `rules/cuda/`.
//!
//! The parser consists of a lexer, bracket matching and an evaluation of preprocessor conditionals instead of a C++
//! grammar. A large part of kernel sources is macros and branches for compilers whose definitions no parser has: a
//! grammar produces error nodes in exactly the code that a port has to change, and tree-sitter's CUDA grammar is 4 MB
//! of wasm. The rules check which name is called with which arguments under which `#if`. This needs only tokens and one
//! pass over the text, and it works for any text.

mod checker;
mod conditions;
mod embedded;
mod headers;
mod lexer;
mod names;
mod source;

pub(crate) use checker::{Checker, Setting};
pub(crate) use conditions::{CUDA_NUMBERS, CudaArch, chains, evaluate, names_amd};
pub(crate) use embedded::embedded;
pub(crate) use headers::hip_header;
pub(crate) use lexer::Kind;
pub(crate) use names::{Name, is_the_projects, name};
pub(crate) use source::{Source, Tokens};

use crate::analysis::{Options, Reading};

/// Analyzes `source` as CUDA C++.
pub(crate) fn read(source: &str, options: &Options) -> Reading {
    let source = Source::new(source);
    let drafts = Checker::run(&source, options);
    // Comments before the first token that is not a preprocessor line may apply to the whole file.
    let code_start =
        source.directives.iter().fold(
            0,
            |next, line| if line.start == next { line.end } else { next },
        );
    Reading {
        drafts,
        code_start: source.span(code_start..code_start + 1).start,
        comments: source.comments,
        ..Reading::default()
    }
}
