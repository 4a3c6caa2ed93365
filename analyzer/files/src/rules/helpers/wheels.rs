//! The indexes of ROCm wheels of PyTorch, for the rules that name an index. Not a rule.

use hipward_analyzer_core::{Target, Version};

use super::releases::rocm_of_torch;

/// The ROCm versions for which download.pytorch.org has an index of stable wheels.
const INDEXES: &[Version] = &[
    Version::new(6, 0),
    Version::new(6, 1),
    Version::new(6, 2),
    Version::new(6, 3),
    Version::new(6, 4),
    Version::new(7, 0),
    Version::new(7, 1),
    Version::new(7, 2),
    Version::new(7, 14),
];

/// The index for the target: the newest one with its release of PyTorch, or else the newest one that is not newer than its
/// ROCm: `rocm7.2`. A wheel contains its own ROCm libraries.
pub(crate) fn index(target: &Target) -> String {
    let of_torch = rocm_of_torch(target.torch).filter(|version| {
        let version = match *version {
            "6.2.4" => "6.2",
            other => other,
        };
        Version::try_from(version.to_owned()).is_ok_and(|version| version <= target.rocm)
    });
    let fits = |version: &&Version| **version <= target.rocm;
    let newest = || INDEXES.iter().rev().find(fits).unwrap_or(&INDEXES[0]);
    match of_torch {
        Some(version) => format!("rocm{version}"),
        None => format!("rocm{}", newest()),
    }
}

/// The position in `text` of a CUDA version as a separate word: `cu124` in `…/whl/cu124/torch`.
pub(crate) fn cuda_segment(text: &str) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    for piece in text.split(['/', '+', '-', '_', '.', '=']) {
        if is_cuda_version(piece) {
            return Some(at..at + piece.len());
        }
        at += piece.len() + 1;
    }
    None
}

/// `cu118`, `cu13`, `cu${CUDA_VERSION}`; `"$CU` of `"$CU_VERSION"`, `${CUDA}`.
fn is_cuda_version(piece: &str) -> bool {
    if let Some(variable) = piece.trim_start_matches('"').strip_prefix('$') {
        let name = variable.trim_matches(['{', '}', '"']);
        return name == "CU" || name.starts_with("CUDA");
    }
    // The end of `${BACKEND:-cu126}`
    let Some(version) = piece.trim_end_matches('}').strip_prefix("cu") else {
        return false;
    };
    let is_number =
        (2..=3).contains(&version.len()) && version.bytes().all(|byte| byte.is_ascii_digit());
    is_number || version.starts_with(['$', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_has_the_release_of_the_target() {
        let of = |minor, rocm| {
            index(&Target {
                torch: Version::new(2, minor),
                rocm,
                ..Target::default()
            })
        };
        assert_eq!(of(14, Version::new(7, 14)), "rocm7.14");
        assert_eq!(of(12, Version::new(7, 14)), "rocm7.2");
        assert_eq!(of(9, Version::new(7, 2)), "rocm6.4");
        assert_eq!(of(6, Version::new(6, 2)), "rocm6.2.4");
        // No build of 2.14 is for ROCm 7.1.
        assert_eq!(of(14, Version::new(7, 1)), "rocm7.1");
        // A release that is not in the table.
        assert_eq!(of(99, Version::new(7, 14)), "rocm7.14");
    }
}
