//! HW001: a package index that serves CUDA wheels.

use crate::checker::FileChecker;
use crate::rules::helpers::specifiers::{Release, newest};
use crate::rules::helpers::{releases, wheels};
use crate::shell::variable;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds package indexes with wheels for one CUDA version, such as `https://download.pytorch.org/whl/cu124`, in
    /// requirements, `pyproject.toml`, Dockerfiles, scripts, workflows and conda environments, and uv's names of them:
    /// `UV_TORCH_BACKEND=cu126`, `uv sync --extra cu126`.
    ///
    /// ## Why on ROCm
    ///
    /// PyTorch from such an index installs without an error on a machine with AMD GPUs, but `torch.cuda.is_available()`
    /// returns false: the wheel contains no code for them. The same project has a separate index of ROCm wheels,
    /// `…/whl/rocm7.2`. From ROCm 7.13 on, AMD has an index too, with wheels for each GPU architecture.
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
    /// A file that also names a ROCm index, or names this one in a branch for CUDA, is not reported.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: NVIDIA hosts need the existing index. A limit on `torch` selects the index that has the release; before 2.3 there is none
    /// for ROCm 6, and the fix is display-only. So it is for the indexes of other projects: most have no ROCm index, for a
    /// release in a variable, and in a `pyproject.toml`, where an index has a name and a lock file depends on it.
    ///
    /// ## References
    ///
    /// * [PyTorch: start locally](https://pytorch.org/get-started/locally/)
    /// * [Install PyTorch on ROCm](https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html)
    "HW001" "cuda-wheel-index" {
        title: "The index contains CUDA wheels",
        family: BuildFiles,
        severity: Error,
        also: [
            Warning "for an index that has NVIDIA's own packages",
            Info "for one of several alternative indexes, or behind a condition",
        ],
        applicability: Unsafe,
        targets: "every ROCm target; the index depends on the ROCm version",
        lesson: Some("port/right-pytorch"),
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml] check,
    }
}

/// Indexes with packages for NVIDIA GPUs only.
const NVIDIA: &[&str] = &[
    "//pypi.nvidia.com",
    "//pypi.ngc.nvidia.com",
    "/onnxruntime-cuda-",
];

fn check(cx: &FileChecker<'_>) {
    let is_rocm = |index: &Text<'_>| index.as_str().contains("rocm");
    if cx.facts.indexes.iter().any(is_rocm) || cx.is_ported {
        return;
    }
    // With a CPU index in the same file, an extra or a group selects one, unless uv selects by platform.
    let is_chosen = cx.language == Language::Pyproject
        && cx
            .facts
            .indexes
            .iter()
            .any(|index| index.as_str().ends_with("/whl/cpu"));
    // uv selects the index by a name: `UV_TORCH_BACKEND=cu126`, `--torch-backend=cu126`.
    let settings = cx
        .facts
        .settings
        .iter()
        .filter(|setting| !setting.guarded && setting.key.as_str() == "UV_TORCH_BACKEND");
    let commands = cx.facts.commands.iter().filter(|command| !command.guarded);
    let options = commands.flat_map(|command| {
        let words = command.words.iter();
        words.filter_map(|word| word.split_once('='))
    });
    let options = options.filter(|(option, _)| option.as_str() == "--torch-backend");
    let backends = settings
        .map(|setting| setting.value)
        .chain(options.map(|(_, name)| name));
    for backend in backends.filter(|backend| wheels::cuda_segment(backend.as_str()).is_some()) {
        cx.report(
            &RULE,
            Severity::Error,
            backend.range(),
            "uv installs PyTorch's build for NVIDIA GPUs; on ROCm it finds no GPU.",
            RawFix::display_only(format!("Write {}", wheels::index(cx.target))),
        );
    }
    // `uv sync --extra cu129`, also in a variable
    let is_version =
        |value: Text<'_>| wheels::cuda_segment(value.as_str()).is_some_and(|at| at.start == 0);
    let setting = |name: &str| {
        let mut settings = cx.facts.settings_of(name);
        settings.find(|setting| is_version(setting.value))
    };
    let commands = cx.facts.commands.iter();
    let commands = commands.filter(|command| !command.guarded && command.program() == "uv");
    let mut extras = commands.flat_map(|command| {
        let pairs = command.words.windows(2);
        let pairs = pairs.filter(|pair| matches!(pair[0].as_str(), "--extra" | "--group"));
        pairs.filter_map(|pair| match variable(pair[1].as_str()) {
            Some(name) => Some(setting(name)?.value),
            None => Some(pair[1]).filter(|extra| is_version(*extra)),
        })
    });
    if let Some(extra) = extras.next() {
        cx.report(
            &RULE,
            Severity::Error,
            extra.range(),
            "This extra selects PyTorch's build for NVIDIA GPUs; on ROCm it finds no GPU.",
            RawFix::display_only(format!(
                "Add an extra with the index {}",
                wheels::index(cx.target)
            )),
        );
    }
    for index in &cx.facts.indexes {
        let url = index.as_str();
        if NVIDIA.iter().any(|host| url.contains(host)) {
            cx.report(
                &RULE,
                Severity::Warning,
                index.range(),
                "This index contains NVIDIA packages; none of them is for an AMD GPU.",
                RawFix::display_only("Remove it on ROCm, with the packages from it"),
            );
            continue;
        }
        // `…/whl/${BACKEND}` with `BACKEND=cu126`
        let named = || {
            let at = url.find("/whl/$")? + "/whl/".len();
            let name = variable(&url[at..])?;
            (name.contains("CUDA") || setting(name).is_some()).then_some(at..url.len())
        };
        // NVIDIA's installers are in folders of CUDA's versions too.
        let Some(segment) = wheels::cuda_segment(url)
            .or_else(named)
            .filter(|_| !url.contains("//developer.download.nvidia.com"))
        else {
            continue;
        };
        let is_required = || {
            let mut required = cx.facts.required_indexes.iter();
            required.any(|required| required.as_str() == url)
        };
        if is_chosen && !is_required() {
            cx.report(
                &RULE,
                Severity::Info,
                index.range(),
                "One of the alternative indexes is for NVIDIA GPUs; none is for AMD's.",
                RawFix::display_only(format!("Add one for {}", wheels::index(cx.target))),
            );
            continue;
        }
        cx.report(
            &RULE,
            Severity::Error,
            index.range(),
            "Wheels from this index contain code for NVIDIA GPUs only; on ROCm they install but find no GPU.",
            fix(cx, *index, segment),
        );
    }
}

