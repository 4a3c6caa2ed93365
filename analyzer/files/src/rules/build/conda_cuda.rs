//! HW011: CUDA packages from conda.

use crate::checker::FileChecker;
use crate::facts::Installer;
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `pytorch-cuda`, `cudatoolkit`, `cuda-toolkit`, `cudnn` and `nccl` in an `environment.yml`, in Pixi's
    /// manifest and in `conda install`, and packages with a build for CUDA: `pytorch=*=cuda*`. In Pixi's manifest also
    /// `cuda` in `platforms` or `system-requirements`: Pixi then installs nothing on a host without NVIDIA's driver.
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
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/right-pytorch"),
        files: [Yaml, Pyproject, Shell, Dockerfile] check,
    }
}

const PACKAGES: &str = "pytorch-cuda pytorch-gpu cudatoolkit cudatoolkit-dev cuda cudnn nccl tensorflow-gpu faiss-gpu cupy \
    libcublas libcufft libcurand libcusolver libcusparse libnpp libnvjpeg libnvjitlink libcufile";

/// `cuda-nvcc`, `libcublas-dev`; `magma-cuda121` has the CUDA version in its name.
fn is_cuda(name: &str) -> bool {
    let starts = ["cuda-", "magma-cuda"];
    let library = name.strip_suffix("-dev").unwrap_or(name);
    listed(PACKAGES, name)
        || listed(PACKAGES, library)
        || starts.iter().any(|start| name.starts_with(start))
}

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    for requirement in &cx.facts.requirements {
        if requirement.installer == Installer::Conda
            && !requirement.guarded
            && (is_cuda(&requirement.normalized())
                || requirement.specifier.as_str().contains("cuda"))
        {
            let name = requirement.name.as_str();
            cx.report(
                &RULE,
                Severity::Error,
                requirement.whole.range(),
                format!(
                    "{name} is CUDA or selects a CUDA build; conda has no ROCm build under this name."
                ),
                RawFix::display_only(
                    "Remove it, and install PyTorch with pip from a ROCm index",
                ),
            );
        }
    }
}
