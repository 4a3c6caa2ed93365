//! CUDA C++: its reader, and what its rules work with. The rules are in `rules/cuda/`.

mod checker;

pub(crate) use checker::Checker;

use crate::analysis::{Options, Reading};

/// Reads `source` as CUDA C++.
pub(crate) fn read(source: &str, options: &Options) -> Reading {
    Reading {
        drafts: Checker::run(source, options),
        ..Reading::default()
    }
}
