//! HW004: a container image that contains CUDA.

use crate::checker::FileChecker;
use crate::facts::{Entry, contains};
use crate::rules::helpers::wheels;
use crate::shell::variable;
use crate::text::Text;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;
use hipward_analyzer_core::{Language, Severity, Version};

declare_rule! {
    /// ## What it does
    ///
    /// Finds `nvidia/cuda`, `nvcr.io/nvidia/…`, `vllm/vllm-openai`, and any image whose tag has a version of CUDA, such as
    /// `pytorch/pytorch:2.8.0-cuda12.6-cudnn9-devel`, or `cuda` in its name, as the base image of a
    /// Dockerfile or its build argument, as the image of a workflow's container, a Compose service or a pod, and as the image that
    /// a script starts with `docker run` or Slurm's `--container-image`, also in a variable, and as `From:` of an Apptainer
    /// definition. Also `gpu: true` in Cog's `cog.yaml`.
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
        also: [Warning "for a name that ends with -gpu"],
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
        // `image_path: data/cuda/x.png` is no image of a container.
        let is_image = |entry: &Entry<'_>| {
            matches!(
                entry.key.as_str(),
                "image" | "container" | "container_image" | "docker_image" | "base_image"
            )
        };
        let is_certain = cx.language != Language::Yaml
            || entry_of(cx, image.name).is_some_and(|(_, entry)| is_image(entry));
        report(cx, image.name, is_certain);
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
        // `gantry run --beaker-image acme/train:cuda12.4`. Other programs have an option `--image` for pictures.
        for option in command.words.windows(2) {
            let name = option[0].as_str();
            if name == "--image" || name.starts_with("--") && name.ends_with("-image") {
                report(cx, option[1], LAUNCHERS.contains(&command.program()));
            }
        }
        if !matches!(
            command.program(),
            "docker" | "podman" | "nerdctl" | "singularity" | "apptainer"
        ) {
            continue;
        }
        let words = &command.words;
        let says = |verb: &str| {
            words
                .iter()
                .skip(1)
                .take(2)
                .any(|word| word.as_str() == verb)
        };
        // The image that another command made.
        if ["push", "rmi", "tag"].iter().any(|verb| says(verb)) {
            continue;
        }
        // Apptainer also starts files.
        let started = started(words).filter(|image| {
            let starts = ["run", "create", "pull"].iter().any(|verb| says(verb));
            let is_file = matches!(command.program(), "singularity" | "apptainer");
            starts && (!is_file || image.as_str().starts_with("docker://"))
        });
        for (word, before) in words.iter().skip(1).zip(words) {
            if says("build") && matches!(before.as_str(), "-t" | "--tag") {
                continue;
            }
            // `--build-arg BASE=nvidia/cuda:12.4.1-devel-ubuntu22.04`
            let value = word.split_once('=').map(|(_, value)| value.unquoted());
            let value = value.unwrap_or(*word);
            report(cx, value, started == Some(*word));
            names.extend(variable(value.as_str()));
        }
    }
    // `IMAGE=nvcr.io/nvidia/pytorch:26.03-py3` and `docker run "$IMAGE"`. In a Dockerfile it is one of the images.
    let settings = cx.facts.settings.iter().filter(|setting| !setting.guarded);
    for setting in settings.filter(|_| cx.language != Language::Dockerfile) {
        if names.contains(&setting.key.as_str()) {
            report(cx, setting.value.unquoted(), false);
        }
    }
    let entries = &cx.facts.entries;
    let parent = |entry: &Entry<'_>| Some(entries.get(entry.parent?)?.key.as_str());
    let is_cog = |entry: &&Entry<'_>| {
        entry.key.as_str() == "gpu"
            && entry.value.as_str() == "true"
            && parent(entry) == Some("build")
    };
    if let Some(gpu) = entries.iter().find(is_cog).filter(|_| {
        entries
            .iter()
            .any(|entry| matches!(entry.key.as_str(), "python_packages" | "predict"))
    }) {
        cx.report(
            &RULE,
            Severity::Error,
            gpu.key.range().start..gpu.value.range().end,
            "Cog builds this on an image with CUDA.",
            RawFix::display_only("Write a Dockerfile that begins with rocm/pytorch"),
        );
    }
}

/// The entry of a YAML file with that value, and its index.
fn entry_of<'c, 'a>(cx: &'c FileChecker<'a>, value: Text<'_>) -> Option<(usize, &'c Entry<'a>)> {
    let entries = &cx.facts.entries;
    let at = entries.partition_point(|entry| entry.value.range().end < value.range().end);
    Some((at, entries.get(at)?))
}

/// Programs that start containers, and have an option for the image.
const LAUNCHERS: [&str; 9] = [
    "srun", "sbatch", "salloc", "gantry", "beaker", "kubectl", "ngc", "runai", "gcloud",
];

/// The options of `docker run` without a value.
const FLAGS: &str = "--rm --privileged --init --interactive --tty --detach -i -t -d -it -ti -itd -dit -td -P --no-healthcheck --read-only -q --quiet";

/// The image that a command starts: the first word after the verb that is no option, and no option's value.
fn started<'a>(words: &[Text<'a>]) -> Option<Text<'a>> {
    let mut words = words.iter().skip(2);
    while let Some(word) = words.next() {
        let option = word.as_str();
        if !option.starts_with('-') {
            return Some(*word);
        }
        if !option.contains('=') && !listed(FLAGS, option) {
            words.next();
        }
    }
    None
}

