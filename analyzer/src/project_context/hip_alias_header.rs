//! What a source gets from the headers of its project: whether one of them defines CUDA names as HIP names
//! (`#define cudaStream_t hipStream_t` in a build for AMD, `using cudaError_t = hipError_t`), so that no renaming is
//! needed, and the macros that they define for AMD.

use super::{FileSource, is_repository, join, parent, unset_switches};
use hipward_analyzer_core::words::listed;
use hipward_analyzer_cuda::conditions::Vendors;
use hipward_analyzer_cuda::{Source, aliases_cub, hip_header};

/// Names that any such header defines; one of them is enough.
const NAMES: [(&str, &str); 2] = [
    ("cudaError_t", "hipError_t"),
    ("cudaStream_t", "hipStream_t"),
];

/// Folders for the headers of a project.
const FOLDERS: [&str; 3] = ["", "include", "src"];

/// The maximum depth and number of headers to follow.
const MAX_DEPTH: usize = 5;
const MAX_HEADERS: usize = 64;

/// The relevant parts of a source.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) is_shim: bool,
    /// The macros that it defines in a branch for AMD, each with a space after it.
    pub(super) amd_macros: String,
    /// The switches of projects that it asks for, and those that it defines, each with a space after it.
    pub(super) asked: String,
    pub(super) defined: String,
    /// The paths of the project headers that it includes.
    pub(super) includes: Vec<String>,
}

/// Parses the source at `path`.
pub(super) fn read(files: &dyn FileSource, path: &str) -> Header {
    let Some(text) = files.text(path) else {
        return Header::default();
    };
    Header {
        is_shim: text.lines().any(translates),
        amd_macros: amd_macros(&text),
        asked: unset_switches::asked(&text),
        defined: unset_switches::defined(&text),
        includes: text
            .lines()
            .filter_map(name_of_include)
            .filter_map(|name| find(files, path, name))
            .collect(),
    }
}

/// The source at `path` with all that it includes, directly or not; `header` reads one of them.
pub(super) fn included<T: AsRef<Header>>(path: &str, header: impl Fn(&str) -> T) -> Header {
    let mut whole = Header {
        includes: vec![path.to_owned()],
        ..Header::default()
    };
    let mut from = 0;
    for _ in 0..=MAX_DEPTH {
        let until = whole.includes.len();
        for at in from..until {
            let found = header(&whole.includes[at]);
            let found = found.as_ref();
            whole.is_shim |= found.is_shim;
            whole.amd_macros.push_str(&found.amd_macros);
            whole.defined.push_str(&found.defined);
            for include in &found.includes {
                if whole.includes.len() < MAX_HEADERS && !whole.includes.contains(include) {
                    whole.includes.push(include.clone());
                }
            }
        }
        from = until;
    }
    whole
}

/// Macros that count if they are defined for both vendors too: CUB's for errors start so, and PyTorch removed the others.
const FOR_BOTH: [&str; 3] = ["CubDebug", "AT_CHECK", "THCudaCheck"];

/// The macros that `text` defines in a branch for AMD, and `cub` if it declares the namespace for hipCUB.
fn amd_macros(text: &str) -> String {
    let mut names = String::new();
    // Most sources have no such branch, and parsing takes longer than this search.
    let mut parts = ["HIP", "ROCM", "AMD"].iter().chain(&FOR_BOTH);
    if !parts.any(|part| text.contains(part)) {
        return names;
    }
    let source = Source::new(text);
    for line in &source.directives {
        let at = line.start + 2;
        let name = source.token_text(at);
        let is_for_amd = match source.vendors(at) {
            Vendors::Amd => true,
            Vendors::Both => FOR_BOTH.iter().any(|start| name.starts_with(start)),
            Vendors::NotAmd => false,
        };
        if is_for_amd && source.directive_name(line) == "define" {
            names.push_str(name);
            names.push(' ');
        }
    }
    if aliases_cub(&source) {
        names.push_str("cub ");
    }
    names
}

/// The macros that are in both lists.
pub(super) fn common(names: String, others: &str) -> String {
    let mut both = String::new();
    for name in names.split_inclusive(' ') {
        if listed(others, name.trim_end()) {
            both.push_str(name);
        }
    }
    both
}

/// `using cudaError_t = hipError_t;`
fn translates(line: &str) -> bool {
    NAMES.iter().any(|(cuda, hip)| {
        line.split_once(cuda)
            .is_some_and(|(_, rest)| rest.trim_start_matches(['=', ' ', '\t']).starts_with(hip))
    })
}

/// `mine/gpu.h` of `#include <mine/gpu.h>`.
fn name_of_include(line: &str) -> Option<&str> {
    let rest = line
        .trim_start()
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("include")?
        .trim_start()
        .strip_prefix(['"', '<'])?;
    let name = rest.split(['"', '>']).next()?;
    // C++ standard headers have no extension, and CUDA's headers are not part of the project.
    (name.contains('.') && hip_header(name).is_none()).then_some(name)
}

/// The file for `name` in the source at `path`: in the same folder, or in a parent folder.
fn find(files: &dyn FileSource, path: &str, name: &str) -> Option<String> {
    let mut folder = parent(path);
    while let Some(above) = folder {
        for place in FOLDERS {
            let found = join(&join(above, place), name);
            if files.exists(&found) {
                return Some(found);
            }
        }
        folder = parent(above).filter(|_| !is_repository(files, above));
    }
    None
}
