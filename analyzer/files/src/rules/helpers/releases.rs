//! Which releases of PyTorch and of other packages support which ROCm versions and GPUs. Not a rule.
//!
//! Each row has a source. `tools/check-releases` compares the tables with the package indexes and lists the rows that
//! are out of date.

use hipward_analyzer_core::{Arch, Target, Version};

use super::specifiers::Release;

/// A PyTorch release.
struct Torch {
    release: Version,
    /// The newest index of `download.pytorch.org` with a build of the release.
    rocm: &'static str,
    /// Where this is stated, for a test and tools/check-releases.
    #[cfg(test)]
    source: &'static str,
}

const fn torch(major: u16, minor: u16, rocm: &'static str, source: &'static str) -> Torch {
    // The browser's module does not contain it.
    let _ = source;
    Torch {
        release: Version::new(major, minor),
        rocm,
        #[cfg(test)]
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
        "7.14",
        "https://github.com/pytorch/test-infra/pull/8498",
    ),
    // 2.15 is on PyPI. No source was found that states the ROCm index of its stable build.
];

/// The first release of the table; earlier ones have no build for ROCm 6.
pub(crate) const FIRST_TORCH: Version = Version::new(2, 3);

/// The release of torchvision for a release of PyTorch 2: 0.15 for 2.0.
pub(crate) const fn torchvision_of(torch: Version) -> Version {
    Version::new(0, torch.minor + 15)
}

/// The oldest Python that a PyTorch release has wheels for, by pip's resolution of 2.4.1, 2.5.0, 2.8.0, 2.9.0 and 2.12.0.
pub(crate) fn oldest_python(torch: Version) -> Version {
    match (torch.major, torch.minor) {
        (0..=1, _) | (2, ..=4) => Version::new(3, 8),
        (2, ..=8) => Version::new(3, 9),
        _ => Version::new(3, 10),
    }
}

/// The ROCm version of the newest build of a release in PyTorch's indexes; `None` if it is not in the table.
pub(crate) fn rocm_of_torch(release: Version) -> Option<&'static str> {
    TORCH
        .iter()
        .find(|torch| torch.release == release)
        .map(|torch| torch.rocm)
}

/// The support for AMD GPUs of a package.
struct Package {
    name: &'static str,
    /// The newest release when the table was written; `tools/check-releases` reports newer ones.
    #[cfg_attr(not(test), allow(dead_code, reason = "read by tools/check-releases"))]
    newest: Release,
    /// From the oldest release on. Releases before the first row have no support.
    rows: &'static [Row],
}

/// The support in a release, and in later ones until the next row.
struct Row {
    from: Release,
    rocm: Rocm,
    archs: &'static [Arch],
    /// Where this is stated, for this release.
    #[cfg(test)]
    source: &'static str,
}

