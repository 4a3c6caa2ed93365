//! The indexes of ROCm wheels of PyTorch, for the rules that name an index. Not a rule.

use hipward_analyzer_core::{Target, Version};

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
];

/// The newest index that is not newer than the target's ROCm: `rocm7.2`. A wheel contains its own ROCm libraries.
pub(crate) fn index(target: &Target) -> String {
    let fits = |version: &&Version| **version <= target.rocm;
    let version = INDEXES.iter().rev().find(fits).unwrap_or(&INDEXES[0]);
    format!("rocm{version}")
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

/// `cu118`, `cu13`, `cu${CUDA_VERSION}`
fn is_cuda_version(piece: &str) -> bool {
    let Some(version) = piece.strip_prefix("cu") else {
        return false;
    };
    let is_number =
        (2..=3).contains(&version.len()) && version.bytes().all(|byte| byte.is_ascii_digit());
    is_number || version.starts_with(['$', '{'])
}
