//! The files around the code that a port touches: requirements, containers, build and shell scripts, notebooks.
//!
//! The rules on them are in `rules/build/`, and beside the Python rule that knows the same fact.

mod checker;

pub(crate) use checker::Checker;

use crate::analysis::{Options, Reading};
use crate::report::Language;

/// Reads `source` as the kind of file it is.
pub(crate) fn read(source: &str, language: Language, options: &Options) -> Reading {
    Reading {
        drafts: Checker::run(source, language, options),
        ..Reading::default()
    }
}
