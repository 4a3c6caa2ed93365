//! HW014: Triton as a requirement, in addition to the one that PyTorch installs.

use crate::checker::FileChecker;
use crate::facts::Installer;
use crate::rules::helpers::releases;
use crate::rules::helpers::specifiers::newest;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `triton` in requirements for pip, and Triton's former package name for ROCm. A requirement that is not pinned to one version
    /// is information: PyPI's newest release may be the one of PyTorch's newest release.
    ///
    /// ## Why on ROCm
    ///
    /// PyTorch's ROCm wheels require the Triton version they were tested with under a separate name: `triton-rocm`,
    /// before PyTorch 2.10 `pytorch-triton-rocm`. For pip this is a different package from `triton`, so a requirement
    /// on `triton` installs PyPI's package into the same folder and overwrites the other. If the versions differ,
    /// `torch.compile` and kernels fail with errors that name neither package. On CUDA both requirements name the same
    /// package, and the resolver detects the conflict.
    ///
    /// ## Example
    ///
    /// ```requirements
    /// torch==2.12.0
    /// triton==3.4.0
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```requirements
    /// torch==2.12.0
    /// ```
    ///
    /// A requirement with a marker for another machine is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: a project without PyTorch needs the package.
    ///
    /// ## References
    ///
    /// * [Two copies of Triton: mamba#595](https://github.com/state-spaces/mamba/issues/595)
    /// * [A name for each platform: pytorch#186350](https://github.com/pytorch/pytorch/issues/186350)
    "HW014" "triton-package" {
        title: "PyTorch for ROCm installs its own Triton",
        family: BuildFiles,
        severity: Warning,
        also: [Info "for a requirement without a version"],
        applicability: DisplayOnly,
        targets: "every ROCm target; the name depends on PyTorch's version",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    let renamed = cx.target.torch >= Version::new(2, 10);
    let own = if renamed {
        "triton-rocm"
    } else {
        "pytorch-triton-rocm"
    };
    let asked = cx.facts.requirements.iter();
    for requirement in asked.filter(|found| !found.guarded && found.installer == Installer::Pip) {
        let range = requirement.name.range();
        match requirement.normalized().as_str() {
            "triton" => {
                // Poetry's form has no sign.
                let specifier = requirement.specifier.as_str();
                let version = specifier.trim_start_matches("==");
                let is_pinned = version.starts_with(|c: char| c.is_ascii_digit());
                let release = newest(specifier).filter(|_| is_pinned);
                let obstacle = release
                    .and_then(|release| releases::obstacle("triton", release, cx.target))
                    .map_or_else(String::new, |obstacle| format!(" {obstacle}"));
                // Without a version it may be the release that PyTorch requires; a pin is that only by chance.
                let severity = if is_pinned {
                    Severity::Warning
                } else {
                    Severity::Info
                };
                cx.report(
                    &RULE,
                    severity,
                    range,
                    format!(
                        "PyTorch's ROCm wheels install Triton as {own}; pip puts this one into the same folder, over it.{obstacle}"
                    ),
                    RawFix::display_only("Remove the requirement: PyTorch installs its Triton"),
                );
            }
            "pytorch-triton-rocm" if renamed => cx.report(
                &RULE,
                Severity::Warning,
                range,
                "Since PyTorch 2.10 this package is triton-rocm; the old one installs into the same folder.",
                RawFix::display_only("Let PyTorch install it"),
            ),
            _ => {}
        }
    }
}
