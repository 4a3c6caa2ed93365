//! HW001: a package index that serves CUDA wheels.

use crate::checker::Checker;
use crate::rules::helpers::wheels;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::Suggestion;
use hipward_analyzer_core::{Language, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds package indexes of wheels that are built for one CUDA version, such as
    /// `https://download.pytorch.org/whl/cu124`, wherever one is named: requirements, `pyproject.toml`, Dockerfiles,
    /// scripts, workflows, conda environments.
    ///
    /// ## Why on ROCm
    ///
    /// PyTorch from such an index installs without a word on a machine with AMD GPUs, and then
    /// `torch.cuda.is_available()` is false: the wheel holds no code for them. The same project's wheels for ROCm have an
    /// index of their own beside it, `…/whl/rocm7.2`. From ROCm 7.13 on AMD has one too, with wheels for each GPU
    /// architecture.
    ///
    /// ## Example
    ///
    /// ```requirements
    /// --index-url https://download.pytorch.org/whl/cu124
    /// torch
    /// ```
    ///
    /// ```dockerfile
    /// FROM ubuntu:24.04
    /// RUN pip install torch --index-url https://download.pytorch.org/whl/cu126
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```requirements
    /// --index-url https://download.pytorch.org/whl/rocm7.2
    /// torch
    /// ```
    ///
    /// ```dockerfile
    /// FROM ubuntu:24.04
    /// RUN pip install torch --index-url https://download.pytorch.org/whl/rocm7.2
    /// ```
    ///
    /// A file that names a ROCm index as well, or names this one in a branch for CUDA, is left alone.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: NVIDIA hosts need the old index, and not each PyTorch release is in each index. Other projects' indexes are
    /// only named: most have none for ROCm.
    ///
    /// ## References
    ///
    /// * [PyTorch: start locally](https://pytorch.org/get-started/locally/)
    /// * [Install PyTorch on ROCm](https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html)
    "HW001" "cuda-wheel-index" {
        title: "The index has wheels for CUDA",
        family: BuildFiles,
        severity: Error,
        also: [
            Warning "for an index that has NVIDIA's own packages",
            Info "for one of several indexes to choose from, or behind a condition",
        ],
        applicability: Unsafe,
        targets: "every ROCm target; the index depends on the ROCm version",
        lesson: None,
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

/// Hosts whose index has nothing but NVIDIA's packages.
const NVIDIA: &[&str] = &["//pypi.nvidia.com", "//pypi.ngc.nvidia.com"];

fn check(cx: &Checker<'_>) {
    let is_rocm = |index: &Text<'_>| index.as_str().contains("rocm");
    if cx.facts.indexes.iter().any(is_rocm) || cx.is_ported {
        return;
    }
    // An index for the CPU beside it: an extra or a group says which.
    let is_chosen = cx.language == Language::Pyproject
        && cx
            .facts
            .indexes
            .iter()
            .any(|index| index.as_str().ends_with("/whl/cpu"));
    for index in &cx.facts.indexes {
        let url = index.as_str();
        if NVIDIA.iter().any(|host| url.contains(host)) {
            cx.report(
                &RULE,
                Severity::Warning,
                index.range(),
                "This index has NVIDIA's own packages; none of them is for an AMD GPU.",
                Suggestion::display_only("Leave it out on ROCm, with what comes from it"),
            );
            continue;
        }
        let Some(segment) = wheels::cuda_segment(url) else {
            continue;
        };
        if is_chosen {
            cx.report(
                &RULE,
                Severity::Info,
                index.range(),
                "One of the indexes to choose from is for NVIDIA GPUs; none is for AMD's.",
                Suggestion::display_only(format!(
                    "Add one for {} beside it",
                    wheels::index(cx.target)
                )),
            );
            continue;
        }
        cx.report(
            &RULE,
            Severity::Error,
            index.range(),
            "Wheels from this index hold code for NVIDIA GPUs only; on ROCm they install and then find no GPU.",
            fix(cx, *index, segment),
        );
    }
}

fn fix(cx: &Checker<'_>, index: Text<'_>, segment: std::ops::Range<usize>) -> Suggestion {
    let rocm = wheels::index(cx.target);
    let title = format!("Take the index {rocm}");
    let is_literal = !index.as_str().contains(['$', '{']);
    if is_literal && index.as_str().contains("//download.pytorch.org/whl/") {
        return Suggestion::unsafe_edits(title, vec![(index.part(segment).range(), rocm)]);
    }
    if index.as_str().contains("//download.pytorch.org/") {
        return Suggestion::display_only(title);
    }
    Suggestion::display_only(if cx.target.rocm >= Version::new(7, 13) {
        "Look for the project's ROCm wheels, at AMD's index (https://repo.amd.com/rocm/whl-multi-arch/) too, or build it"
    } else {
        "Look for the project's ROCm wheels, or build it from source"
    })
}
