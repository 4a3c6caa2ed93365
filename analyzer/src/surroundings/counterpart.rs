//! Whether a file is for NVIDIA's hosts alone, because AMD's stands beside it: `docker/rocm/Dockerfile` beside
//! `docker/cuda/Dockerfile`, `rocm.py` beside `cuda.py`, `Dockerfile.rocm` beside `Dockerfile`.

use super::{Files, is_repository, join, parent};

/// A word for NVIDIA's in a name, and AMD's for it.
const WORDS: [(&str, &str); 9] = [
    ("cuda", "rocm"),
    ("cuda", "hip"),
    ("cuda", "amd"),
    ("nvidia", "amd"),
    ("nvidia", "rocm"),
    ("nv_", "amd_"),
    ("CUDA", "HIP"),
    ("Cuda", "Hip"),
    ("Cuda", "Rocm"),
];

/// Folders with everything below them: what lies beside is AMD's. `hip` is none, as PyTorch's hipify writes one.
const FOLDERS: [(&str, &str); 4] = [
    ("cuda", "rocm"),
    ("cuda", "amd"),
    ("nvidia", "amd"),
    ("nvidia", "rocm"),
];

/// How many parts of a path may differ: its name and the folders around it.
const PARTS: usize = 3;

/// Whether AMD has a file of its own for the one at `path`, by its name or by that of a folder around it.
pub(super) fn is_renamed(files: &dyn Files, path: &str) -> bool {
    let mut part = path;
    // What follows the part.
    let mut rest = "";
    for _ in 0..PARTS {
        let Some(folder) = parent(part) else { break };
        let name = part.rsplit('/').next().unwrap_or(part);
        let is_file = rest.is_empty();
        let has_own = WORDS.iter().any(|(nvidias, amds)| {
            let other = |rest: &str| join(&join(folder, &name.replace(nvidias, amds)), rest);
            name.contains(nvidias)
                && (files.exists(&other(rest))
                    || is_file && is_host_code(files, &other(rest))
                    || !is_file && files.exists(&other(&rest.replace(nvidias, amds))))
        });
        let has_folder = FOLDERS.iter().any(|(nvidias, amds)| {
            !is_file && name == *nvidias && files.exists(&join(folder, amds))
        });
        if has_own || has_folder {
            return true;
        }
        if is_repository(files, folder) {
            break;
        }
        part = folder;
        rest = path[folder.len()..].trim_start_matches('/');
    }
    false
}

/// `rocm.cpp` for `rocm.cu`: HIP's runtime needs no compiler of its own.
fn is_host_code(files: &dyn Files, path: &str) -> bool {
    path.strip_suffix(".cu")
        .is_some_and(|stem| files.exists(&format!("{stem}.cpp")))
}

/// The names of the files that a folder's files for AMD's hosts stand beside: of `Dockerfile.rocm` it is `Dockerfile`. A file
/// that takes the other one in, as `-r requirements.txt` does, is not beside it.
pub(super) fn unmarked(files: &dyn Files, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in files.names(folder) {
        let Some(other) = ["rocm", "amd", "hip"]
            .iter()
            .find_map(|word| without(&name, word))
        else {
            continue;
        };
        let includes = |text: &str| {
            text.lines()
                .any(|line| line.starts_with('-') && line.trim_end().ends_with(&other))
        };
        if !files
            .text(&join(folder, &name))
            .is_some_and(|text| includes(&text))
        {
            found.push(other);
        }
    }
    found
}

/// `Dockerfile.rocm` and `rocm.Dockerfile` without the word and what parts it from the rest.
fn without(name: &str, word: &str) -> Option<String> {
    let is_mark = |c: char| matches!(c, '.' | '-' | '_');
    let (before, after) = name.split_once(word)?;
    match before.strip_suffix(is_mark) {
        Some(before) => Some([before, after].concat()),
        None => after
            .strip_prefix(is_mark)
            .filter(|_| before.is_empty())
            .map(str::to_owned),
    }
}