/// The ROCm versions that a release supports.
enum Rocm {
    From(Version),
    /// Its wheels are built for these versions.
    Builds(&'static [Version]),
    /// Its wheels are built for these versions, and run with every later minor version.
    BuildsOfMajor(&'static [Version]),
}

const fn release(major: u16, minor: u16, patch: u16) -> Release {
    Release([major, minor, patch])
}

const fn rocm(major: u16, minor: u16) -> Version {
    Version::new(major, minor)
}

/// Read on 25 November 2026.
const PACKAGES: &[Package] = &[
    Package {
        name: "bitsandbytes",
        newest: release(0, 50, 2),
        // Earlier wheels contain no libraries for ROCm.
        rows: &[
            Row {
                from: release(0, 49, 0),
                rocm: Rocm::Builds(&[rocm(6, 2), rocm(6, 3), rocm(6, 4), rocm(7, 0), rocm(7, 1)]),
                archs: &[
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx950,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.49.0/docs/source/installation.mdx",
            },
            Row {
                from: release(0, 49, 2),
                rocm: Rocm::Builds(&[
                    rocm(6, 2),
                    rocm(6, 3),
                    rocm(6, 4),
                    rocm(7, 0),
                    rocm(7, 1),
                    rocm(7, 2),
                ]),
                archs: &[
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx950,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.49.2/docs/source/installation.mdx",
            },
            Row {
                from: release(0, 50, 0),
                rocm: Rocm::BuildsOfMajor(&[
                    rocm(6, 4),
                    rocm(7, 0),
                    rocm(7, 1),
                    rocm(7, 2),
                    rocm(7, 14),
                ]),
                archs: &[
                    Arch::Gfx908,
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx950,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.50.0/docs/source/installation.mdx",
            },
            Row {
                from: release(0, 50, 1),
                rocm: Rocm::BuildsOfMajor(&[
                    rocm(6, 4),
                    rocm(7, 0),
                    rocm(7, 1),
                    rocm(7, 2),
                    rocm(7, 14),
                ]),
                archs: &Arch::ALL,
                #[cfg(test)]
                source: "https://github.com/bitsandbytes-foundation/bitsandbytes/blob/0.50.1/docs/source/installation.mdx",
            },
        ],
    },
    Package {
        name: "flash-attn",
        newest: release(2, 8, 3),
        rows: &[
            Row {
                from: release(2, 6, 2),
                rocm: Rocm::From(rocm(6, 0)),
                archs: &[Arch::Gfx90a, Arch::Gfx942],
                #[cfg(test)]
                source: "https://github.com/Dao-AILab/flash-attention/blob/v2.6.2/README.md",
            },
            // The backend in Triton, for Radeon GPUs too.
            Row {
                from: release(2, 7, 1),
                rocm: Rocm::From(rocm(6, 0)),
                archs: &[
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://github.com/Dao-AILab/flash-attention/blob/v2.7.1/README.md",
            },
            Row {
                from: release(2, 8, 0),
                rocm: Rocm::From(rocm(6, 0)),
                archs: &[
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx950,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://github.com/Dao-AILab/flash-attention/blob/v2.8.0/setup.py",
            },
        ],
    },
    Package {
        name: "triton",
        newest: release(3, 9, 0),
        // PyPI's wheels of 2.3 and earlier have no AMD backend. Of later ones, the backend of 3.0 and 3.1 names neither
        // gfx12 nor gfx950, and a matrix product does not compile for gfx1250 with 3.4 and 3.5 (tried on 25 November
        // 2026). Releases that were not tried count as supporting everything that a later one supports.
        rows: &[
            Row {
                from: release(3, 0, 0),
                rocm: Rocm::From(rocm(6, 0)),
                archs: &[
                    Arch::Gfx908,
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                ],
                #[cfg(test)]
                source: "https://pypi.org/project/triton/3.1.0/",
            },
            Row {
                from: release(3, 2, 0),
                rocm: Rocm::From(rocm(6, 0)),
                archs: &[
                    Arch::Gfx908,
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx950,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://pypi.org/project/triton/3.5.0/",
            },
            Row {
                from: release(3, 6, 0),
                rocm: Rocm::From(rocm(6, 0)),
                archs: &Arch::ALL,
                #[cfg(test)]
                source: "https://pypi.org/project/triton/3.6.0/",
            },
        ],
    },
    Package {
        name: "vllm",
        newest: release(0, 33, 0),
        rows: &[
            Row {
                from: release(0, 2, 4),
                rocm: Rocm::From(rocm(5, 7)),
                archs: &[Arch::Gfx90a, Arch::Gfx942, Arch::Gfx1100],
                #[cfg(test)]
                source: "https://docs.vllm.ai/en/v0.4.0.post1/getting_started/amd-installation.html",
            },
            // The guides of 0.7 and 0.8 were not read; this is the list of 0.9.
            Row {
                from: release(0, 7, 0),
                rocm: Rocm::From(rocm(6, 2)),
                archs: &[
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://docs.vllm.ai/en/v0.9.0/getting_started/installation/gpu.html",
            },
            // The guide of 0.10 was not read; this is the list of 0.11.
            Row {
                from: release(0, 10, 0),
                rocm: Rocm::From(rocm(6, 3)),
                archs: &[
                    Arch::Gfx90a,
                    Arch::Gfx942,
                    Arch::Gfx950,
                    Arch::Gfx1100,
                    Arch::Gfx1101,
                    Arch::Gfx1200,
                    Arch::Gfx1201,
                ],
                #[cfg(test)]
                source: "https://docs.vllm.ai/en/v0.11.0/getting_started/installation/gpu.html",
            },
        ],
    },
    Package {
        name: "xformers",
        newest: release(0, 0, 35),
        // The wheels in PyTorch's indexes, built for Composable Kernel.
        rows: &[
            Row {
                from: release(0, 0, 28),
                rocm: Rocm::BuildsOfMajor(&[rocm(6, 1)]),
                archs: &Arch::ALL,
                #[cfg(test)]
                source: "https://github.com/facebookresearch/xformers/blob/v0.0.28/README.md",
            },
            Row {
                from: release(0, 0, 30),
                rocm: Rocm::BuildsOfMajor(&[rocm(6, 2), rocm(6, 3)]),
                archs: &Arch::ALL,
                #[cfg(test)]
                source: "https://github.com/facebookresearch/xformers/blob/v0.0.30/.github/workflows/wheels.yml",
            },
            Row {
                from: release(0, 0, 32),
                rocm: Rocm::BuildsOfMajor(&[rocm(6, 4)]),
                archs: &Arch::ALL,
                #[cfg(test)]
                source: "https://github.com/facebookresearch/xformers/blob/v0.0.32.post2/.github/workflows/wheels.yml",
            },
            Row {
                from: release(0, 0, 34),
                rocm: Rocm::BuildsOfMajor(&[rocm(7, 1)]),
                archs: &Arch::ALL,
                #[cfg(test)]
                source: "https://github.com/facebookresearch/xformers/blob/v0.0.34/.github/workflows/wheels.yml",
            },
        ],
    },
];

/// Why a release of a package does not run on the target, as a sentence; `None` if it does, or if the package is not in
/// the tables.
pub(crate) fn obstacle(package: &str, release: Release, target: &Target) -> Option<String> {
    let package = PACKAGES.iter().find(|known| known.name == package)?;
    let name = package.name;
    let first = package.rows.first()?;
    let Some(row) = package.rows.iter().rev().find(|row| row.from <= release) else {
        return Some(format!(
            "{name} {release} has no support for AMD GPUs; the first release with it is {}.",
            first.from
        ));
    };
    let arch = target.arch;
    if !row.archs.contains(&arch) {
        let later = package
            .rows
            .iter()
            .find(|later| later.from > release && later.archs.contains(&arch));
        let since = match later {
            Some(later) => format!("; {} does", later.from),
            None => String::new(),
        };
        return Some(format!(
            "{name} {release} does not support {}{since}.",
            arch.name()
        ));
    }
    row.rocm.obstacle(target).map(|supported| {
        format!(
            "{name} {release} is built for ROCm {supported}, not for {}.",
            target.rocm
        )
    })
}

impl Rocm {
    /// The supported versions, if the target's is none of them.
    fn obstacle(&self, target: &Target) -> Option<String> {
        // PyTorch's wheels contain the libraries of their ROCm version.
        let of_torch = rocm_of_torch(target.torch)
            .and_then(|version| Version::try_from(version.to_owned()).ok());
        let versions = [Some(target.rocm), of_torch];
        let mut versions = versions.into_iter().flatten();
        match self {
            Rocm::From(first) => (target.rocm < *first).then(|| format!("{first} and later")),
            Rocm::Builds(builds) => {
                (!versions.any(|version| builds.contains(&version))).then(|| list(builds))
            }
            Rocm::BuildsOfMajor(builds) => {
                let has_major = |version: Version| {
                    builds
                        .iter()
                        .any(|build| build.major == version.major && *build <= version)
                };
                (!versions.any(has_major)).then(|| list(builds))
            }
        }
    }
}

/// `6.2, 6.3 and 6.4`
fn list(versions: &[Version]) -> String {
    let mut text = String::new();
    for (at, version) in versions.iter().enumerate() {
        let separator = match at {
            0 => "",
            _ if at + 1 == versions.len() => " and ",
            _ => ", ",
        };
        text.push_str(separator);
        text.push_str(&version.to_string());
    }
    text
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

    #[test]
    fn rows_of_packages_are_in_order_and_have_a_source_each() {
        for package in PACKAGES {
            assert!(
                package.rows.is_sorted_by(|a, b| a.from < b.from),
                "{}",
                package.name
            );
            for row in package.rows {
                assert!(row.source.starts_with("https://"), "{}", package.name);
                assert!(row.from <= package.newest, "{}", package.name);
            }
        }
    }

    #[test]
    fn obstacle_names_the_first_release_that_supports_the_target() {
        let obstacle = |name, release, arch, rocm, torch| {
            let target = Target {
                arch,
                rocm,
                torch,
                ..Target::default()
            };
            obstacle(name, release, &target)
        };
        let (rocm7, torch) = (rocm(7, 14), Version::new(2, 12));
        let gfx950 = |name, release| obstacle(name, release, Arch::Gfx950, rocm7, torch);
        assert_eq!(
            gfx950("flash-attn", release(2, 5, 8)).as_deref(),
            Some(
                "flash-attn 2.5.8 has no support for AMD GPUs; the first release with it is 2.6.2."
            )
        );
        assert_eq!(
            gfx950("flash-attn", release(2, 7, 4)).as_deref(),
            Some("flash-attn 2.7.4 does not support gfx950; 2.8.0 does.")
        );
        assert_eq!(gfx950("flash-attn", release(2, 8, 3)), None);
        // PyTorch 2.12 is built for ROCm 7.2.
        assert_eq!(gfx950("bitsandbytes", release(0, 49, 2)), None);
        assert_eq!(
            gfx950("bitsandbytes", release(0, 49, 1)).as_deref(),
            Some("bitsandbytes 0.49.1 is built for ROCm 6.2, 6.3, 6.4, 7.0 and 7.1, not for 7.14.")
        );
        assert_eq!(gfx950("bitsandbytes", release(0, 50, 0)), None);
        assert_eq!(
            gfx950("xformers", release(0, 0, 33)).as_deref(),
            Some("xformers 0.0.33 is built for ROCm 6.4, not for 7.14.")
        );
        assert_eq!(gfx950("xformers", release(0, 0, 35)), None);
        assert_eq!(
            obstacle("vllm", release(0, 31, 0), Arch::Gfx908, rocm7, torch).as_deref(),
            Some("vllm 0.31.0 does not support gfx908.")
        );
        assert_eq!(
            gfx950("triton", release(3, 1, 0)).as_deref(),
            Some("triton 3.1.0 does not support gfx950; 3.2.0 does.")
        );
        assert_eq!(gfx950("numpy", release(2, 0, 0)), None);
    }
}
