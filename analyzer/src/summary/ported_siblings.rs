//! Files that have a ported version in the same folder or in a parallel one: `Dockerfile` and `Dockerfile.rocm`,
//! `ops.cu` and `ops_hip.cu`, `cuda/a.cu` and `hip/a.cu`. Determined by their names only.

use std::collections::HashMap;

/// For each path the path of its ported version, if there is one.
pub(super) fn find<'a>(paths: &[&'a str]) -> Vec<Option<&'a str>> {
    let mut ports: HashMap<String, &'a str> = HashMap::new();
    for path in paths
        .iter()
        .filter(|path| words(path).any(|word| is_amd(&word)))
    {
        ports.entry(key(path)).or_insert(path);
    }
    paths
        .iter()
        .map(|path| {
            let is_port = words(path).any(|word| is_amd(&word));
            ports.get(&key(path)).copied().filter(|_| !is_port)
        })
        .collect()
}

/// The path without the words that name a vendor; the same for a file and its ported version.
fn key(path: &str) -> String {
    let mut key = String::new();
    for word in words(path).filter(|word| !is_amd(word) && !is_nvidia(word)) {
        key.push_str(&word);
        key.push('/');
    }
    key
}

fn words(path: &str) -> impl Iterator<Item = String> + use<'_> {
    path.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
}

/// `rocm`, `rocm7`, `amd`, `hip`, and the extension `.hip`.
fn is_amd(word: &str) -> bool {
    matches!(word, "amd" | "hip" | "amdgpu") || word.starts_with("rocm")
}

/// `cuda`, `cuda12`, `nvidia`, `cu124`, and the extension `.cu`.
fn is_nvidia(word: &str) -> bool {
    let version = word
        .strip_prefix("cuda")
        .or_else(|| word.strip_prefix("cu"));
    word == "nvidia"
        || version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ported_file_is_recognized_by_its_name() {
        let paths = [
            "docker/Dockerfile",
            "docker/Dockerfile.rocm",
            "csrc/cuda/ops.cu",
            "csrc/hip/ops.hip",
            "csrc/norm.cu",
            "csrc/norm_hip.cu",
            "requirements-cuda.txt",
            "requirements-rocm.txt",
            "requirements-dev.txt",
            "csrc/alone.cu",
        ];
        let found = find(&paths);
        let ports: Vec<_> = paths
            .iter()
            .zip(&found)
            .filter_map(|(path, port)| Some((*path, (*port)?)))
            .collect();
        assert_eq!(
            ports,
            [
                ("docker/Dockerfile", "docker/Dockerfile.rocm"),
                ("csrc/cuda/ops.cu", "csrc/hip/ops.hip"),
                ("csrc/norm.cu", "csrc/norm_hip.cu"),
                ("requirements-cuda.txt", "requirements-rocm.txt"),
            ]
        );
    }
}
