//! HW010: NVIDIA packages from the system's package manager.

use crate::checker::FileChecker;
use hipward_analyzer_core::Severity;
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::words::listed;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `apt-get install cuda-toolkit-12-4 libcudnn9-dev-cuda-12 libnccl2` and similar commands with `apt`, `yum`
    /// and `dnf`, downloads from NVIDIA's package server and its keys, `module load cuda/12.4` on a cluster, NVIDIA's kernel modules
    /// and services, and `rm /etc/apt/sources.list.d/cuda.list`, which fails where the file does not exist.
    ///
    /// ## Why on ROCm
    ///
    /// The packages install on any machine, but an AMD GPU cannot use them. The equivalents come from AMD's repository:
    /// `rocm-hip-sdk`, or single libraries such as `hipblas-dev`, `miopen-hip-dev` and `rccl-dev`. An image such as
    /// `rocm/dev-ubuntu-24.04:7.2-complete` contains them.
    ///
    /// ## Example
    ///
    /// ```dockerfile
    /// FROM ubuntu:24.04
    /// RUN apt-get update && apt-get install -y git cuda-toolkit-12-4 libnccl2
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```dockerfile
    /// FROM rocm/dev-ubuntu-24.04:7.2-complete
    /// RUN apt-get update && apt-get install -y git
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the AMD packages needed depend on the build.
    ///
    /// ## References
    ///
    /// * [ROCm installation for Linux](https://rocm.docs.amd.com/projects/install-on-linux/en/latest/)
    "HW010" "nvidia-system-package" {
        title: "NVIDIA system packages have no use on ROCm",
        family: BuildFiles,
        severity: Warning,
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/right-pytorch"),
        files: [Dockerfile, Shell, Yaml] check,
    }
}

const TOOLKIT: &str = "rocm-hip-sdk, or the ROCm libraries that are used";

/// Prefixes of the names of packages and modules, with the equivalent.
const PACKAGES: &[(&str, &str)] = &[
    ("cuda", TOOLKIT),
    ("nvhpc", TOOLKIT),
    ("cudnn", "miopen-hip-dev"),
    ("libcudnn", "miopen-hip-dev"),
    ("libnccl", "rccl-dev"),
    ("libcublas", "hipblas-dev"),
    ("libcusparse", "hipsparse-dev"),
    ("libcufft", "hipfft-dev"),
    ("libcusolver", "hipsolver-dev"),
    ("libnvinfer", "migraphx"),
    ("python3-libnvinfer", "migraphx"),
    ("tensorrt", "migraphx"),
    ("libnvjpeg", "rocjpeg"),
    (
        "nvidia-container-toolkit",
        "amd-container-toolkit, or /dev/kfd and /dev/dri as devices",
    ),
    ("nvidia-", "rocm-hip-sdk, or amdgpu-dkms for the driver"),
    ("nsight-", "rocprofiler-sdk"),
];

const HOST: &str = "developer.download.nvidia.com";

fn check(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        let words = &command.words;
        let says = |verbs: &str| words.iter().any(|word| listed(verbs, word.as_str()));
        let installs = match command.program() {
            "apt-get" | "apt" | "yum" | "dnf" | "microdnf" | "zypper" | "aptitude" | "apk" => {
                says("install add")
            }
            "dpkg" | "rpm" => says("-i --install -ivh"),
            "module" | "ml" => says("load add"),
            "systemctl" => says("enable start restart"),
            "modprobe" => true,
            "rm" => {
                let has = |start: &str| {
                    words.iter().find(|word| {
                        let path = word.as_str().strip_prefix("/etc/apt/sources.list.d/");
                        path.is_some_and(|path| path.starts_with(start))
                    })
                };
                let is_forced = words.iter().any(|word| {
                    let word = word.as_str();
                    word == "--force" || word.starts_with('-') && word.contains('f')
                });
                if let Some(list) = has("cuda").or(has("nvidia")).filter(|_| !is_forced) {
                    cx.report(
                        &RULE,
                        Severity::Warning,
                        list.range(),
                        "Only images with CUDA have this file; in others rm fails.",
                        RawFix::display_only("Remove the command, or use rm -f"),
                    );
                }
                continue;
            }
            "wget" | "curl" | "add-apt-repository" => {
                let download = words.iter().find(|word| word.as_str().contains(HOST));
                if let Some(download) = download {
                    cx.report(
                        &RULE,
                        Severity::Warning,
                        download.range(),
                        "NVIDIA's package server has nothing for an AMD GPU.",
                        RawFix::display_only(
                            "Install ROCm from AMD's repository, or use an image that contains it",
                        ),
                    );
                }
                continue;
            }
            _ => continue,
        };
        // One finding per command, for any number of packages.
        let found = words.iter().skip(1).find_map(|word| {
            // `CUDA/12.1`, `/tmp/cuda-keyring.deb`
            let name = word.as_str().to_ascii_lowercase();
            let file = name
                .rsplit('/')
                .next()
                .filter(|file| file.ends_with(".deb"));
            let name = file.unwrap_or(&name);
            let (_, instead) = PACKAGES
                .iter()
                .find(|(package, _)| name.starts_with(package))?;
            Some((word, instead))
        });
        if let Some((word, instead)) = found.filter(|_| installs) {
            cx.report(
                &RULE,
                Severity::Warning,
                word.range(),
                "This package is part of NVIDIA's stack; an AMD GPU cannot use it.",
                RawFix::display_only(format!("On ROCm: {instead}")),
            );
        }
    }
}
