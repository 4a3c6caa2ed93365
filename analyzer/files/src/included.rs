//! The requirements files that a file includes, whatever they are called.

use hipward_analyzer_core::Language;

use crate::facts::Include;
use crate::{facts, setup_script};

/// A file that another one includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// The path as written.
    pub path: String,
    /// A command names it, relative to a folder that the file does not state. Otherwise it is relative to the file's
    /// folder.
    pub in_command: bool,
}

/// The requirements and constraints files that `source` includes: `-r pins.txt`, `pip install -r deps/gpu`,
/// `install_requires=open("deps.txt")…`.
pub fn included_requirements(source: &str, language: Language) -> Vec<Included> {
    if language == Language::Python {
        let paths = setup_script::includes(source).into_iter();
        return paths
            .map(|path| Included {
                path,
                in_command: false,
            })
            .collect();
    }
    facts(source, language)
        .includes
        .iter()
        .map(|Include { path, in_command }| Included {
            path: path.as_str().to_owned(),
            in_command: *in_command,
        })
        .collect()
}
