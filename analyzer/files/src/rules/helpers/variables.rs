//! Environment variables that matter in a port, as set in files: Dockerfiles, scripts, `.env`, workflows.
//!
//! The rules in `environment/` use it for such files; each row names the rule that reports it.

use crate::checker::FileChecker;
use crate::facts::Setting;
use hipward_analyzer_core::diagnostic::{RawFix, Replacement};
use hipward_analyzer_core::rule::Rule;
use hipward_analyzer_core::{Language, Severity, Version};
use hipward_analyzer_python::rules::helpers::table_rules::{ApiPattern, ApiRule, filled};

/// The allocator's variable: its name by version, and `expandable_segments` where it does nothing.
pub(crate) fn allocator(cx: &FileChecker<'_>, rule: &'static Rule) {
    let torch = cx.target.torch;
    let is_new = torch >= Version::new(2, 9);
    let current = if is_new {
        "PYTORCH_ALLOC_CONF"
    } else {
        "PYTORCH_HIP_ALLOC_CONF"
    };
    for setting in settings(cx) {
        let name = setting.key.as_str();
        if name == "PYTORCH_CUDA_ALLOC_CONF" {
            let why = if is_new {
                "PYTORCH_CUDA_ALLOC_CONF still works on ROCm; since PyTorch 2.9 PYTORCH_ALLOC_CONF is the name on every backend.".to_owned()
            } else {
                format!(
                    "PYTORCH_CUDA_ALLOC_CONF works on ROCm too; PyTorch {torch} also reads {current} there."
                )
            };
            let title = format!("Rename it to {current}");
            let edits = vec![(setting.key.range(), current.to_owned())];
            let fix = if is_new {
                RawFix::safe_edits(title, edits)
            } else {
                RawFix::unsafe_edits(title, edits)
            };
            cx.report(rule, Severity::Info, setting.key.range(), why, fix);
        }
        let is_allocator = name.starts_with("PYTORCH_") && name.ends_with("ALLOC_CONF");
        let supported = cx.target.rocm >= Version::new(7, 0) && torch >= Version::new(2, 12);
        if is_allocator && !supported && setting.value.as_str().contains("expandable_segments:True")
        {
            cx.report(
                rule,
                Severity::Warning,
                setting.value.range(),
                "expandable_segments needs ROCm 7 and PyTorch 2.12; this target prints a warning and ignores it.",
                RawFix::display_only("Remove the option for this target"),
            );
        }
    }
}

/// `CUDA_LAUNCH_BLOCKING=1`, unless HIP's variable is also set.
pub(crate) fn launch_blocking(cx: &FileChecker<'_>, rule: &'static Rule) {
    let counterparts = ["AMD_SERIALIZE_KERNEL", "HIP_LAUNCH_BLOCKING"];
    if settings(cx).any(|setting| counterparts.contains(&setting.key.as_str())) {
        return;
    }
    for setting in settings(cx).filter(|setting| setting.key.as_str() == "CUDA_LAUNCH_BLOCKING") {
        let value = setting.value.as_str();
        if value == "0" || value.is_empty() {
            continue;
        }
        let title = "Set AMD_SERIALIZE_KERNEL to 3";
        let fix = if value == "1" {
            let edits = vec![
                (setting.key.range(), "AMD_SERIALIZE_KERNEL".to_owned()),
                (setting.value.range(), "3".to_owned()),
            ];
            RawFix::unsafe_edits(title, edits)
        } else {
            RawFix::display_only(title)
        };
        cx.report(
            rule,
            Severity::Warning,
            setting.key.range(),
            "CUDA_LAUNCH_BLOCKING has no effect on HIP: kernels stay asynchronous, and errors appear at a later line.",
            fix,
        );
    }
}

/// The message for a variable, wherever it is set.
struct Variable {
    name: &'static str,
    /// The rule that reports it, here and in code.
    owner: &'static str,
    severity: Severity,
    message: &'static str,
    advice: &'static str,
    /// Another variable which shows that the file supports ROCm.
    beside: &'static str,
    /// A part of the values that are reported; empty for any value.
    with: &'static str,
}

const fn unread(
    name: &'static str,
    owner: &'static str,
    severity: Severity,
    message: &'static str,
    advice: &'static str,
    beside: &'static str,
) -> Variable {
    Variable {
        name,
        owner,
        severity,
        message,
        advice,
        beside,
        with: "",
    }
}

/// The rule for variables without a rule of their own.
const OWN: &str = "cuda-variable";

const fn of_cumm(name: &'static str) -> Variable {
    unread(
        name,
        OWN,
        Severity::Warning,
        "cumm, which reads this variable, generates code for NVIDIA GPUs only.",
        "Sparse convolutions need another library on ROCm",
        "",
    )
}

