//! Packages that matter in a port, by the name of the requirement. One table for the rules on imports that also check
//! requirements, and for `build/nvidia_package.rs` if there is no such rule.

mod table;

use crate::checker::FileChecker;
use crate::facts::{Installer, Requirement, names_rocm, normalized};
use crate::rules::helpers::releases;
use crate::rules::helpers::specifiers::{self, Release};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::rule::Rule;
use hipward_analyzer_core::{Language, Severity};
use table::{OWN, Package};

/// Extras that require CUDA packages: `jax[cuda12]`.
const EXTRAS: &[(&str, &str)] = &[
    ("jax", "Require jax[rocm7-local], or use AMD's JAX image"),
    ("tensorflow", "Install AMD's build of TensorFlow"),
    ("vllm", "Install vLLM's ROCm wheel, or use its image"),
    (
        "sglang",
        "Build SGLang with its extra all_hip, or use its image",
    ),
];

/// Reports the packages of the rule `of`.
pub(crate) fn check(cx: &FileChecker<'_>, of: &'static Rule) {
    // A list is installed as a whole: a package that is useless on ROCm is also useless next to `torch==2.6.0+rocm6.2`.
    let only_errors = cx.is_ported && cx.language == Language::Requirements;
    if cx.is_ported && !only_errors {
        return;
    }
    let has_rocm = cx
        .facts
        .images
        .iter()
        .any(|image| names_rocm(image.name.as_str()));
    let has_index = cx
        .facts
        .indexes
        .iter()
        .any(|index| names_rocm(index.as_str()));
    for requirement in cx
        .facts
        .requirements
        .iter()
        .filter(|found| !found.guarded && found.installer != Installer::Conda)
    {
        let from = requirement.specifier.as_str();
        // AMD's fork: `git+https://github.com/ROCm/TransformerEngine`
        if from.contains("://") && names_rocm(from) {
            continue;
        }
        // A wheel for CUDA, which `cuda-local-version` reports.
        if of.name == "flash-attn" && from.contains("://") && from.contains("+cu") {
            continue;
        }
        // FlashAttention 3 is a folder of FlashAttention's repository.
        let name = if from.contains("flash-attention") && from.ends_with("subdirectory=hopper") {
            "flash-attn-3".to_owned()
        } else {
            requirement.normalized()
        };
        let known = table::find(&name);
        let newest = specifiers::newest(requirement.specifier.as_str());
        let obstacle = newest.and_then(|newest| releases::obstacle(&name, newest, cx.target));
        let is_locked = requirement.installer == Installer::Lock;
        // A vLLM that is installed satisfies any version, but an image without ROCm has none, and an upgrade takes PyPI's.
        let is_any = name == "vllm"
            && newest.is_none()
            && !is_installed_with(cx, requirement, &["-U", "--upgrade"]);
        let is_elsewhere = is_any
            && (has_rocm
                || from.contains(['/', '$', '+'])
                || requirement.extras.as_str().contains("cuda"));
        let is_any = is_any && cx.language != Language::Dockerfile;
        let known = known.filter(|package| {
            // A lock file also lists what other packages require.
            let is_silent = is_locked
                || is_elsewhere
                || is_fine(package, newest)
                || has_index && package.advice.contains(" index ");
            obstacle.is_some() || !is_silent
        });
        if let Some(package) = known {
            if package.owner == of.name
                && (package.severity == Severity::Error || !only_errors)
                && !is_built_here(cx, package, requirement, has_rocm)
            {
                let severity = if is_any {
                    Severity::Info
                } else {
                    package.severity
                };
                cx.report(
                    of,
                    severity,
                    requirement.name.range(),
                    message(package, newest, obstacle),
                    fix(cx, package, requirement),
                );
            }
        } else if let Some((_, advice)) = EXTRAS.iter().find(|(extra, _)| *extra == name)
            && of.name == OWN
            && (requirement.extras.as_str().contains("cuda")
                || name == "sglang"
                    && requirement
                        .extra_names()
                        .any(|extra| matches!(extra.as_str(), "all" | "srt")))
        {
            cx.report(
                of,
                Severity::Error,
                requirement.name.range().start..requirement.extras.range().end,
                "This requires NVIDIA's libraries and a CUDA build.",
                RawFix::display_only(*advice),
            );
        }
        // `xfuser[flash-attn]`: an extra with the name of a package installs it.
        for extra in requirement.extra_names() {
            if let Some(package) = table::find(&normalized(extra.as_str()))
                && package.owner == of.name
                && package.fine_from.is_none()
                && !extra.as_str().contains("cuda")
                && !only_errors
                && !(has_index && package.advice.contains(" index "))
                && !is_built_here(cx, package, requirement, has_rocm)
            {
                let fix = RawFix::display_only(package.advice);
                cx.report(of, package.severity, extra.range(), package.message, fix);
            }
        }
    }
}

/// `bitsandbytes>=0.49`, or no version at all: pip installs the newest.
fn is_fine(package: &Package, newest: Option<Release>) -> bool {
    package
        .fine_from
        .is_some_and(|from| newest.is_none_or(|newest| newest.minor() >= from))
}

/// What is wrong with every release of the package, and with this one.
fn message(package: &Package, newest: Option<Release>, obstacle: Option<String>) -> String {
    match obstacle {
        // The package's message is about the releases before `fine_from`.
        Some(obstacle) if is_fine(package, newest) => obstacle,
        Some(obstacle) if package.fine_from.is_none() => format!("{} {obstacle}", package.message),
        _ => package.message.to_owned(),
    }
}

/// Whether the command that installs a requirement has one of the options.
fn is_installed_with(
    cx: &FileChecker<'_>,
    requirement: &Requirement<'_>,
    options: &[&str],
) -> bool {
    let start = requirement.name.range().start;
    cx.facts.commands.iter().any(|command| {
        command.range().contains(&start)
            && command
                .words
                .iter()
                .any(|word| options.contains(&word.as_str()))
    })
}

/// `pip install flash-attn --no-build-isolation` in an image for ROCm: the recommended command.
fn is_built_here(
    cx: &FileChecker<'_>,
    package: &Package,
    requirement: &Requirement<'_>,
    has_rocm: bool,
) -> bool {
    package.advice.contains("--no-build-isolation")
        && has_rocm
        && is_installed_with(cx, requirement, &["--no-build-isolation"])
}

fn fix(cx: &FileChecker<'_>, package: &Package, requirement: &Requirement<'_>) -> RawFix {
    let fits = !package.advice.contains("rocm-7") || cx.target.rocm.major >= 7;
    match package.instead {
        // The replacement has different versions.
        Some(instead)
            if requirement.specifier.is_empty() && requirement.extras.is_empty() && fits =>
        {
            RawFix::unsafe_edits(
                package.advice,
                vec![(requirement.name.range(), instead.to_owned())],
            )
        }
        _ => RawFix::display_only(package.advice),
    }
}
