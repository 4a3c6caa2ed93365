//! Whether a file is for NVIDIA hosts only, because a parallel file for AMD exists: `docker/rocm/Dockerfile` for
//! `docker/cuda/Dockerfile`, `rocm.py` for `cuda.py`, `Dockerfile.rocm` for `Dockerfile`. Also whether its name is of
//! another vendor's hosts or another operating system (`requirements_intel.txt`, `requirements_win.txt`), or its folder is
//! for continuous integration.

use super::{FileSource, above, below, is_repository, join, parent};
use hipward_analyzer_core::Language;
use hipward_analyzer_core::words::listed;
use hipward_analyzer_files::facts::{names_a_vendor, names_rocm};

/// A word for NVIDIA in a name, and the AMD equivalent.
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

/// Folders that are for AMD with all their contents. `hip` is not listed, because PyTorch's hipify creates such a
/// folder.
const FOLDERS: [(&str, &str); 4] = [
    ("cuda", "rocm"),
    ("cuda", "amd"),
    ("nvidia", "amd"),
    ("nvidia", "rocm"),
];

/// Folders of continuous integration, whose runners have the GPU that a script expects.
const RUNNERS: &str = ".github .circleci .azure-pipelines .buildkite .gitlab .jenkins";

/// Whether a runner of continuous integration uses the file.
pub(super) fn is_of_runner(path: &str) -> bool {
    path.split('/').any(|part| listed(RUNNERS, part))
}

/// How many parts of a path may differ: its name and its parent folders.
const PARTS: usize = 3;

/// Whether there is an AMD version of the file at `path`, by its name or by the name of a parent folder.
pub(super) fn is_renamed(files: &dyn FileSource, path: &str) -> bool {
    let mut part = path;
    // The rest after the part.
    let mut rest = "";
    for _ in 0..PARTS {
        let Some(folder) = parent(part) else { break };
        let name = part.rsplit('/').next().unwrap_or(part);
        let is_file = rest.is_empty();
        let has_own = WORDS.iter().any(|(nvidias, amds)| {
            let other = |rest: &str| join(&join(folder, &name.replace(nvidias, amds)), rest);
            name.contains(nvidias)
                && (files.exists(&other(rest))
                    || is_file
                        && (has_other_ending(files, &other(rest))
                            || has_shorter_name(files, folder, name, nvidias, amds))
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
        rest = below(path, folder);
    }
    false
}

/// `requirements-rocm.txt` for `requirements-cuda-legacy.txt`.
fn has_shorter_name(
    files: &dyn FileSource,
    folder: &str,
    name: &str,
    nvidias: &str,
    amds: &str,
) -> bool {
    name.strip_suffix(".txt")
        .and_then(|stem| stem.split_once(nvidias))
        .is_some_and(|(before, _)| files.exists(&join(folder, &format!("{before}{amds}.txt"))))
}

/// Devices of other vendors, hosts without a GPU such as those that build documents, and other operating systems.
const OTHERS: &str = "intel xpu gaudi hpu npu ascend tpu neuron cpu doc docs readthedocs win windows macos mac mps mlx osx darwin";

/// `requirements_intel.txt`, `docker/cpu/Dockerfile`, `docs/requirements.txt`: a part of the path within the repository is a word for another
/// device or system, and its name mentions no GPU.
pub(super) fn is_for_others(files: &dyn FileSource, path: &str) -> bool {
    let mut part = path;
    for _ in 0..PARTS {
        let Some(folder) = parent(part) else { break };
        let name = part.rsplit('/').next().unwrap_or(part).to_ascii_lowercase();
        let mut words = name.split(['.', '-', '_']);
        let is_others = match part == path {
            true => words.any(|word| listed(OTHERS, word)),
            false => listed(OTHERS, &name),
        };
        if names_a_vendor(&name) || name.contains("gpu") {
            break;
        }
        if is_others {
            return true;
        }
        if is_repository(files, folder) {
            break;
        }
        part = folder;
    }
    false
}

/// Whether a folder for AMD in a Dockerfile's folder, or beside that, contains Dockerfiles: `docker/rocm` for
/// `docker/cu124/Dockerfile`.
pub(super) fn has_docker_folder(files: &dyn FileSource, path: &str) -> bool {
    let folder = parent(path).unwrap_or_default();
    let is_dockerfile = |name: &String| Language::of_path(name) == Some(Language::Dockerfile);
    let has = |folder: &str| {
        let mut folders = ["rocm", "amd"].iter().map(|amds| join(folder, amds));
        folders.any(|folder| files.names(&folder).iter().any(is_dockerfile))
    };
    // Not AMD's own.
    !names_rocm(path)
        && !path.contains("amd")
        && (has(folder) || above(files, folder).is_some_and(has))
}

/// `rocm.cpp` for `rocm.cu`, because the HIP runtime needs no separate compiler, and `rocm.hip` unless hipify created
/// it.
fn has_other_ending(files: &dyn FileSource, path: &str) -> bool {
    path.strip_suffix(".cu").is_some_and(|stem| {
        let hip = format!("{stem}.hip");
        let is_generated = |text: &str| text.contains("automatically generated by hipify");
        files.exists(&format!("{stem}.cpp"))
            || files.exists(&hip) && !files.text(&hip).is_some_and(|text| is_generated(&text))
    })
}

/// The files in a folder that have an AMD version there: for `Dockerfile.rocm` it is `Dockerfile`. An AMD file that
/// includes the other one, such as with `-r requirements.txt`, does not count.
pub(super) fn unmarked(files: &dyn FileSource, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in files.names(folder).iter() {
        let Some(other) = ["rocm", "amd", "hip"]
            .iter()
            .find_map(|word| without(name, word))
        else {
            continue;
        };
        let includes = |text: &str| {
            text.lines()
                .any(|line| line.starts_with('-') && line.trim_end().ends_with(&other))
        };
        if !files
            .text(&join(folder, name))
            .is_some_and(|text| includes(&text))
        {
            found.push(other);
        }
    }
    found
}

/// `Dockerfile.rocm` and `rocm.Dockerfile` without the word and its separator.
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
