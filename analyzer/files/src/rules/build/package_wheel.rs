//! HW019: pinned packages without a wheel for the Python that the target's PyTorch needs.

use crate::checker::FileChecker;
use crate::facts::{Installer, Requirement};
use crate::rules::helpers::releases::oldest_python;
use crate::rules::helpers::specifiers::{Release, newest};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds requirements that limit NumPy, SciPy, pandas, h5py, Matplotlib and other compiled packages to releases that have no
    /// wheel for Python 3.10 or later, in a file about PyTorch.
    ///
    /// ## Why on ROCm
    ///
    /// The builds of PyTorch for ROCm 7 begin with Python 3.10. A project that pins all packages as of 2021 cannot keep the other pins there:
    /// pip compiles the old release from source, which usually fails.
    ///
    /// Requirements with a marker for the Python, and those of conda and of lock files, are not reported.
    ///
    /// ## Example
    ///
    /// ```requirements
    /// torch
    /// numpy==1.19.5
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```requirements
    /// torch
    /// numpy>=1.21.2
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: a newer release may have changed what the code uses. NumPy 1.24, for instance, removed `np.float` and `np.int`.
    ///
    /// ## References
    ///
    /// * [Python packaging: platform compatibility tags](https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/)
    /// * [NumPy 1.21.2: release notes](https://numpy.org/doc/stable/release/1.21.2-notes.html)
    "HW019" "package-wheel" {
        title: "This release has no wheel for the Python that PyTorch needs",
        family: BuildFiles,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "targets with PyTorch 2.9 or later",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

/// The first release with a wheel for Python 3.10 on Linux (x86-64), as pip finds it; for some packages, of each
/// major release.
const FIRST: &[(&str, [u16; 3])] = &[
    ("numpy", [1, 21, 2]),
    ("scipy", [1, 7, 2]),
    ("pandas", [1, 3, 3]),
    ("scikit-learn", [1, 0, 2]),
    ("scikit-image", [0, 19, 0]),
    ("matplotlib", [3, 5, 0]),
    ("h5py", [3, 6, 0]),
    ("pillow", [8, 3, 2]),
    ("numba", [0, 55, 0]),
    ("llvmlite", [0, 38, 0]),
    ("sentencepiece", [0, 1, 96]),
    ("tokenizers", [0, 11, 5]),
    ("pyarrow", [6, 0, 0]),
    ("grpcio", [1, 41, 0]),
    ("tensorflow", [2, 8, 0]),
    ("open3d", [0, 16, 0]),
    ("opencv-python", [3, 4, 16]),
    ("opencv-python", [4, 5, 4]),
    ("opencv-contrib-python", [4, 5, 4]),
    ("opencv-python-headless", [4, 5, 4]),
];

fn check(cx: &FileChecker<'_>) {
    let oldest = oldest_python(cx.target.torch);
    if oldest < Version::new(3, 10) || !cx.source.contains("torch") {
        return;
    }
    let requirements = cx.facts.requirements.iter();
    for requirement in requirements.filter(|found| !found.guarded && !is_left_out(cx, found)) {
        let name = requirement.normalized();
        let Some(release) = newest(requirement.specifier.as_str()) else {
            continue;
        };
        let rows = FIRST.iter().filter(|(package, _)| *package == name);
        // The row of the same major release, else the last one.
        let row = rows.max_by_key(|(_, first)| first[0] == release.0[0]);
        let Some(first) = row
            .map(|(_, first)| Release(*first))
            .filter(|first| release < *first)
        else {
            continue;
        };
        let message = format!(
            "{name} {release} has no wheel for Python {oldest} or later, which PyTorch {} for ROCm needs.",
            cx.target.torch
        );
        let fix = RawFix::display_only(format!("Allow {name} {first} or later"));
        cx.report(
            &RULE,
            Severity::Warning,
            requirement.whole.range(),
            message,
            fix,
        );
    }
}

/// conda has builds of its own, a lock file is made anew, and a marker limits the Python: `; python_version < "3.10"`.
fn is_left_out(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    matches!(requirement.installer, Installer::Conda | Installer::Lock)
        || cx.rest_of_line(requirement).contains("python")
}
