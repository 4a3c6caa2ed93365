//! Whether a header of the project defines CUDA names as HIP names: `#define cudaStream_t hipStream_t` in a build for
//! AMD, `using cudaError_t = hipError_t`. Sources that include it need no renaming.

use super::{FileSource, is_repository, join, parent};
use hipward_analyzer_cuda::hip_header;

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
    is_shim: bool,
    /// The paths of the project headers that it includes.
    includes: Vec<String>,
}

/// Parses the source at `path`.
pub(super) fn read(files: &dyn FileSource, path: &str) -> Header {
    let Some(text) = files.text(path) else {
        return Header::default();
    };
    Header {
        is_shim: text.lines().any(translates),
        includes: text
            .lines()
            .filter_map(included)
            .filter_map(|name| find(files, path, name))
            .collect(),
    }
}

/// Whether the source at `path` includes such names from one of the headers that `header` reads.
pub(super) fn is_given<T: AsRef<Header>>(path: &str, header: impl Fn(&str) -> T) -> bool {
    let mut seen = vec![path.to_owned()];
    let mut from = 0;
    for _ in 0..=MAX_DEPTH {
        let until = seen.len();
        for at in from..until {
            let found = header(&seen[at]);
            let found = found.as_ref();
            if found.is_shim {
                return true;
            }
            for include in &found.includes {
                if seen.len() < MAX_HEADERS && !seen.contains(include) {
                    seen.push(include.clone());
                }
            }
        }
        from = until;
    }
    false
}

/// `using cudaError_t = hipError_t;`
fn translates(line: &str) -> bool {
    NAMES.iter().any(|(cuda, hip)| {
        line.split_once(cuda)
            .is_some_and(|(_, rest)| rest.trim_start_matches(['=', ' ', '\t']).starts_with(hip))
    })
}

/// `mine/gpu.h` of `#include <mine/gpu.h>`.
fn included(line: &str) -> Option<&str> {
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
