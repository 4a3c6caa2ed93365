//! HW015: a PyTorch release that PyPI's CUDA wheel satisfies.

use crate::checker::FileChecker;
use crate::facts::{Installer, Requirement, contains, names_rocm};
use crate::rules::helpers::releases;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds requirements and `pip install` commands that limit `torch` to releases before the target's, without the
    /// index of a ROCm build, and `RUN pip install torch` in an image that does not contain PyTorch.
    ///
    /// ## Why on ROCm
    ///
    /// The wheel on PyPI is built for CUDA: it installs without an error and finds no AMD GPU. A ROCm build that is
    /// already installed satisfies `torch==2.12.0`, because pip ignores its local version `+rocm7.2`. With a requirement
    /// on a different release pip replaces the ROCm build by PyPI's wheel. The ROCm builds of a release are in one or
    /// two indexes; older releases have builds for older ROCm versions only, which do not support newer GPUs.
    ///
    /// ## Example
    ///
    /// ```requirements
    /// torch==2.3.0
    /// ```
    ///
    /// ```dockerfile
    /// FROM python:3.12
    /// RUN pip install torch==2.4.1
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```requirements
    /// torch>=2.3
    /// ```
    ///
    /// ```dockerfile
    /// FROM python:3.12
    /// RUN pip install torch --index-url https://download.pytorch.org/whl/rocm7.2
    /// ```
    ///
    /// A file that names an index of PyTorch wheels, and a requirement with a marker, is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the project may depend on the release.
    ///
    /// ## References
    ///
    /// * [PyTorch: installing previous versions](https://pytorch.org/get-started/previous-versions/)
    /// * [PyTorch's ROCm wheels](https://download.pytorch.org/whl/torch/)
    /// * [Version specifiers: local versions are ignored](https://packaging.python.org/en/latest/specifications/version-specifiers/#version-matching)
    "HW015" "torch-release" {
        title: "PyPI's PyTorch is built for CUDA",
        family: BuildFiles,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target; the limit is the target's PyTorch release",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    let names_wheels = |text: &str| text.contains("/whl") || text.contains("rocm");
    let images = &cx.facts.images;
    if cx.is_ported
        || cx
            .facts
            .indexes
            .iter()
            .any(|index| names_wheels(index.as_str()))
    {
        return;
    }
    let brings_torch = images.iter().any(|image| {
        let name = image.name.as_str();
        let has_only_rocm = name.contains("rocm/dev");
        image.guarded || name.contains("torch") || names_rocm(name) && !has_only_rocm
    });
    for requirement in cx.facts.requirements.iter().filter(|found| {
        !found.guarded
            && found.installer == Installer::Pip
            && found.normalized() == "torch"
            && !is_for_another_system(cx, found)
    }) {
        match newest(requirement) {
            Some(newest) if newest < cx.target.torch => report_old(cx, requirement, newest),
            // An image without PyTorch gets PyPI's wheel.
            _ if cx.language == Language::Dockerfile
                && !brings_torch
                && !images.is_empty()
                && !requirement.specifier.as_str().contains(['+', '@', '/']) =>
            {
                cx.report(
                    &RULE,
                    Severity::Warning,
                    requirement.whole.range(),
                    "Without an index this installs PyPI's wheel, which is built for CUDA and finds no AMD GPU.",
                    RawFix::display_only(format!(
                        "Add --index-url https://download.pytorch.org/whl/{}",
                        crate::rules::helpers::wheels::index(cx.target)
                    )),
                );
            }
            _ => {}
        }
    }
}

/// `torch==2.2.2; sys_platform == "darwin"`
fn is_for_another_system(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    let rest = cx.source.get(requirement.whole.range().end..);
    let marker = rest
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    contains(marker, "darwin") || contains(marker, "win32") || contains(marker, "windows")
}

fn report_old(cx: &FileChecker<'_>, requirement: &Requirement<'_>, newest: Version) {
    let built = match releases::rocm_of_torch(newest) {
        Some(rocm) => format!("; its ROCm build is in the index rocm{rocm}"),
        None if newest < releases::FIRST_TORCH => {
            "; PyTorch's indexes have no build of it for ROCm 6 or later".to_owned()
        }
        None => String::new(),
    };
    let message = format!(
        "PyPI's torch {newest} is built for CUDA, and pip installs it over a ROCm build of another release{built}."
    );
    let fix = RawFix::display_only(format!(
        "Allow PyTorch {}, and install it from an index for ROCm",
        cx.target.torch
    ));
    cx.report(
        &RULE,
        Severity::Warning,
        requirement.whole.range(),
        message,
        fix,
    );
}

/// The newest release, major and minor, that the specifier allows, if it has an upper limit: `==2.3.0`, `~=2.3.1`,
/// `>=2.0,<2.5`. None for a local version, which names its build, and for a URL.
fn newest(requirement: &Requirement<'_>) -> Option<Version> {
    let specifier = requirement
        .specifier
        .as_str()
        .trim_matches(['(', ')', '"', '\'']);
    if specifier.contains(['+', '@', '/', '$', '{']) {
        return None;
    }
    let limits = specifier.split(',').filter_map(|clause| {
        let clause = clause.trim();
        let digits = clause.find(|c: char| c.is_ascii_digit())?;
        let (sign, version) = clause.split_at(digits);
        let version = version.split(['*', ' ', ';']).next()?.trim_end_matches('.');
        let mut parts = version.split('.').map(str::parse::<u16>);
        let (major, minor) = (parts.next()?.ok()?, parts.next().unwrap_or(Ok(0)).ok()?);
        let has_patch = parts.next().is_some_and(|patch| patch != Ok(0));
        let exact = Version::new(major, minor);
        match sign.trim() {
            "==" | "===" | "<=" => Some(exact),
            // `~=2.3.1` allows 2.3.x; `~=2.3` allows every 2.x.
            "~=" if version.split('.').count() > 2 => Some(exact),
            "<" if has_patch => Some(exact),
            "<" if minor > 0 => Some(Version::new(major, minor - 1)),
            _ => None,
        }
    });
    limits.min()
}
