//! HW015: a PyTorch release that PyPI's CUDA wheel satisfies.

use crate::checker::FileChecker;
use crate::facts::{Command, Installer, Requirement, contains, names_rocm};
use crate::rules::helpers::lines;
use crate::rules::helpers::releases;
use crate::rules::helpers::specifiers::{Release, newest, newest_torch};
use crate::rules::helpers::wheels;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds requirements and `pip install` commands that limit `torch`, or `torchvision` or `torchaudio`, each release of which
    /// requires one of `torch`, to releases before the target's, without the index of a ROCm build, and `pip install torch` in an image that does not contain PyTorch, or in an environment that a script
    /// has created. In a lock file of uv, Poetry or PDM, finds PyPI's `torch` of any release. Requirements that a ROCm build of the
    /// target's release satisfies are information.
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
    /// --extra-index-url https://download.pytorch.org/whl/rocm7.2
    /// torch>=2.3
    /// ```
    ///
    /// ```dockerfile
    /// FROM python:3.12
    /// RUN pip install torch --index-url https://download.pytorch.org/whl/rocm7.2
    /// ```
    ///
    /// A file that names an index of PyTorch wheels is not reported, unless the index is for ROCm 6 or 7 and the release is before 2.3.
    /// Neither is a requirement with a marker, nor a file that also requires `torch-npu` or `torch-xla`.
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
        also: [Info "for requirements that a ROCm build satisfies, and that take PyPI's wheel where there is none"],
        applicability: DisplayOnly,
        targets: "every ROCm target; the limit is the target's PyTorch release",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    // The indexes for ROCm 6 and 7 have no builds before the first release of the table.
    let names_new = |text: &str| ["rocm6.", "rocm7."].iter().any(|name| text.contains(name));
    let indexes = &cx.facts.indexes;
    let is_new = indexes.iter().any(|index| names_new(index.as_str()));
    let images = &cx.facts.images;
    // The release is that of a plugin for Ascend or for TPUs.
    let requirements = &cx.facts.requirements;
    let has_plugin = requirements
        .iter()
        .any(|found| matches!(&*found.normalized(), "torch-npu" | "torch-xla"));
    if cx.is_ported
        || has_plugin
        || !is_new && indexes.iter().any(|index| names_wheels(index.as_str()))
    {
        return;
    }
    let brings_torch = images.iter().any(|image| {
        let name = image.name.as_str();
        let has_only_rocm = name.contains("rocm/dev");
        image.guarded || name.contains("torch") || names_rocm(name) && !has_only_rocm
    });
    for requirement in requirements {
        if requirement.guarded || requirement.installer == Installer::Conda {
            continue;
        }
        if let Some(torch) = torch_of(requirement) {
            let has_build = is_new && torch >= releases::FIRST_TORCH;
            let is_fine = has_build || is_beside_torch(cx, requirement);
            if torch < cx.target.torch && !is_fine && !is_for_another_system(cx, requirement) {
                report_companion(cx, requirement, torch);
            }
            continue;
        }
        if requirement.normalized() != "torch" || is_for_another_system(cx, requirement) {
            continue;
        }
        let newest = newest_torch(requirement.specifier.as_str());
        match newest.map(Release::minor) {
            Some(newest) if is_new && newest >= releases::FIRST_TORCH => {}
            Some(newest) if requirement.installer == Installer::Lock => {
                report_locked(cx, requirement, newest);
            }
            Some(newest) if newest < cx.target.torch => report_old(cx, requirement, newest),
            // An image or a new environment without PyTorch gets PyPI's wheel.
            _ if (cx.language == Language::Dockerfile && !brings_torch && !images.is_empty()
                || is_in_new_environment(cx, requirement))
                && !is_new
                && !names_an_index(cx, requirement)
                && !requirement.specifier.as_str().contains(['+', '@', '/']) =>
            {
                cx.report(
                    &RULE,
                    Severity::Warning,
                    requirement.whole.range(),
                    "Without an index this installs PyPI's wheel, which is built for CUDA and finds no AMD GPU.",
                    RawFix::display_only(format!(
                        "Add --index-url https://download.pytorch.org/whl/{}",
                        wheels::index(cx.target)
                    )),
                );
            }
            _ => {}
        }
    }
    report_any_release(cx);
}

/// An index of PyTorch's wheels.
fn names_wheels(index: &str) -> bool {
    index.contains("/whl") || index.contains("rocm")
}

/// Requirements that a ROCm build satisfies, as one finding for a file.
fn report_any_release(cx: &FileChecker<'_>) {
    let mut indexes = cx.facts.indexes.iter();
    let mut requirements = cx.facts.requirements.iter();
    let is_local = |found: &Requirement<'_>| {
        let specifier = found.specifier.as_str();
        specifier.contains('+') && !specifier.contains('@')
    };
    if cx.language == Language::Dockerfile
        || indexes.any(|index| names_wheels(index.as_str()))
        // `torch==2.12.0+cu130`, which `cuda-local-version` reports
        || requirements.any(is_local)
    {
        return;
    }
    let is_any = |found: &&Requirement<'_>| {
        let specifier = found.specifier.as_str();
        let release = match &*found.normalized() {
            "torch" => newest_torch(specifier).map(Release::minor),
            "torchvision" | "torchaudio" => torch_of(found),
            _ => return false,
        };
        found.installer == Installer::Pip
            && !found.guarded
            && release.is_none_or(|release| release >= cx.target.torch)
            && !specifier.contains(['@', '/', '$'])
            && !is_for_another_system(cx, found)
            && !is_in_new_environment(cx, found)
    };
    let mut found = cx.facts.requirements.iter().filter(is_any);
    if let Some(first) = found.next() {
        let also = lines::also_in(cx, first, found);
        let end = if also.is_empty() { "" } else { "." };
        cx.report(
            &RULE,
            Severity::Info,
            first.whole.range(),
            format!("pip keeps a ROCm build that is installed; in an environment without one it installs PyPI's, for CUDA.{also}{end}"),
            RawFix::display_only(format!(
                "Install PyTorch first, with --index-url https://download.pytorch.org/whl/{}",
                wheels::index(cx.target)
            )),
        );
    }
}

