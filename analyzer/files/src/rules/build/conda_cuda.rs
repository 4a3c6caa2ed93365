//! HW011: CUDA packages from conda.

use crate::checker::FileChecker;
use crate::facts::{Installer, Requirement};
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `pytorch-cuda`, `cudatoolkit`, `cuda-toolkit`, `cudnn` and `nccl` in an `environment.yml`, in Pixi's
    /// manifest and in `conda install`, and packages with a build for CUDA: `pytorch=*=cuda*`, `pytorch-scatter=2.0.7=py38_torch_1.9.0_cu111`. In Pixi's manifest also
    /// `cuda` in `platforms` or `system-requirements`: Pixi then installs nothing on a host without NVIDIA's driver.
    /// Also finds `xformers::xformers`, and `pytorch`, `torchvision` and `torchaudio` beside a package that selects CUDA, or from the
    /// channel `pytorch` if no package selects the CPU.
    ///
    /// ## Why on ROCm
    ///
    /// `pytorch-cuda` makes conda select PyTorch's CUDA build, and the other packages are parts of CUDA. PyTorch's
    /// conda channel has no ROCm builds: install Python and other packages with conda, and PyTorch with pip from a ROCm
    /// index.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// name: train
    /// channels:
    ///   - pytorch
    ///   - nvidia
    /// dependencies:
    ///   - python=3.12
    ///   - pytorch-cuda=12.4
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// name: train
    /// channels:
    ///   - conda-forge
    /// dependencies:
    ///   - python=3.12
    ///   - pip
    ///   - pip:
    ///       - --index-url https://download.pytorch.org/whl/rocm7.2
    ///       - torch
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the pip section of the environment has to be written by hand.
    ///
    /// ## References
    ///
    /// * [PyTorch: start locally](https://pytorch.org/get-started/locally/)
    /// * [Conda: managing environments](https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html)
    /// * [Pixi: PyTorch installation](https://pixi.prefix.dev/latest/python/pytorch/)
    "HW011" "conda-cuda" {
        title: "conda installs CUDA",
        family: BuildFiles,
        severity: Error,
        also: [Warning "for a part of the CUDA toolkit, where it does not select PyTorch's build"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/right-pytorch"),
        files: [Yaml, Pyproject, Shell, Dockerfile] check,
    }
}

const PACKAGES: &str = "pytorch-cuda pytorch-gpu cudatoolkit cudatoolkit-dev cuda cudnn nccl tensorflow-gpu faiss-gpu cupy \
    libcublas libcufft libcurand libcusolver libcusparse libnpp libnvjpeg libnvjitlink libcufile";

/// Packages that select the builds of other packages in conda.
const TOOLKITS: &str = "cudatoolkit cudatoolkit-dev cuda-version cudnn nccl";

/// `cuda-nvcc`, `libcublas-dev`; `magma-cuda121` has the CUDA version in its name.
fn is_cuda(name: &str) -> bool {
    let starts = ["cuda-", "magma-cuda"];
    let library = name.strip_suffix("-dev").unwrap_or(name);
    listed(PACKAGES, name)
        || listed(PACKAGES, library)
        || starts.iter().any(|start| name.starts_with(start))
}

/// True for a compiler, header or library of CUDA: it installs without a GPU, and nothing for AMD uses it. `cudatoolkit` and `cuda-version`
/// select the builds of other packages.
fn is_toolkit(name: &str) -> bool {
    (name == "cuda" || name.starts_with("cuda-") || name.starts_with("lib"))
        && name != "cuda-version"
}

/// True if pip installs PyTorch and conda nothing that depends on it: the toolkit selects no build then.
fn has_pips_pytorch(cx: &FileChecker<'_>) -> bool {
    let has = |installer, name: &str| {
        let mut requirements = cx.facts.requirements.iter();
        requirements
            .any(|found| found.installer == installer && found.name.as_str().starts_with(name))
    };
    has(Installer::Pip, "torch")
        && !["pytorch", "torch", "magma"]
            .iter()
            .any(|name| has(Installer::Conda, name))
}

