//! HW014: Triton, required beside the one that PyTorch brings.

use crate::checker::Checker;
use crate::facts::Installer;
use hipward_analyzer_core::diagnostic::Suggestion;
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `triton` pinned to one version among what pip is asked for, and Triton's former name for ROCm.
    ///
    /// ## Why on ROCm
    ///
    /// PyTorch's ROCm wheels ask for the Triton they were tested with under a name of its own: `triton-rocm`, before PyTorch 2.10
    /// `pytorch-triton-rocm`. To pip that is another package than `triton`, so a requirement on `triton` puts PyPI's into the same
    /// folder, over the other. With another version in it, `torch.compile` and kernels fail in ways that name neither. On
    /// CUDA the two requirements are one package, and the resolver sees the conflict.
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
    /// A requirement without a version, or with a marker for a machine, is left alone.
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
        title: "PyTorch for ROCm brings its own Triton",
        family: BuildFiles,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target; the name depends on PyTorch's version",
        lesson: None,
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &Checker<'_>) {
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
            // Any version may well be the one that PyTorch wants; a pinned one is that by chance.
            "triton" if requirement.specifier.as_str().starts_with("==") => cx.report(
                &RULE,
                Severity::Warning,
                range,
                format!(
                    "PyTorch's ROCm wheels bring Triton as {own}; pip puts this one into the same folder, over it."
                ),
                Suggestion::display_only("Leave the version to PyTorch"),
            ),
            "pytorch-triton-rocm" if renamed => cx.report(
                &RULE,
                Severity::Warning,
                range,
                "Since PyTorch 2.10 this package is triton-rocm; the old one lands in the same folder.",
                Suggestion::display_only("Leave it to PyTorch"),
            ),
            _ => {}
        }
    }
}