const fn of_vulkan(name: &'static str) -> Variable {
    Variable {
        with: "nvidia",
        ..unread(
            name,
            OWN,
            Severity::Warning,
            "Vulkan loads NVIDIA's driver only, so it finds no AMD GPU.",
            "Do not set it: the loader finds the driver",
            "",
        )
    }
}

/// `NCCL_*` and `CUDA_VISIBLE_DEVICES` are not listed: RCCL and HIP read those names.
const VARIABLES: &[Variable] = &[
    unread(
        "CUDA_HOME",
        "cuda-home",
        Severity::Warning,
        "A ROCm host has no CUDA toolkit at this path; extension builds use ROCM_HOME.",
        "Set ROCM_HOME to /opt/rocm, or neither",
        "ROCM_HOME",
    ),
    unread(
        "NVCC_APPEND_FLAGS",
        OWN,
        Severity::Warning,
        "Only nvcc reads NVCC_APPEND_FLAGS; the sources are compiled without these options.",
        "Set HIPCC_COMPILE_FLAGS_APPEND, with clang's options",
        "HIPCC_COMPILE_FLAGS_APPEND",
    ),
    unread(
        "NVCC_PREPEND_FLAGS",
        OWN,
        Severity::Warning,
        "Only nvcc reads NVCC_PREPEND_FLAGS; the sources are compiled without these options.",
        "Set HIPCC_COMPILE_FLAGS_APPEND, with clang's options",
        "HIPCC_COMPILE_FLAGS_APPEND",
    ),
    unread(
        "CUDACXX",
        OWN,
        Severity::Warning,
        "CUDACXX is the path of nvcc for CMake; a ROCm host has none.",
        "For HIP: HIPCXX, with ROCm's clang++",
        "HIPCXX",
    ),
    unread(
        "CUDAARCHS",
        OWN,
        Severity::Warning,
        "CUDAARCHS has compute capabilities of NVIDIA GPUs; HIP sources are not compiled for them.",
        "For HIP: CMAKE_HIP_ARCHITECTURES",
        "HIPCXX",
    ),
    // As set-up scripts read it.
    unread(
        "CMAKE_CUDA_ARCHITECTURES",
        OWN,
        Severity::Warning,
        "CMAKE_CUDA_ARCHITECTURES has compute capabilities of NVIDIA GPUs; HIP sources are not compiled for them.",
        "For HIP: CMAKE_HIP_ARCHITECTURES",
        "HIPCXX",
    ),
    unread(
        "TCNN_CUDA_ARCHITECTURES",
        OWN,
        Severity::Warning,
        "tiny-cuda-nn, which reads TCNN_CUDA_ARCHITECTURES, exists for NVIDIA GPUs only.",
        "Write the network in PyTorch and compile it",
        "HIPCXX",
    ),
    of_cumm("CUMM_CUDA_VERSION"),
    of_cumm("CUMM_CUDA_ARCH_LIST"),
    of_vulkan("VK_ICD_FILENAMES"),
    of_vulkan("VK_DRIVER_FILES"),
    unread(
        "TRITON_PTXAS_PATH",
        OWN,
        Severity::Info,
        "Triton has no ptxas for AMD GPUs, and does not read TRITON_PTXAS_PATH there.",
        "Nothing",
        "",
    ),
    unread(
        "CUDA_MODULE_LOADING",
        OWN,
        Severity::Info,
        "HIP does not read CUDA_MODULE_LOADING.",
        "Nothing: HIP loads code objects on first use",
        "",
    ),
    unread(
        "CUDA_DEVICE_MAX_CONNECTIONS",
        OWN,
        Severity::Info,
        "HIP does not read CUDA_DEVICE_MAX_CONNECTIONS, so it does not order communication before compute; Megatron still requires it to be set.",
        "Keep it if the code checks it; GPU_MAX_HW_QUEUES sets the number of HIP's hardware queues",
        "GPU_MAX_HW_QUEUES",
    ),
];

/// Reports the variables of the rule `of` in the table.
pub(crate) fn check(cx: &FileChecker<'_>, of: &'static Rule) {
    if cx.is_ported {
        return;
    }
    for variable in VARIABLES {
        if variable.owner != of.name || sets(cx, variable.beside) {
            continue;
        }
        // Only the first is reported: scripts set one in each of many branches.
        let fits = |setting: &&Setting<'_>| setting.value.as_str().contains(variable.with);
        if let Some(setting) = given(cx, variable.name).find(fits) {
            let advice = RawFix::display_only(variable.advice);
            cx.report(
                of,
                variable.severity,
                setting.key.range(),
                variable.message,
                advice,
            );
        }
    }
}

