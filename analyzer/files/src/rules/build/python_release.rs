//! HW018: a release of Python without wheels of PyTorch for ROCm.

use std::ops::Range;

use crate::checker::FileChecker;
use crate::rules::helpers::releases::oldest_python;
use crate::rules::helpers::specifiers::newest;
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds a release of Python that is older than those which the target's PyTorch has wheels for, in a file about
    /// PyTorch: in a conda environment, in `conda create`, `virtualenv` and `uv venv`, and in the image `python:…`.
    ///
    /// ## Why on ROCm
    ///
    /// A CUDA build of PyTorch exists for each Python that a project was written for. The builds for ROCm 7 are of current
    /// releases of PyTorch: 2.9 and later have wheels for Python 3.10 and later only, 2.5 to 2.8 for Python 3.9 and later.
    /// With an older Python pip finds no distribution in the index, or takes PyPI's CUDA build of an old release.
    ///
    /// ## Example
    ///
    /// ```shell
    /// conda create -n acme python=3.8
    /// conda activate acme
    /// pip install torch --index-url https://download.pytorch.org/whl/rocm7.2
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```shell
    /// conda create -n acme python=3.12
    /// conda activate acme
    /// pip install torch --index-url https://download.pytorch.org/whl/rocm7.2
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: other packages may have no build for the newer Python.
    ///
    /// ## References
    ///
    /// * [PyTorch: releases and the Python versions that they support](https://github.com/pytorch/pytorch/blob/main/RELEASE.md#release-compatibility-matrix)
    /// * [PyTorch's ROCm wheels](https://download.pytorch.org/whl/torch/)
    "HW018" "python-release" {
        title: "This Python has no PyTorch for ROCm",
        family: BuildFiles,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target; the limit depends on the target's PyTorch release",
        lesson: Some("port/right-pytorch"),
        files: [Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    if !cx.source.contains("torch") {
        return;
    }
    for requirement in &cx.facts.requirements {
        if !requirement.guarded && requirement.normalized() == "python" {
            // conda's `=3.8` is any patch.
            let specifier = requirement.specifier.as_str().trim_start_matches('=');
            report(cx, specifier, requirement.whole.range());
        }
    }
    for image in cx.facts.images.iter().filter(|image| !image.guarded) {
        if let Some(tag) = image.name.as_str().strip_prefix("python:") {
            report(
                cx,
                tag.split('-').next().unwrap_or_default(),
                image.name.range(),
            );
        }
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        let makes = match command.program() {
            "virtualenv" => true,
            "uv" => command
                .words
                .get(1)
                .is_some_and(|word| word.as_str() == "venv"),
            _ => false,
        };
        for option in command.words.windows(2).filter(|_| makes) {
            if matches!(option[0].as_str(), "-p" | "--python") {
                let release = option[1].as_str().trim_start_matches("python");
                report(cx, release, option[1].range());
            }
        }
    }
}

fn report(cx: &FileChecker<'_>, specifier: &str, range: Range<usize>) {
    let oldest = oldest_python(cx.target.torch);
    let Some(newest) = newest(specifier).map(|release| release.minor()) else {
        return;
    };
    // `python:3` is the current release.
    if newest >= oldest || newest.major != 3 || !specifier.contains('.') {
        return;
    }
    let message = format!(
        "PyTorch {} for ROCm has no wheel for Python {newest}; {oldest} is the oldest.",
        cx.target.torch
    );
    let fix = RawFix::display_only(format!(
        "Use Python {}, or the newest from {oldest} on that the other requirements support",
        cx.target.python
    ));
    cx.report(&RULE, Severity::Warning, range, message, fix);
}
