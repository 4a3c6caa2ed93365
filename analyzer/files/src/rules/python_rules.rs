//! Rules for Python that check build files and scripts too: a required package, a variable that is set, a command.
//!
//! Their pages and their checks of Python are in the crate `hipward-analyzer-python`.

use std::ops::Range;

use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::rule::Rule;
use hipward_analyzer_core::{Language, Severity};
use hipward_analyzer_python::rules::backend::tf32;
use hipward_analyzer_python::rules::environment::{
    cublas_workspace_config, cuda_alloc_conf, cuda_home, cuda_launch_blocking,
    max_autotune_variable, miopen_find_mode, rccl_variable, redundant_hip_variable,
    torch_cuda_arch_list, visible_devices,
};
use hipward_analyzer_python::rules::vendor::{
    apex, bitsandbytes, cuda_only_library, cuda_python, cupy, dali, flash_attn, nvidia_smi, nvtx,
    pynvml, tensorrt, xformers,
};

use super::FileRule;
use super::helpers::{packages, variables};
use crate::checker::FileChecker;
use crate::facts::{Entry, Image};

/// Declares a [`FileRule`] for `$rule` of the Python crate.
macro_rules! package {
    ($rule:ident) => {
        FileRule {
            rule: &$rule::RULE,
            languages: PACKAGE_LANGUAGES,
            check: |cx| packages::check(cx, &$rule::RULE),
        }
    };
}

const PACKAGE_LANGUAGES: &[Language] = &[
    Language::Requirements,
    Language::Pyproject,
    Language::Dockerfile,
    Language::Shell,
    Language::Yaml,
];

const SCRIPT_LANGUAGES: &[Language] = &[Language::Dockerfile, Language::Shell, Language::Yaml];

const fn script(rule: &'static Rule, check: fn(&FileChecker<'_>)) -> FileRule {
    FileRule {
        rule,
        languages: SCRIPT_LANGUAGES,
        check,
    }
}

pub(super) static RULES: &[FileRule] = &[
    package!(pynvml),
    FileRule {
        rule: &nvidia_smi::RULE,
        // Pixi's tasks.
        languages: &[
            Language::Dockerfile,
            Language::Shell,
            Language::Yaml,
            Language::Pyproject,
        ],
        check: check_nvidia_smi,
    },
    script(&tf32::RULE, check_tf32),
    package!(flash_attn),
    package!(apex),
    package!(cupy),
    package!(xformers),
    package!(bitsandbytes),
    package!(tensorrt),
    package!(dali),
    package!(nvtx),
    package!(cuda_python),
    package!(cuda_only_library),
    script(&cuda_alloc_conf::RULE, |cx| {
        variables::allocator(cx, &cuda_alloc_conf::RULE);
    }),
    script(&cuda_launch_blocking::RULE, |cx| {
        variables::launch_blocking(cx, &cuda_launch_blocking::RULE);
    }),
    script(&visible_devices::RULE, check_visible_devices),
    script(&rccl_variable::RULE, |cx| {
        variables::renamed(
            cx,
            &rccl_variable::RULE,
            rccl_variable::ALIASES,
            rccl_variable::message_of,
        );
    }),
    script(&torch_cuda_arch_list::RULE, check_torch_cuda_arch_list),
    script(&cuda_home::RULE, |cx| {
        variables::check(cx, &cuda_home::RULE);
    }),
    script(&cublas_workspace_config::RULE, |cx| {
        variables::uses(
            cx,
            &cublas_workspace_config::RULE,
            cublas_workspace_config::USES,
        );
    }),
    script(&max_autotune_variable::RULE, |cx| {
        variables::uses(
            cx,
            &max_autotune_variable::RULE,
            max_autotune_variable::USES,
        );
    }),
    script(&redundant_hip_variable::RULE, |cx| {
        variables::uses(
            cx,
            &redundant_hip_variable::RULE,
            redundant_hip_variable::USES,
        );
    }),
    script(&miopen_find_mode::RULE, |cx| {
        variables::uses(cx, &miopen_find_mode::RULE, miopen_find_mode::USES);
    }),
];

fn check_visible_devices(cx: &FileChecker<'_>) {
    if !cx.is_ported {
        variables::uses(cx, &visible_devices::RULE, visible_devices::USES);
    }
}

fn check_torch_cuda_arch_list(cx: &FileChecker<'_>) {
    // Images without nvcc compile nothing.
    let has_compiler = |image: &Image<'_>| {
        let name = image.name.as_str();
        !["-runtime", "-base"].iter().any(|kind| name.contains(kind))
    };
    let images = &cx.facts.images;
    let compiles = images.is_empty() || images.iter().any(has_compiler);
    if compiles && !cx.is_ported && !variables::sets(cx, "PYTORCH_ROCM_ARCH") {
        variables::uses(cx, &torch_cuda_arch_list::RULE, torch_cuda_arch_list::USES);
    }
}

