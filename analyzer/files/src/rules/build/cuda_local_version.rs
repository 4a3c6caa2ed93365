//! HW002: a version pinned to a CUDA build, such as `torch==2.4.0+cu124`.

use super::cuda_wheel_index;
use crate::checker::FileChecker;
use crate::facts::Requirement;
use crate::rules::helpers::specifiers::newest;
use crate::rules::helpers::{releases, wheels};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds requirements whose version ends in `+cu124`, `+pt26cu124` or similar, and such wheels that an argument names or `wget` downloads.
    ///
    /// ## Why on ROCm
    ///
    /// The part after the `+`, the local version, identifies the build. `+cu124` is the build for CUDA 12.4, and pip
    /// accepts no other: the ROCm build of the same release, `+rocm7.2`, does not match. The installation therefore
    /// fails, or installs a build that has no code for the GPU. Without the local version, the index determines the
    /// build.
    ///
    /// ## Example
    ///
    /// ```requirements
    /// torch==2.12.0+cu126
    /// torchvision==0.27.0+cu126
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```requirements
    /// torch==2.12.0
    /// torchvision==0.27.0
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the index then determines the build, and PyPI's is the one for CUDA. Display-only for a nightly build,
    /// for a release of PyTorch that no index for ROCm 6 or later has, and beside an index of PyTorch that stays an index
    /// for CUDA because it has no counterpart for this release.
    ///
    /// ## References
    ///
    /// * [Local version identifiers](https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers)
    /// * [PyTorch: start locally](https://pytorch.org/get-started/locally/)
    "HW002" "cuda-local-version" {
        title: "This version is a CUDA build",
        family: BuildFiles,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    let is_rocm = |specifier: &str| specifier.contains("+rocm");
    let requirements = &cx.facts.requirements;
    if cx.is_ported
        || requirements
            .iter()
            .any(|found| is_rocm(found.specifier.as_str()))
    {
        return;
    }
    // A wheel's address in an argument of an image, or that a script downloads
    let downloads = cx
        .facts
        .commands
        .iter()
        .filter(|command| !command.guarded && matches!(command.program(), "wget" | "curl"))
        .flat_map(|command| command.words.iter().copied());
    let settings = cx.facts.settings.iter().filter(|setting| !setting.guarded);
    for address in settings
        .map(|setting| setting.value.unquoted())
        .chain(downloads)
    {
        let is_wheel = address.as_str().contains("://") && address.as_str().ends_with(".whl");
        if is_wheel && address.as_str().contains("+cu") {
            cx.report(
                &RULE,
                Severity::Error,
                address.range(),
                "This wheel is a build for CUDA.",
                RawFix::display_only("Install a wheel for ROCm, or build it from source"),
            );
        }
    }
    for requirement in requirements.iter().filter(|found| !found.guarded) {
        let specifier = requirement.specifier;
        // An address has `%2B` for the plus, and `git+https` before it.
        let Some((plus, length)) = ["+", "%2B"].iter().find_map(|plus| {
            let at = specifier.as_str().rfind(plus)?;
            let local = specifier.from(at + plus.len()).as_str();
            let is_part =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '$' | '{' | '}' | '_');
            let length = local.find(|c| !is_part(c)).unwrap_or(local.len());
            names_cuda(&local[..length]).then_some((at, length))
        }) else {
            continue;
        };
        let is_address = specifier.as_str().contains("://");
        let name = requirement.name.as_str();
        let fix = if specifier.as_str().contains(".dev") {
            RawFix::display_only(
                "Use a release, or a build of PyTorch's nightly index for ROCm: PyPI has no nightly builds",
            )
        } else if is_address {
            RawFix::display_only(format!(
                "Install {name}'s wheel for ROCm, or build it from source"
            ))
        } else if let Some(release) = too_old(name, specifier.to(plus).as_str()) {
            RawFix::display_only(format!(
                "Use the release for PyTorch {}: no index for ROCm 6 or later has {name} {release}",
                cx.target.torch
            ))
        } else if keeps_cuda(cx, requirement) {
            RawFix::display_only(
                "Use a release that has a build for ROCm, and the index of that build",
            )
        } else {
            let edit = (
                specifier.part(plus..plus + 1 + length).range(),
                String::new(),
            );
            RawFix::unsafe_edits(
                "Remove the +cu suffix: the index selects the build",
                vec![edit],
            )
        };
        cx.report(
            &RULE,
            Severity::Error,
            requirement.whole.range().start
                ..specifier.range().end.max(requirement.whole.range().end),
            format!("This is {name}'s build for CUDA; no ROCm build has this version."),
            fix,
        );
    }
}

/// The release of one of PyTorch's packages, if it is older than all that PyTorch's indexes for ROCm 6 and later have.
fn too_old(name: &str, specifier: &str) -> Option<Version> {
    let first = match name {
        "torch" | "torchaudio" => releases::FIRST_TORCH,
        "torchvision" => releases::torchvision_of(releases::FIRST_TORCH),
        _ => return None,
    };
    let release = newest(specifier)?.minor();
    (release < first).then_some(release)
}

/// `cu124`, `cu${VERSION}`, `pt26cu124`, `torch1.12cu11.3`, `cuda12.cudnn89`
fn names_cuda(local: &str) -> bool {
    local.match_indices("cu").any(|(at, _)| {
        let after = &local[at + 2..];
        let after = after.strip_prefix("da").unwrap_or(after);
        after.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '$' | '{'))
            && !local[..at].ends_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// True if the index beside it is one of PyTorch's for CUDA, and the fix of HW001 does not change it.
fn keeps_cuda(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    let own = cx.command_at(requirement.whole.range().start);
    let is_near = |at: usize| own.as_ref().is_none_or(|own| own.contains(&at));
    let mut indexes = cx.facts.indexes.iter().filter_map(|index| {
        let is_near = is_near(index.range().start);
        let is_pytorchs = is_near && index.as_str().contains("//download.pytorch.org/");
        let segment = wheels::cuda_segment(index.as_str()).filter(|_| is_pytorchs)?;
        Some(cuda_wheel_index::fix(cx, *index, segment))
    });
    indexes.next().is_some_and(|fix| fix.edits.is_empty())
}
