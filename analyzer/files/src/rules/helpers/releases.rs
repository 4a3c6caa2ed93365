//! Releases of PyTorch and the ROCm version of their newest build in PyTorch's own indexes.
//!
//! `tools/check-releases` compares the tables with the package indexes and lists the releases that are missing.

use hipward_analyzer_core::Version;

/// A PyTorch release.
struct Torch {
    release: Version,
    /// The newest index of `download.pytorch.org` with a build of the release.
    rocm: &'static str,
    /// Where this is stated.
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "checked by a test and by tools/check-releases")
    )]
    source: &'static str,
}

const fn torch(major: u16, minor: u16, rocm: &'static str, source: &'static str) -> Torch {
    Torch {
        release: Version::new(major, minor),
        rocm,
        source,
    }
}

/// Read on 23 November 2026.
const TORCH: &[Torch] = &[
    torch(
        2,
        3,
        "6.0",
        "https://download.pytorch.org/whl/rocm6.0/torch/",
    ),
    torch(
        2,
        4,
        "6.1",
        "https://github.com/pytorch/pytorch.github.io/pull/1683",
    ),
    torch(
        2,
        5,
        "6.2",
        "https://github.com/pytorch/pytorch.github.io/pull/1880",
    ),
    torch(
        2,
        6,
        "6.2.4",
        "https://pytorch.org/get-started/previous-versions/",
    ),
    torch(
        2,
        7,
        "6.3",
        "https://download.pytorch.org/whl/rocm6.3/torch/",
    ),
    torch(
        2,
        8,
        "6.4",
        "https://download.pytorch.org/whl/rocm6.4/torch/",
    ),
    torch(
        2,
        9,
        "6.4",
        "https://pytorch.org/get-started/previous-versions/",
    ),
    torch(
        2,
        10,
        "7.1",
        "https://download.pytorch.org/whl/rocm7.1/torch/",
    ),
    torch(
        2,
        11,
        "7.2",
        "https://download.pytorch.org/whl/rocm7.2/torch/",
    ),
    torch(
        2,
        12,
        "7.2",
        "https://download.pytorch.org/whl/rocm7.2/torch/",
    ),
    torch(
        2,
        13,
        "7.2",
        "https://download.pytorch.org/whl/rocm7.2/torch/",
    ),
    torch(
        2,
        14,
        "7.2",
        "https://download.pytorch.org/whl/rocm7.2/torch/",
    ),
];

/// The first release of the table; earlier ones have no build for ROCm 6.
pub(crate) const FIRST_TORCH: Version = Version::new(2, 3);

/// The ROCm version of the newest build of a release in PyTorch's indexes; `None` if it is not in the table.
pub(crate) fn rocm_of_torch(release: Version) -> Option<&'static str> {
    TORCH
        .iter()
        .find(|torch| torch.release == release)
        .map(|torch| torch.rocm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_have_a_source() {
        assert_eq!(TORCH[0].release, FIRST_TORCH);
        assert!(TORCH.is_sorted_by(|a, b| a.release < b.release));
        for torch in TORCH {
            assert!(torch.source.starts_with("https://"), "{}", torch.release);
            assert!(torch.rocm.contains('.'), "{}", torch.release);
        }
        assert_eq!(rocm_of_torch(Version::new(2, 6)), Some("6.2.4"));
        assert_eq!(rocm_of_torch(Version::new(1, 13)), None);
    }
}