/// Edits the index only if the result has the release that is installed from it.
pub(super) fn fix(
    cx: &FileChecker<'_>,
    index: Text<'_>,
    segment: std::ops::Range<usize>,
) -> RawFix {
    let mut rocm = wheels::index(cx.target);
    let is_pytorchs = index.as_str().contains("//download.pytorch.org/");
    let torch = torch_of(cx, index);
    let pinned = torch.as_deref().and_then(newest).map(Release::minor);
    // `torch==${TORCH_VERSION}` without a value
    let is_unknown = torch.as_deref().is_some_and(|torch| torch.contains('$'));
    if is_pytorchs && pinned.is_none() && is_unknown {
        return RawFix::display_only("Use the index for ROCm that has this release");
    }
    // The index has to have the release that is installed from it.
    match pinned.filter(|release| *release < cx.target.torch) {
        Some(release) if is_pytorchs && release < releases::FIRST_TORCH => {
            return RawFix::display_only(format!(
                "Allow PyTorch {}, and use the index {rocm}: none has torch {release} for ROCm 6 or later",
                cx.target.torch
            ));
        }
        Some(release) => {
            if let Some(version) = releases::rocm_of_torch(release) {
                rocm = format!("rocm{version}");
            }
        }
        None => {}
    }
    let option = option_before(cx, index);
    if is_pytorchs && matches!(option, "-f" | "--find-links") {
        return RawFix::display_only(format!(
            "Use --index-url https://download.pytorch.org/whl/{rocm}: a link to an index has no wheels"
        ));
    }
    // pip takes the newest release of all indexes.
    let is_open = option == "--extra-index-url"
        && torch.as_deref().is_some_and(|torch| !torch.contains("=="));
    let title = match is_open {
        true => format!(
            "Use the index {rocm}, with --index-url or torch pinned: PyPI's release may be newer"
        ),
        false => format!("Use the index {rocm}"),
    };
    let is_literal = !index.as_str().contains(['$', '{']);
    // The index of a project has a name, and a lock file depends on it.
    if is_pytorchs && cx.language == Language::Pyproject {
        return RawFix::display_only(format!("Add the index {rocm}, and let an extra select one"));
    }
    if is_literal && index.as_str().contains("//download.pytorch.org/whl/") {
        return RawFix::unsafe_edits(title, vec![(index.part(segment).range(), rocm)]);
    }
    if is_pytorchs {
        return RawFix::display_only(title);
    }
    if index.as_str().contains("//wheels.vllm.ai/") {
        return RawFix::display_only(
            "Use https://wheels.vllm.ai/rocm/, which begins with vLLM 0.14",
        );
    }
    RawFix::display_only(if cx.target.rocm >= Version::new(7, 13) {
        "Look for the project's ROCm wheels, also in AMD's index (https://repo.amd.com/rocm/whl-multi-arch/), or build it"
    } else {
        "Look for the project's ROCm wheels, or build it from source"
    })
}

/// `--extra-index-url` before an index in a command or a file of requirements.
fn option_before<'a>(cx: &FileChecker<'a>, index: Text<'_>) -> &'a str {
    let before = cx.source.get(..index.range().start).unwrap_or_default();
    let before = before.trim_end_matches(['=', ' ', '"', '\'']);
    let start = before
        .rfind(char::is_whitespace)
        .map_or(0, |space| space + 1);
    &before[start..]
}

/// The releases of torch that the index's command allows, or its file if it is in no command.
fn torch_of(cx: &FileChecker<'_>, index: Text<'_>) -> Option<String> {
    let command = cx.command_at(index.range().start);
    let torch = cx.facts.requirements.iter().find(|found| {
        found.normalized() == "torch"
            && command
                .as_ref()
                .is_none_or(|range| range.contains(&found.name.range().start))
    })?;
    let specifier = torch.specifier.as_str().split('+').next()?;
    // `torch==${TORCH}`
    let name = variable(specifier.trim_start_matches('='));
    let setting = name.and_then(|name| cx.facts.settings_of(name).next());
    Some(match setting {
        Some(setting) => format!("=={}", setting.value.as_str()),
        None => specifier.to_owned(),
    })
}