/// `--index-url "$TORCH_INDEX_URL"` in the same command.
fn names_an_index(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    let own = cx.command_at(requirement.whole.range().start);
    own.is_some_and(|own| {
        let mut indexes = cx.facts.indexes.iter();
        indexes.any(|index| own.contains(&index.range().start))
    })
}

/// After `python -m venv "$VENV"`, in a script.
fn is_in_new_environment(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    let makes = |command: &&Command<'_>| {
        let words = &command.words;
        let has = |wanted: &str| words.iter().any(|word| word.as_str() == wanted);
        command.range().start < requirement.whole.range().start
            && match command.program() {
                "virtualenv" => true,
                "uv" => has("venv"),
                "conda" => has("create"),
                program => program.starts_with("python") && has("-m") && has("venv"),
            }
            && !has("--system-site-packages")
    };
    cx.language == Language::Shell && cx.facts.commands.iter().any(|command| makes(&command))
}

/// `torch==2.2.2; sys_platform == "darwin"`
fn is_for_another_system(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    let marker = cx.rest_of_line(requirement);
    contains(marker, "darwin") || contains(marker, "win32") || contains(marker, "windows")
}

fn report_locked(cx: &FileChecker<'_>, requirement: &Requirement<'_>, release: Version) {
    let message = format!(
        "The lock file installs PyPI's torch {release}, which is built for CUDA and finds no AMD GPU{}.{}",
        builds(release),
        cuda_packages(cx, requirement)
    );
    let fix = RawFix::display_only("Name an index of ROCm builds for torch, and lock again");
    let range = requirement.whole.range();
    cx.report(&RULE, Severity::Warning, range, message, fix);
}

/// The lines of a lock file with packages that PyPI's torch requires or that are built for it.
fn cuda_packages(cx: &FileChecker<'_>, torch: &Requirement<'_>) -> String {
    let own = cx.facts.requirements.iter().filter(|found| {
        let name = found.name.as_str();
        found.installer == Installer::Lock
            && (["nvidia-", "cuda-"]
                .iter()
                .any(|start| name.starts_with(start))
                || matches!(name, "torchvision" | "torchaudio" | "triton"))
    });
    let lines = lines::also_in(cx, torch, own);
    if lines.is_empty() {
        return lines;
    }
    lines + ": packages that belong to it."
}

/// `; its ROCm build is in the index rocm7.2`
fn builds(release: Version) -> String {
    match releases::rocm_of_torch(release) {
        Some(rocm) => format!("; its ROCm build is in the index rocm{rocm}"),
        None if release < releases::FIRST_TORCH => {
            "; PyTorch's indexes have no build of it for ROCm 6 or later".to_owned()
        }
        None => String::new(),
    }
}

/// The minor version of torchaudio 2.11, from its wheels' metadata: 2.11.1 requires `torch>=2.11`.
const LAST_TORCHAUDIO: u16 = 11;

/// The release of PyTorch that this release of torchvision or torchaudio requires, `torch==2.0.1` in the metadata of their
/// wheels. None for a lock file, which lists that release as well.
fn torch_of(requirement: &Requirement<'_>) -> Option<Version> {
    let name = requirement.normalized();
    let is_vision = name == "torchvision";
    if requirement.installer == Installer::Lock || !is_vision && name != "torchaudio" {
        return None;
    }
    let [major, minor, _] = newest(requirement.specifier.as_str())?.0;
    // torchvision 0.15 and torchaudio 2.0 belong to PyTorch 2.0; 0.14 and 0.13 to 1.13.
    match (is_vision, major) {
        (true, 0) if minor >= 15 => Some(Version::new(2, minor - 15)),
        (true, 0) => Some(Version::new(1, minor.checked_sub(1)?)),
        (false, 0) => Some(Version::new(1, minor)),
        // From 2.11 on torchaudio does not require one release of PyTorch.
        (false, 2) if minor < LAST_TORCHAUDIO => Some(Version::new(2, minor)),
        _ => None,
    }
}

/// In the same command as PyTorch, which is reported instead.
fn is_beside_torch(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    let own = cx.command_at(requirement.whole.range().start);
    own.is_some_and(|own| {
        let mut requirements = cx.facts.requirements.iter();
        requirements
            .any(|found| found.normalized() == "torch" && own.contains(&found.whole.range().start))
    })
}

fn report_companion(cx: &FileChecker<'_>, requirement: &Requirement<'_>, torch: Version) {
    let name = requirement.name.as_str();
    let last = Version::new(2, LAST_TORCHAUDIO);
    let release = if name == "torchaudio" && cx.target.torch > last {
        format!("{last}, which later releases of PyTorch share")
    } else {
        format!("for PyTorch {}", cx.target.torch)
    };
    cx.report(
        &RULE,
        Severity::Warning,
        requirement.whole.range(),
        format!("This {name} requires torch {torch}: pip installs PyPI's build, for CUDA, over a ROCm build of another release."),
        RawFix::display_only(format!(
            "Allow the release {release}, and install both from an index for ROCm"
        )),
    );
}

fn report_old(cx: &FileChecker<'_>, requirement: &Requirement<'_>, newest: Version) {
    let built = builds(newest);
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