/// `is_certain`: it is an image, and not some other word of a command.
fn report(cx: &FileChecker<'_>, image: Text<'_>, is_certain: bool) {
    let name = image
        .as_str()
        .trim_start_matches("docker://")
        .trim_start_matches("docker.io/");
    let image = image.from(image.as_str().len() - name.len());
    // Enroot writes `nvcr.io#nvidia/pytorch:26.03-py3`.
    let name = name.replace('#', "/");
    let name = name.as_str();
    let instead = if name.starts_with("nvidia/cuda:") || name.starts_with("nvcr.io/nvidia/cuda:") {
        Some(system(name, cx))
    } else if name.starts_with("nvcr.io/nvidia/pytorch:")
        || is_pytorch(name)
        || is_certain && matches!(name, "pytorch/pytorch" | "pytorch/pytorch:latest")
    {
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
    } else if has_cuda_tag(cx, name) || is_certain && (is_named_cuda(name) || is_release(name)) {
        None
    } else if is_certain && is_for_gpu(cx, image) {
        cx.report(
            &RULE,
            Severity::Warning,
            image.range(),
            "An image with this name is usually built for NVIDIA GPUs.",
            RawFix::display_only("Look for the project's image for ROCm"),
        );
        return;
    } else {
        return;
    };
    replace(cx, image, instead);
}

fn replace(cx: &FileChecker<'_>, image: Text<'_>, instead: Option<String>) {
    let name = image.as_str();
    // Packages of one Ubuntu release: `apt-get install git=1:2.34.1-1ubuntu1`
    let is_pinned = cx.facts.commands.iter().take(10 * NEAR).any(|command| {
        let is_pin = |word: &Text<'_>| {
            let word = word.as_str();
            word.contains('=') && !word.contains("::") && !word.starts_with('-')
        };
        command.program() == "apt-get" && command.words.iter().any(is_pin)
    });
    let fix = match instead {
        Some(instead) if is_pinned => RawFix::display_only(format!(
            "Use {instead}, with its Ubuntu release's versions of the packages"
        )),
        // Replacing the line would leave the stage's own build arguments unused.
        Some(instead) if name.contains(['$', '{']) => {
            RawFix::display_only(format!("Use {instead}"))
        }
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

/// `runpod/pytorch:2.4.0-py3.11-cuda12.4.1-devel`, `acme/train:cuda-12.8.1`, `acme/train:main-py3.11-cu124-2.6.0`, and `acme/train:cu${CUDA}` after
/// `ARG CUDA=12.4`
fn has_cuda_tag(cx: &FileChecker<'_>, name: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let tag = name.split_once(':').map_or("", |(_, tag)| tag);
    let after = tag.split_once("cuda").map_or("", |(_, after)| after);
    let is_numbered = |name: &str| {
        let mut settings = cx.facts.settings_of(name);
        settings.any(|setting| is_number(setting.value.as_str()))
    };
    is_number(after.trim_start_matches('-'))
        || !tag.contains('$') && wheels::cuda_segment(tag).is_some()
        || tag.split(['-', '.']).any(|piece| {
            let version = piece.strip_prefix("cu").unwrap_or_default();
            let names_cuda = |name: &str| name.contains("CUDA");
            variable(version.trim_start_matches("da"))
                .is_some_and(|name| is_numbered(name) || names_cuda(name))
        })
}

/// `acme/pytorch-cuda:2.8`, `acme/cuda11.8-ubuntu22.04`. A name without a folder may be a stage.
fn is_named_cuda(name: &str) -> bool {
    let name = name.split([':', '@']).next().unwrap_or_default();
    name.contains('/')
        && !name.starts_with(['/', '.'])
        && name.split(['/', '-', '_', '.']).any(|piece| {
            let version = piece.strip_prefix("cuda");
            version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
        })
}

/// Projects whose releases are images for CUDA, while those for other GPUs have a suffix.
const RELEASES: &str = "lmsysorg/sglang mosaicml/pytorch openmmlab/lmdeploy ghcr.io/huggingface/text-generation-inference";

/// `lmsysorg/sglang:v0.5.6`
fn is_release(name: &str) -> bool {
    let (name, tag) = name.split_once(':').unwrap_or((name, "latest"));
    let number = tag.strip_prefix('v').unwrap_or(tag);
    let is_number = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    listed(RELEASES, name) && (tag == "latest" || is_number)
}

/// A service has only a few keys; a longer search would read long files repeatedly.
const NEAR: usize = 20;

/// `acme/train-gpu:latest` and `acme/train:2.8-gpu`, unless a Compose service builds it.
fn is_for_gpu(cx: &FileChecker<'_>, image: Text<'_>) -> bool {
    let name = image.as_str();
    let others = ["amd", "intel", "xpu", "hip"];
    let entries = &cx.facts.entries;
    let is_built = entry_of(cx, image).is_some_and(|(at, own)| {
        let mut near = entries.iter().skip(at.saturating_sub(NEAR)).take(2 * NEAR);
        near.any(|entry| entry.parent == own.parent && entry.key.as_str() == "build")
    });
    name.contains('/')
        && !name.starts_with(['/', '.', '$'])
        && name.split([':', '@']).any(|part| part.ends_with("-gpu"))
        && !others.iter().any(|other| name.contains(other))
        && !is_built
}

/// The image with ROCm for the same Ubuntu release, which an argument may state.
fn system(name: &str, cx: &FileChecker<'_>) -> String {
    let target = cx.target;
    let is_2404 = cx.facts.settings.iter().any(|setting| {
        name.contains('$')
            && setting.value.as_str().contains("24.04")
            && name.contains(setting.key.as_str())
    });
    let ubuntu = if is_2404 || name.contains("24.04") {
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
