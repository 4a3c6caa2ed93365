//! HW005: making NVIDIA GPUs available in a container.

use crate::checker::FileChecker;
use crate::facts::Command;
use crate::text::Text;
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `--gpus` and `--runtime=nvidia` in commands that start a container, `runtime: nvidia` and `driver: nvidia`
    /// in Compose files, `nvidia.com/gpu` in Kubernetes and in Python, and `NVIDIA_DRIVER_CAPABILITIES`. Also finds jobs and pods
    /// that select a node by the name of an NVIDIA GPU: `#SBATCH --gres=gpu:a100:1`, `gke-accelerator: nvidia-l4`.
    ///
    /// ## Why on ROCm
    ///
    /// All of them need NVIDIA's container toolkit. Without it Docker does not start the container: "could not select
    /// device driver". An AMD GPU needs two host devices, `/dev/kfd` and `/dev/dri`, passed to the container like any
    /// other device, and membership in the group that may use them.
    ///
    /// ## Example
    ///
    /// ```shell
    /// docker run --rm --gpus all my/image python train.py
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```shell
    /// docker run --rm --device=/dev/kfd --device=/dev/dri --group-add=video my/image python train.py
    /// ```
    ///
    /// In a Compose file:
    ///
    /// ```yaml
    /// services:
    ///   train:
    ///     image: my/image
    ///     devices:
    ///       - /dev/kfd
    ///       - /dev/dri
    ///     group_add:
    ///       - video
    /// ```
    ///
    /// In Kubernetes the resource is `amd.com/gpu`, from AMD's device plugin.
    ///
    /// ## Fix safety
    ///
    /// Unsafe: NVIDIA hosts have no such devices, and `--gpus 2` selects two GPUs where the replacement passes all of
    /// them.
    ///
    /// ## References
    ///
    /// * [Running ROCm Docker containers](https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html)
    /// * [AMD GPU device plugin for Kubernetes](https://github.com/ROCm/k8s-device-plugin)
    "HW005" "nvidia-container-runtime" {
        title: "A container gets AMD GPUs as devices",
        family: BuildFiles,
        severity: Error,
        also: [Info "for a variable that only NVIDIA's toolkit reads"],
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("port/right-pytorch"),
        files: [Dockerfile, Shell, Yaml, Makefile] check,
    }
}

const DEVICES: &str = "--device=/dev/kfd --device=/dev/dri --group-add=video";
const TITLE: &str = "Pass /dev/kfd and /dev/dri to the container";
const MESSAGE: &str =
    "This needs NVIDIA's container toolkit; on a host without it the container does not start.";

const RESOURCE: &str = "nvidia.com/";
const UNSCHEDULED: &str = "No AMD GPU has this name, so the job is never scheduled on one.";

/// Beginnings of the names of NVIDIA's GPUs for servers.
const GPUS: &str =
    "a100 h100 h200 gh200 b200 gb200 v100 p100 t4 l4 l40 l40s a10 a10g a30 a40 a6000 k80";

/// `A100:8`, `a100_1g.5gb:1`, `A100-80GB`
fn is_nvidia_gpu(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let model = name
        .split([':', '_', '-', '.', '!'])
        .next()
        .unwrap_or_default();
    listed(GPUS, model)
}

