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
    /// wheel for Python 3.10 or later, or for the target's Python, in a file about
    /// PyTorch or beside Python code that imports it.
    ///
    /// ## Why on ROCm
    ///
    /// The builds of PyTorch for ROCm 7 begin with Python 3.10. A project that pins all packages as of 2021 cannot keep the other pins there:
    /// pip compiles the old release from source, which usually fails.
    ///
    /// ROCm's images with PyTorch have Python 3.12. A file that chooses Python 3.10 or 3.11 itself is judged by that.
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
    /// numpy>=1.26
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
        targets: "targets with PyTorch 2.9 or later; the target's Python decides",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

/// A package that is compiled for each Python. The first releases with a wheel for Linux (x86-64), as pip finds them: for
/// Python 3.10, and for 3.12. For some packages of each major release.
type Row = (&'static str, [u16; 3], [u16; 3]);

const FIRST: &[Row] = &[
    ("numpy", [1, 21, 2], [1, 26, 0]),
    ("scipy", [1, 7, 2], [1, 11, 2]),
    ("pandas", [1, 3, 3], [2, 1, 1]),
    ("scikit-learn", [1, 0, 2], [1, 3, 1]),
    ("scikit-image", [0, 19, 0], [0, 22, 0]),
    ("matplotlib", [3, 5, 0], [3, 7, 3]),
    ("h5py", [3, 6, 0], [3, 10, 0]),
    ("pillow", [8, 3, 2], [10, 0, 0]),
    ("numba", [0, 55, 0], [0, 59, 0]),
    ("llvmlite", [0, 38, 0], [0, 42, 0]),
    ("sentencepiece", [0, 1, 96], [0, 2, 0]),
    ("tokenizers", [0, 11, 5], [0, 14, 0]),
    ("pyarrow", [6, 0, 0], [14, 0, 0]),
    ("grpcio", [1, 41, 0], [1, 59, 0]),
    ("tensorflow", [2, 8, 0], [2, 16, 1]),
    ("open3d", [0, 16, 0], [0, 19, 0]),
    ("lxml", [4, 6, 3], [4, 9, 3]),
    ("shapely", [1, 8, 0], [2, 0, 2]),
    ("safetensors", [0, 2, 0], [0, 4, 0]),
    ("tensorflow-cpu", [2, 8, 0], [2, 16, 1]),
    ("tensorflow-text", [2, 8, 1], [2, 18, 1]),
    ("onnx", [1, 12, 0], [1, 16, 0]),
    ("onnxruntime", [1, 12, 0], [1, 17, 0]),
    ("ray", [1, 13, 0], [2, 31, 0]),
    ("ortools", [9, 3, 0], [9, 7, 0]),
    ("faiss-cpu", [1, 7, 2], [1, 8, 0]),
    ("statsmodels", [0, 13, 1], [0, 14, 0]),
    ("pywavelets", [1, 2, 0], [1, 5, 0]),
    ("vtk", [9, 2, 2], [9, 3, 0]),
    ("simpleitk", [2, 1, 1], [2, 3, 1]),
    ("tables", [3, 7, 0], [3, 9, 0]),
    ("numexpr", [2, 8, 0], [2, 8, 7]),
    ("dm-tree", [0, 1, 6], [0, 1, 8]),
    ("pyyaml", [6, 0, 0], [6, 0, 1]),
    ("aiohttp", [3, 8, 0], [3, 9, 0]),
    ("greenlet", [1, 1, 0], [3, 0, 0]),
    ("opencv-python", [3, 4, 16], [3, 4, 17]),
    ("opencv-python", [4, 5, 4], [4, 5, 5]),
    ("opencv-contrib-python", [4, 5, 4], [4, 5, 5]),
    ("opencv-python-headless", [4, 5, 4], [4, 5, 5]),
];

/// The first Python of the second column.
const SECOND: Version = Version::new(3, 12);

fn check(cx: &FileChecker<'_>) {
    let oldest = oldest_python(cx.target.torch);
    if oldest < Version::new(3, 10) || !is_about_pytorch(cx) {
        return;
    }
    let python = python(cx);
    let requirements = cx.facts.requirements.iter();
    for requirement in requirements.filter(|found| !found.guarded && !is_left_out(cx, found)) {
        let name = requirement.normalized();
        let Some(release) = newest(requirement.specifier.as_str()) else {
            continue;
        };
        if name == "transformers" {
            report_transformers(cx, requirement, release, python);
            continue;
        }
        if needs_no_wheel(&name, release) {
            continue;
        }
        let rows = FIRST.iter().filter(|(package, ..)| *package == name);
        // The row of the same major release, else the last one.
        let Some((_, first, second)) = rows.max_by_key(|(_, first, _)| first[0] == release.0[0])
        else {
            continue;
        };
        let (message, needed) = if release < Release(*first) {
            let message = format!(
                "{name} {release} has no wheel for Python {oldest} or later, which PyTorch {} for ROCm needs.",
                cx.target.torch
            );
            (message, if python >= SECOND { second } else { first })
        } else if release < Release(*second) && python >= SECOND {
            let message = format!(
                "{name} {release} has no wheel for Python {python}: pip compiles it, which usually fails."
            );
            (message, second)
        } else {
            continue;
        };
        let needed = Release(*needed);
        let fix = RawFix::display_only(format!("Allow {name} {needed} or later"));
        cx.report(
            &RULE,
            Severity::Warning,
            requirement.whole.range(),
            message,
            fix,
        );
    }
}

/// Old releases that need no compiled code: PyYAML before 5.4, whose source does not require Cython, and aiohttp before 3.7.
fn needs_no_wheel(name: &str, release: Release) -> bool {
    match name {
        "pyyaml" => release < Release([5, 4, 0]),
        "aiohttp" => release < Release([3, 7, 0]),
        _ => false,
    }
}

/// The releases of transformers that require tokenizers before 0.14, from the metadata of their wheels: 4.20.1 to 4.33.3.
fn report_transformers(
    cx: &FileChecker<'_>,
    requirement: &Requirement<'_>,
    release: Release,
    python: Version,
) {
    if python >= SECOND && (Release([4, 20, 0])..Release([4, 34, 0])).contains(&release) {
        let message = format!(
            "transformers {release} requires tokenizers before 0.14, which has no wheel for Python {python}."
        );
        let fix = RawFix::display_only("Allow transformers 4.34 or later");
        let range = requirement.whole.range();
        cx.report(&RULE, Severity::Warning, range, message, fix);
    }
}

/// Packages that projects with PyTorch require; PyTorch itself is installed before these files.
const COMPANIONS: &[&str] = &[
    "torch",
    "timm",
    "thop",
    "tensorboardX",
    "einops",
    "transformers",
];

fn is_about_pytorch(cx: &FileChecker<'_>) -> bool {
    cx.imports_torch || COMPANIONS.iter().any(|name| cx.source.contains(name))
}

/// The Python that the file chooses, if it is older than the target's and PyTorch has wheels for it.
fn python(cx: &FileChecker<'_>) -> Version {
    let own = cx.facts.requirements.iter().filter_map(|found| {
        let is_python = found.normalized() == "python";
        is_python.then(|| found.specifier.as_str().trim_start_matches('='))
    });
    let images = cx.facts.images.iter();
    let tags = images.filter_map(|image| image.name.as_str().strip_prefix("python:"));
    // `requires-python = ">=3.9,<3.12"`, and `python_version: "3.11"` in a cog.yaml.
    let of_project = cx.source.lines().filter_map(|line| {
        let line = line.trim_start();
        let value = line
            .strip_prefix("requires-python")
            .or_else(|| line.strip_prefix("python_version:"))?;
        Some(value.trim_start().trim_start_matches('=').trim())
    });
    own.chain(tags.filter_map(|tag| tag.split('-').next()))
        .chain(of_project)
        .filter_map(newest)
        .map(Release::minor)
        .filter(|python| *python >= oldest_python(cx.target.torch))
        .fold(cx.target.python, Version::min)
}

/// conda has builds of its own, a lock file is made anew, and a marker limits the Python: `; python_version < "3.10"`.
fn is_left_out(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    matches!(requirement.installer, Installer::Conda | Installer::Lock)
        || cx.rest_of_line(requirement).contains("python")
}
