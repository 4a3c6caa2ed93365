//! HW004: a container image that contains CUDA.

use crate::checker::FileChecker;
use crate::facts::contains;
use crate::rules::helpers::wheels;
use crate::shell::variable;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Language, Severity, Target, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `nvidia/cuda`, `nvcr.io/nvidia/…`, `vllm/vllm-openai`, and any image whose tag has a version of CUDA, such as
    /// `pytorch/pytorch:2.8.0-cuda12.6-cudnn9-devel`, as the base image of a
    /// Dockerfile or its build argument, as the image of a workflow's container, a Compose service or a pod, and as the image that
    /// a script starts with `docker run` or Slurm's `--container-image`, also in a variable.
    ///
    /// ## Why on ROCm
    ///
    /// Such an image contains CUDA and a PyTorch built for it. On an AMD host the container starts, but
    /// `torch.cuda.is_available()` returns false. `rocm/pytorch` contains ROCm and PyTorch. `rocm/dev-ubuntu-22.04` and
    /// `-24.04` contain ROCm only; with the suffix `-complete`, they contain all of its libraries.
    ///
    /// ## Example
    ///
    /// ```dockerfile
    /// FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
    /// ```
    ///
    /// ```yaml
    /// services:
    ///   train:
    ///     image: nvcr.io/nvidia/pytorch:25.01-py3
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```dockerfile
    /// FROM rocm/dev-ubuntu-22.04:7.2-complete
    /// ```
    ///
    /// ```yaml
    /// services:
    ///   train:
    ///     image: rocm/pytorch:latest
    /// ```
    ///
    /// Pin the tag of `rocm/pytorch` once it works. Tags name the versions of ROCm, Ubuntu, Python and PyTorch, such as
    /// `rocm7.14_ubuntu24.04_py3.12_pytorch_release_2.12.0`.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the new image is a different system with different packages. NVIDIA hosts need the original image; many
    /// projects have a separate `Dockerfile.rocm`.
    ///
    /// ## References
    ///
    /// * [ROCm on Docker Hub](https://hub.docker.com/u/rocm)
    /// * [vLLM on ROCm](https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/inference/vllm.html)
    /// * [PyTorch on ROCm: using a Docker image](https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html)
    "HW004" "nvidia-base-image" {
        title: "The image contains CUDA, not ROCm",
        family: BuildFiles,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target; the tag depends on the ROCm version",
        lesson: Some("port/right-pytorch"),
        files: [Dockerfile, Yaml, Shell] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    let images = &cx.facts.images;
    let is_rocm = |name: Text<'_>| name.as_str().contains("rocm");
    if cx.is_ported || images.iter().any(|image| is_rocm(image.name)) {
        return;
    }
    let mut names = Vec::new();
    for image in images.iter().filter(|image| !image.guarded) {
        report(cx, image.name);
        names.extend(variable(image.name.as_str()));
        // On a host without a GPU, this image computes on the CPU.
        if let Some(tag) = image.name.as_str().strip_prefix("ollama/ollama")
            && (tag.is_empty() || tag.starts_with(':'))
            && contains(cx.source, "nvidia")
        {
            let tag = match tag.trim_start_matches(':') {
                "" | "latest" => "rocm".to_owned(),
                version => format!("{version}-rocm"),
            };
            replace(cx, image.name, Some(format!("ollama/ollama:{tag}")));
        }
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        if matches!(
            command.program(),
            "docker" | "podman" | "nerdctl" | "singularity" | "apptainer"
        ) {
            for word in command.words.iter().skip(1) {
                // `--build-arg BASE=nvidia/cuda:12.4.1-devel-ubuntu22.04`
                let value = word.split_once('=').map(|(_, value)| value.unquoted());
                let value = value.unwrap_or(*word);
                report(cx, value);
                names.extend(variable(value.as_str()));
            }
        }
    }
    // `IMAGE=nvcr.io/nvidia/pytorch:26.03-py3` and `docker run "$IMAGE"`. In a Dockerfile it is one of the images.
    let settings = cx.facts.settings.iter().filter(|setting| !setting.guarded);
    for setting in settings.filter(|_| cx.language != Language::Dockerfile) {
        if names.contains(&setting.key.as_str()) {
            report(cx, setting.value.unquoted());
        }
    }
}

