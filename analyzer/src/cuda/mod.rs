//! CUDA C++: its reader, and what its rules work with. The rules are in `rules/cuda/`.
//!
//! The reader is a lexer, a bracket pairing and an evaluation of preprocessor conditionals rather than a C++ grammar.
//! Kernel sources are macros half of the time, and branches for compilers that no parser has the definitions of: a
//! grammar answers with error nodes just where a port has its work, and tree-sitter's CUDA grammar is 4 MB of wasm.
//! What the rules ask (which name, called with what, under which `#if`) needs no more than tokens, is one pass over
//! the text, and no text makes it fail.

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

/// Reads `source` as CUDA C++.
pub(crate) fn read(source: &str, options: &Options) -> Reading {
    let source = Source::new(source);
    let drafts = Checker::run(&source, options);
    // Comments before the first token that is no preprocessor line may speak for the whole file.
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
