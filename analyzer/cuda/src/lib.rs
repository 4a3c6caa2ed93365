//! CUDA C++: the parser, and the interface for its rules. The rules are in `rules/cuda/`.
//!
//! The parser consists of a lexer, bracket matching and an evaluation of preprocessor conditionals instead of a C++
//! grammar. A large part of kernel sources is macros and branches for compilers whose definitions no parser has: a
//! grammar produces error nodes in exactly the code that a port has to change, and tree-sitter's CUDA grammar is 4 MB
//! of wasm. The rules check which name is called with which arguments under which `#if`. This needs only tokens and one
//! pass over the text, and it works for any text.
//!
//! Use the crate `hipward-analyzer`. Items that are hidden from this documentation change without notice.
//!
//! ```
//! use hipward_analyzer_cuda::rules::METADATA;
//!
//! assert!(METADATA.iter().any(|rule| rule.name == "warp-size"));
//! ```

#[doc(hidden)]
pub mod checker;
#[doc(hidden)]
pub mod conditions;
#[doc(hidden)]
pub mod headers;
mod hipify;
#[doc(hidden)]
pub mod lexer;
mod lines;
mod name_patterns;
mod names;
#[doc(hidden)]
pub mod rules;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod token_stream;

pub use checker::{CudaChecker, Setting};
pub(crate) use conditions::{
    CUDA_NUMBERS, CudaArch, body, chains, evaluate, holds_only, names_amd, selects_cuda,
};
pub(crate) use headers::HIPIFIED_CUB_NAMES;
pub use headers::{aliases_cub, hip_header};
pub(crate) use hipify::{RocName, roc_header, roc_name};
pub(crate) use lexer::Kind;
pub(crate) use names::{Name, before_rocm_7, defines, is_the_projects, name};
pub(crate) use source::Launch;
pub use source::Source;
pub use token_stream::Tokens;

use hipward_analyzer_core::Target;
use hipward_analyzer_core::analysis::ParsedFile;
use hipward_analyzer_core::diagnostic::RawDiagnostic;
use hipward_analyzer_core::selection::RuleFilter;

/// The libraries that replace cuBLAS, cuSPARSE, cuSOLVER and cuRAND.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Libraries {
    /// hipBLAS, hipSPARSE, hipSOLVER and hipRAND, which also compile for NVIDIA.
    #[default]
    Hip,
    /// rocBLAS, rocSPARSE, rocSOLVER and rocRAND, and MIOpen for cuDNN.
    Roc,
}

impl Libraries {
    /// Every value, with its name in a configuration file.
    pub const ALL: [(&'static str, Libraries); 2] =
        [("hip", Libraries::Hip), ("roc", Libraries::Roc)];
}

/// How to analyze CUDA C++.
#[derive(Clone, Copy)]
pub struct CudaOptions<'a> {
    /// The machine and versions that the code is meant for.
    pub target: &'a Target,
    /// The rules that run.
    pub filter: &'a RuleFilter,
    /// Whether the source is built as a PyTorch extension, or by a build that runs hipify. `None`: its content decides.
    pub pytorch_extension: Option<bool>,
    /// The libraries that names are converted to.
    pub libraries: Libraries,
    /// Whether the source is a string of another source, which a runtime compiler compiles.
    pub is_fragment: bool,
    /// Whether a header of the project defines CUDA's names as HIP's.
    pub has_hip_names: bool,
    /// Macros that a header of the project defines for AMD, separated by spaces.
    pub amd_macros: &'a str,
    /// Switches that nothing in the project sets, separated by spaces.
    pub unset_switches: &'a str,
    /// More checks of the source: a team's rules.
    pub extension: &'a dyn Fn(&CudaChecker<'_>) -> Vec<RawDiagnostic>,
}

/// Analyzes `source` as CUDA C++.
pub fn read(source: &str, options: &CudaOptions<'_>) -> ParsedFile {
    let mut source = Source::new(source);
    source.amd_macros = options.amd_macros;
    let diagnostics = CudaChecker::run(&source, options);
    // Comments before the first token that is not a preprocessor line may apply to the whole file.
    let code_start =
        source.directives.iter().fold(
            0,
            |next, line| if line.start == next { line.end } else { next },
        );
    ParsedFile {
        diagnostics,
        code_start: source.span(code_start..code_start + 1).start,
        comments: source.into_comments(),
        ..ParsedFile::default()
    }
}