/// SageMaker's machines with a GPU, all of which are NVIDIA's: `ml.g5.xlarge`
fn is_instance(name: &str) -> bool {
    name.strip_prefix("ml.")
        .is_some_and(|kind| kind.starts_with(['g', 'p']))
}

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported || cx.source.contains("/dev/kfd") {
        return;
    }
    let facts = &cx.facts;
    let starts = |command: &&Command<'_>| {
        matches!(
            command.program(),
            "docker" | "podman" | "nerdctl" | "nvidia-docker" | "singularity" | "apptainer"
        )
    };
    for command in facts
        .commands
        .iter()
        .filter(starts)
        .chain(&facts.container_options)
    {
        if !command.guarded {
            options(cx, &command.words);
        }
    }
    // Devices of Compose without a driver: the only driver with the capability `gpu` is NVIDIA's.
    let names_driver = facts
        .entries
        .iter()
        .any(|entry| entry.key.as_str() == "driver");
    for entry in &facts.entries {
        let key = entry.key.as_str();
        let above = entry.parent.and_then(|parent| facts.entries.get(parent));
        let above = above.map_or("", |parent| parent.key.as_str());
        let value = entry.value.unquoted();
        let message = match (key, value.as_str()) {
            ("runtime" | "driver" | "runtimeClassName", "nvidia") => MESSAGE,
            ("gpus", "all") => MESSAGE,
            ("capabilities", "[gpu]") | ("", "gpu") | ("capabilities", "[\"gpu\"]")
                if !names_driver && (key == "capabilities" || above == "capabilities") =>
            {
                MESSAGE
            }
            ("key", name) if name.starts_with(RESOURCE) => UNSCHEDULED,
            ("cloud.google.com/gke-accelerator", name) if name.starts_with("nvidia") => UNSCHEDULED,
            ("accelerator" | "accelerators" | "gpu" | "gpu_type", name) if is_nvidia_gpu(name) => {
                UNSCHEDULED
            }
            ("instance_type", name) if is_instance(name) => UNSCHEDULED,
            (name, _) if name.starts_with(RESOURCE) => UNSCHEDULED,
            _ => continue,
        };
        let title = if message == UNSCHEDULED {
            "Request amd.com/gpu, or the name of an AMD GPU"
        } else {
            TITLE
        };
        let fix = if key == "nvidia.com/gpu" {
            RawFix::unsafe_edits(title, vec![(entry.key.range(), "amd.com/gpu".to_owned())])
        } else {
            RawFix::display_only(title)
        };
        cx.report(
            &RULE,
            Severity::Error,
            // The value may be a name's, which is assigned before.
            entry.key.range().start..value.range().end.max(entry.key.range().end),
            message,
            fix,
        );
    }
    // Options for Slurm and PBS are comments of the script.
    for comment in &cx.facts.comments {
        let text = cx.source.get(comment.clone()).unwrap_or_default();
        let is_option = ["#SBATCH", "#PBS"]
            .iter()
            .any(|start| text.starts_with(start));
        if is_option
            && text
                .split_once("gpu:")
                .is_some_and(|(_, name)| is_nvidia_gpu(name))
        {
            cx.report(
                &RULE,
                Severity::Error,
                comment.clone(),
                UNSCHEDULED,
                RawFix::display_only("Request the name of an AMD GPU"),
            );
        }
    }
    for setting in facts.settings.iter().filter(|setting| !setting.guarded) {
        if setting.key.as_str() == "NVIDIA_DRIVER_CAPABILITIES" {
            cx.report(
                &RULE,
                Severity::Info,
                setting.key.range(),
                "Only NVIDIA's container toolkit reads this variable; it does nothing for AMD GPUs.",
                RawFix::display_only("Start the container with /dev/kfd and /dev/dri"),
            );
        }
    }
}

/// `--gpus all`, `--gpus=all`, `--runtime nvidia`
fn options(cx: &FileChecker<'_>, words: &[Text<'_>]) {
    let mut is_first = true;
    for (at, word) in words.iter().enumerate() {
        let (option, inline) = match word.split_once('=') {
            Some((option, value)) => (option.as_str(), Some(value)),
            None => (word.as_str(), None),
        };
        let value = inline.or_else(|| words.get(at + 1).copied());
        let is_asking = match option {
            // Singularity's
            "--nv" | "--gpus" => true,
            "nvidia-docker" => true,
            "--runtime" => value.is_some_and(|value| value.unquoted().as_str() == "nvidia"),
            _ => false,
        };
        let Some(value) = value.filter(|_| is_asking) else {
            continue;
        };
        // The words have no quotes; replacing a quoted value would leave a quote.
        let end = value.range().end;
        let is_plain = cx
            .source
            .get(word.range().start..end)
            .is_some_and(|text| !text.contains(['"', '\'', '\\', '\n']))
            && !cx
                .source
                .get(end..)
                .is_some_and(|rest| rest.starts_with(['"', '\'']));
        let fix = if is_plain && is_first && option == "--gpus" {
            RawFix::unsafe_edits(TITLE, vec![(word.range().start..end, DEVICES.to_owned())])
        } else {
            RawFix::display_only(TITLE)
        };
        is_first = false;
        cx.report(
            &RULE,
            Severity::Error,
            word.range().start..end,
            MESSAGE,
            fix,
        );
    }
}