fn check_nvidia_smi(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    for command in &cx.facts.commands {
        let words: Vec<_> = command.words.iter().map(|word| word.as_str()).collect();
        if command.guarded {
            // `command -v nvidia-smi`, `timeout 3 nvidia-smi -L`
            let asks = words
                .iter()
                .take(4)
                .any(|word| nvidia_smi::is_nvidia_smi(word));
            if asks && ends_without(cx, command.range()) {
                cx.report(
                    &nvidia_smi::RULE,
                    Severity::Error,
                    command.range(),
                    "A ROCm host has no nvidia-smi, so this script ends here.",
                    RawFix::display_only("Ask for amd-smi as well"),
                );
            }
            continue;
        }
        let [program, arguments @ ..] = words.as_slice() else {
            continue;
        };
        if !nvidia_smi::is_nvidia_smi(program) {
            continue;
        }
        // `until nvidia-smi; do` never ends if the command is not there.
        let before = cx
            .source
            .get(..command.range().start)
            .unwrap_or_default()
            .trim_end();
        let is_awaited = before.ends_with("until") || before.ends_with("while");
        let fix = if is_awaited {
            RawFix::display_only("Wait for rocminfo")
        } else if arguments.is_empty() {
            let edits = vec![(command.range(), "amd-smi monitor".to_owned())];
            RawFix::unsafe_edits("Run amd-smi monitor", edits)
        } else {
            RawFix::display_only(nvidia_smi::counterpart(arguments))
        };
        cx.report(
            &nvidia_smi::RULE,
            Severity::Error,
            command.range(),
            "nvidia-smi is part of NVIDIA's driver; a ROCm host does not have it.",
            fix,
        );
    }
}

/// `if ! nvidia-smi; then … exit 1; fi` around a command.
fn ends_without(cx: &FileChecker<'_>, command: Range<usize>) -> bool {
    let before = cx.source.get(..command.start).unwrap_or_default();
    let condition = before.lines().last().unwrap_or_default().trim_start();
    let after = cx.source.get(command.end..).unwrap_or_default();
    let mut body = after
        .lines()
        .map(str::trim)
        .take_while(|line| !matches!(*line, "fi" | "else") && !line.starts_with("elif"));
    condition.starts_with("if !")
        && body.any(|line| line.starts_with("exit 1") || line.ends_with("exit 1; fi"))
}

/// `--tf32 True` and `tf32: true` beside other arguments of Transformers' `TrainingArguments`.
fn check_tf32(cx: &FileChecker<'_>) {
    if cx.is_ported {
        return;
    }
    let is_top = |key: &str, entry: &Entry<'_>| entry.column == 0 && entry.key.as_str() == key;
    let entries = &cx.facts.entries;
    let is_configuration = entries.iter().any(|entry| {
        let keys = [
            "base_model",
            "model_name_or_path",
            "per_device_train_batch_size",
        ];
        keys.iter().any(|key| is_top(key, entry))
    });
    let asks = |entry: &&Entry<'_>| {
        is_top("tf32", entry) && matches!(entry.value.as_str(), "true" | "True")
    };
    if let Some(entry) = entries.iter().find(asks).filter(|_| is_configuration) {
        cx.report(
            &tf32::RULE,
            Severity::Error,
            entry.key.range().start..entry.value.range().end,
            tf32::RAISES,
            RawFix::display_only(tf32::OMIT),
        );
    }
    for command in cx.facts.commands.iter().filter(|command| !command.guarded) {
        let words = &command.words;
        let is_trainer = words.iter().any(|word| {
            matches!(
                word.as_str(),
                "--output_dir" | "--per_device_train_batch_size"
            )
        });
        let place = words.iter().position(|word| word.as_str() == "--tf32");
        let value = place.and_then(|at| words.get(at + 1));
        if let Some((place, value)) = place.zip(value)
            && is_trainer
            && matches!(value.as_str(), "True" | "true" | "1")
        {
            cx.report(
                &tf32::RULE,
                Severity::Error,
                words[place].range().start..value.range().end,
                tf32::RAISES,
                RawFix::display_only(tf32::OMIT),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn languages_match_the_rules_metadata() {
        for rule in RULES {
            let metadata = hipward_analyzer_python::rules::METADATA
                .iter()
                .find(|metadata| metadata.id == rule.rule.id)
                .expect("a rule of the Python crate");
            for language in rule.languages {
                assert!(metadata.languages.contains(language), "{}", rule.rule.name);
            }
        }
        for metadata in hipward_analyzer_python::rules::METADATA {
            // Python and notebooks are the first two.
            let has_files = metadata.languages.len() > 2;
            let is_listed = RULES.iter().any(|rule| rule.rule.id == metadata.id);
            assert_eq!(has_files, is_listed, "{}", metadata.name);
        }
    }
}