fn report(cx: &FileChecker<'_>, image: Text<'_>) {
    let name = image
        .as_str()
        .trim_start_matches("docker://")
        .trim_start_matches("docker.io/");
    let image = image.from(image.as_str().len() - name.len());
    // Enroot writes `nvcr.io#nvidia/pytorch:26.03-py3`.
    let name = name.replace('#', "/");
    let name = name.as_str();
    let instead = if name.starts_with("nvidia/cuda:") || name.starts_with("nvcr.io/nvidia/cuda:") {
        Some(system(name, cx.target))
    } else if name.starts_with("nvcr.io/nvidia/pytorch:") || is_pytorch(name) {
        Some("rocm/pytorch:latest".to_owned())
    } else if name.starts_with("nvcr.io/nvidia/tensorflow:")
        || name.starts_with("tensorflow/tensorflow:") && name.contains("-gpu")
    {
        Some("rocm/tensorflow:latest".to_owned())
    // `nvcr.io/nvidia/…` and `nvcr.io/nim/…`
    } else if name.starts_with("nvcr.io/n") && name.contains(':')
        || name.starts_with("nvidia/cuda@")
    {
        None
    } else if name.split(':').next() == Some("vllm/vllm-openai") {
        Some("rocm/vllm:latest".to_owned())
    } else if has_cuda_tag(cx, name) {
        None
    } else {
        return;
    };
    replace(cx, image, instead);
}

fn replace(cx: &FileChecker<'_>, image: Text<'_>, instead: Option<String>) {
    let name = image.as_str();
    let fix = match instead {
        // Replacing the line would leave the stage's own build arguments unused.
        Some(instead) if name.contains('$') => RawFix::display_only(format!("Use {instead}")),
        Some(instead) => {
            RawFix::unsafe_edits(format!("Use {instead}"), vec![(image.range(), instead)])
        }
        None => {
            RawFix::display_only("Look for an equivalent AMD image, https://hub.docker.com/u/rocm")
        }
    };
    cx.report(
        &RULE,
        Severity::Error,
        image.range(),
        "This image contains CUDA, and no code that runs on an AMD GPU.",
        fix,
    );
}

/// `pytorch/pytorch:2.4.0-cuda12.4-cudnn9-devel`
fn is_pytorch(name: &str) -> bool {
    name.strip_prefix("pytorch/pytorch:")
        .is_some_and(|tag| tag.contains("cuda"))
}

/// `runpod/pytorch:2.4.0-py3.11-cuda12.4.1-devel`, `acme/train:main-py3.11-cu124-2.6.0`, and `acme/train:cu${CUDA}` after
/// `ARG CUDA=12.4`
fn has_cuda_tag(cx: &FileChecker<'_>, name: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let tag = name.split_once(':').map_or("", |(_, tag)| tag);
    let after = tag.split_once("cuda").map_or("", |(_, after)| after);
    let is_numbered = |name: &str| {
        let mut settings = cx.facts.settings.iter();
        settings.any(|setting| setting.key.as_str() == name && is_number(setting.value.as_str()))
    };
    is_number(after)
        || !tag.contains('$') && wheels::cuda_segment(tag).is_some()
        || tag.split(['-', '.']).any(|piece| {
            let version = piece.strip_prefix("cu").unwrap_or_default();
            variable(version.trim_start_matches("da")).is_some_and(is_numbered)
        })
}

/// The image with ROCm for the same Ubuntu release.
fn system(name: &str, target: &Target) -> String {
    let ubuntu = if name.contains("24.04") {
        "24.04"
    } else {
        "22.04"
    };
    let complete = if name.contains("runtime") || name.contains("base") {
        ""
    } else {
        "-complete"
    };
    // The existing tags: 7.0 to 7.2, then 10.0.0, which has a different suffix.
    if target.rocm >= Version::new(10, 0) {
        let full = if complete.is_empty() { "" } else { "-full" };
        return format!("rocm/dev-ubuntu-24.04:10.0.0{full}");
    }
    let version = target.rocm.min(Version::new(7, 2));
    format!("rocm/dev-ubuntu-{ubuntu}:{version}{complete}")
}