/// `=*=cuda*`, `=1.9.0=py3.8_cuda11.1_cudnn8.0.5_0`, `=1.7.2=py38_torch_1.9.0_cu111`
fn is_cuda_build(specifier: &str) -> bool {
    let names_release = |part: &str| {
        part.strip_prefix("cu")
            .is_some_and(|release| release.starts_with(|c: char| c.is_ascii_digit()))
    };
    specifier.contains("cuda") || specifier.split(['=', '_']).any(names_release)
}

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    let selects = |found: &Requirement<'_>| {
        is_cuda(&found.normalized()) || is_cuda_build(found.specifier.as_str())
    };
    let packages = cx.facts.requirements.iter();
    let packages = packages.filter(|found| found.installer == Installer::Conda);
    let selects_cuda = packages.clone().any(selects);
    let selects_cpu = packages
        .clone()
        .any(|found| found.name.as_str() == "cpuonly");
    let has_pips_pytorch = has_pips_pytorch(cx);
    for requirement in packages.filter(|found| !found.guarded) {
        let name = requirement.name.as_str();
        // In a command, they are beside another package that is reported.
        let is_listed = cx.command_at(requirement.whole.range().start).is_none();
        let is_pytorch =
            name == "pytorch" || is_listed && matches!(name, "torchvision" | "torchaudio");
        let message = if selects(requirement) {
            format!(
                "{name} is CUDA or selects a CUDA build; conda has no ROCm build under this name."
            )
        } else if is_pytorch && is_listed && selects_cuda {
            format!("conda has no build of {name} for ROCm.")
        } else if requirement.whole.as_str().starts_with("xformers::")
            || is_pytorch && !selects_cuda && !selects_cpu && is_of_pytorch(cx, requirement)
        {
            let channel = if is_pytorch { "pytorch" } else { name };
            format!("The channel {channel} has no build of {name} for ROCm.")
        } else {
            continue;
        };
        cx.report(
            &RULE,
            if is_toolkit(&requirement.normalized()) || has_pips_pytorch && listed(TOOLKITS, name) {
                Severity::Warning
            } else {
                Severity::Error
            },
            requirement.whole.range(),
            message,
            RawFix::display_only(instead_of(name)),
        );
    }
}

/// What to install with pip in place of a package.
fn instead_of(name: &str) -> &'static str {
    let is_extension = |rest: &str| !listed("cuda gpu lightning", rest);
    match name {
        "tensorflow-gpu" => "Remove it, and install AMD's build of TensorFlow with pip",
        "faiss-gpu" => "Remove it, and build Faiss with FAISS_ENABLE_ROCM, or use faiss-cpu",
        _ if name.starts_with("cupy") => "Remove it, and install cupy-rocm-7-0 with pip",
        "pytorch-mutex" => "Remove it: it selects a build of conda's PyTorch",
        _ if is_toolkit(name) => "Remove it: ROCm has compilers and libraries of its own",
        _ if name.strip_prefix("pytorch-").is_some_and(is_extension) => {
            "Remove it, and build it with pip beside PyTorch for ROCm"
        }
        "torchvision" | "torchaudio" => {
            "Remove it, and install it with pip from the ROCm index of PyTorch"
        }
        _ => "Remove it, and install PyTorch with pip from a ROCm index",
    }
}

/// `pytorch::pytorch`, and `pytorch` where the channel `pytorch` is listed before conda-forge.
fn is_of_pytorch(cx: &FileChecker<'_>, requirement: &Requirement<'_>) -> bool {
    if let Some((channel, _)) = requirement.whole.as_str().split_once("::") {
        return channel == "pytorch";
    }
    let range = cx.command_at(requirement.whole.range().start);
    let command = cx
        .facts
        .commands
        .iter()
        .find(|command| Some(command.range()) == range);
    let channels = match command {
        Some(command) => {
            let words = command.words.windows(2);
            words
                .filter(|pair| matches!(pair[0].as_str(), "-c" | "--channel"))
                .map(|pair| pair[1].as_str())
                .collect()
        }
        None => {
            let entries = &cx.facts.entries;
            let is_channel = |parent: usize| {
                entries
                    .get(parent)
                    .is_some_and(|parent| parent.key.as_str() == "channels")
            };
            entries
                .iter()
                .filter(|entry| entry.parent.is_some_and(is_channel))
                .map(|entry| entry.value.as_str())
                .collect::<Vec<_>>()
        }
    };
    channels
        .into_iter()
        .take_while(|channel| *channel != "conda-forge")
        .any(|channel| channel == "pytorch")
}