/// Reports the variables of the table that the rule uses for code: `ENV X=1` and `os.environ["X"] = "1"` are
/// equivalent.
pub(crate) fn uses(cx: &FileChecker<'_>, of: &'static Rule, uses: &[ApiRule]) {
    let mut seen: Vec<&str> = Vec::new();
    for found in uses.iter().filter(|found| found.when.holds(cx.target)) {
        let ApiPattern::Variable(name, values) = found.pattern else {
            continue;
        };
        let fits = |setting: &&Setting<'_>| {
            values.is_empty() || values.contains(&setting.value.unquoted().as_str())
        };
        // Only the first setting and the first matching row are reported, as in code.
        if seen.contains(&name) {
            continue;
        }
        let is_empty = |setting: &&Setting<'_>| {
            // `X=<GPU_ID>` in a document is for a value to be filled in.
            let end = setting.value.range().end;
            if cx
                .source
                .get(end..)
                .is_some_and(|rest| rest.starts_with('<'))
            {
                return false;
            }
            // `X:` in YAML passes on the host's value.
            setting.key.as_str() == name
                && setting.value.unquoted().as_str().is_empty()
                && (cx.language != Language::Yaml || !setting.value.as_str().is_empty())
        };
        let found_empty = settings(cx).find(|it| values.contains(&"") && is_empty(it));
        if let Some(setting) = given(cx, name).find(fits).or(found_empty) {
            seen.push(name);
            let title = filled(found.fix.title, cx.target);
            let fix = match edits(cx, setting, &filled(found.fix.instead, cx.target)) {
                Some(edits) => RawFix {
                    title,
                    applicability: found.fix.applicability,
                    edits,
                },
                None => RawFix::display_only(title),
            };
            let message = filled(found.message, cx.target);
            cx.report(of, found.severity, setting.key.range(), message, fix);
        }
    }
}

/// Edits that replace a setting by `NAME=value`; `None` if the name also appears elsewhere, where it may be read, and for a value
/// that is passed on.
fn edits(cx: &FileChecker<'_>, setting: &Setting<'_>, instead: &str) -> Option<Vec<Replacement>> {
    let (name, value) = instead.split_once('=')?;
    let key = setting.key.as_str();
    if name != key && cx.source.matches(key).count() > 1 || setting.value.as_str().starts_with('$')
    {
        return None;
    }
    Some(vec![
        (setting.key.range(), name.to_owned()),
        (setting.value.unquoted().range(), value.to_owned()),
    ])
}

/// Reports a variable with a name that no program reads, and renames it.
pub(crate) fn renamed(
    cx: &FileChecker<'_>,
    rule: &'static Rule,
    names: &[&str],
    say: fn(&str) -> (String, String),
) {
    for setting in settings(cx).filter(|setting| names.contains(&setting.key.as_str())) {
        let (message, name) = say(setting.key.as_str());
        let fix = RawFix::safe_edits(format!("Set {name}"), vec![(setting.key.range(), name)]);
        cx.report(rule, Severity::Warning, setting.key.range(), message, fix);
    }
}

/// True if the file sets `name`, to any value.
pub(crate) fn sets(cx: &FileChecker<'_>, name: &str) -> bool {
    settings(cx).any(|setting| setting.key.as_str() == name)
}

/// The positions where `name` is set; `ENV X=$X` passes on a value that is set elsewhere, but `X=${X:-1}` has a default.
pub(crate) fn given<'c, 'a>(
    cx: &'c FileChecker<'a>,
    name: &'c str,
) -> impl Iterator<Item = &'c Setting<'a>> {
    let has_default = move |value: &str| {
        value
            .strip_prefix("${")
            .and_then(|rest| rest.strip_prefix(name)?.strip_prefix(":-"))
            .is_some_and(|default| !default.starts_with(['$', '}']))
    };
    let is_own =
        move |value: &str| !value.is_empty() && (!value.starts_with('$') || has_default(value));
    // `ENV TORCH_CUDA_ARCH_LIST=${CUDA_ARCH}`: an image gives the build argument a name that ROCm does not read.
    let is_renamed = move |value: &str| {
        cx.language == Language::Dockerfile
            && name.ends_with("_ARCH_LIST")
            && value.starts_with('$')
            && !value.contains(name)
    };
    settings(cx).filter(move |setting| {
        let value = setting.value.unquoted().as_str();
        setting.key.as_str() == name && (is_own(value) || is_renamed(value))
    })
}

fn settings<'c, 'a>(cx: &'c FileChecker<'a>) -> impl Iterator<Item = &'c Setting<'a>> {
    cx.facts.settings.iter().filter(|setting| !setting.guarded)
}
