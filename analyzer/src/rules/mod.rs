//! The types and the table of rules.
//!
//! A rule is one file: the doc comment is its page, and `check` is its code. To add a rule, add the file and a line in
//! the table below.

mod calls;
mod commands;
mod counterparts;
pub(crate) mod edits;
#[cfg(feature = "all-languages")]
mod kernels;
mod modules;
#[cfg(feature = "all-languages")]
mod packages;
mod timing;
mod uses;
#[cfg(feature = "all-languages")]
mod variables;
#[cfg(feature = "all-languages")]
mod wheels;

use crate::checker::Checker;
use crate::report::{Applicability, Language, Severity};
use crate::syntax::{Kind, Node};

/// Declares the rules by family, and lists them in that order. The rules after the `;` are left out of the module for
/// Python.
macro_rules! table {
    (
        $($family:ident { $($rule:ident,)+ })+
        ;
        $($other:ident { $($other_rule:ident,)+ })*
    ) => {
        $(mod $family { $(pub(super) mod $rule;)+ })+
        $(#[cfg(feature = "all-languages")] mod $other { $(pub(super) mod $other_rule;)+ })*

        /// Every rule, by family.
        pub static RULES: &[&RuleMeta] = &[
            $($(&$family::$rule::RULE,)+)+
            $($(#[cfg(feature = "all-languages")] &$other::$other_rule::RULE,)+)*
        ];
    };
}

/// Expands to its first argument: repeats a token once for an optional part of a macro that is present.
macro_rules! first {
    ($first:expr, $($rest:tt)*) => {
        $first
    };
}

/// Creates the `RULE` of a file from its doc comment, its metadata, and the languages that it checks:
///
/// `also: [Info "in a test"]` lists different severities of some findings, and describes those findings.
///
/// * `visit: [Call, …]`: Python, by `check(&checker::Checker, Node)` on each node of those kinds;
/// * `cuda: f`: CUDA C++, by `f(&cuda::Checker)`;
/// * `files: [Dockerfile, …] f`: those files, by `f(&files::Checker)`.
macro_rules! declare_rule {
    (
        $(#[doc = $doc:literal])+
        $id:literal $name:literal {
            title: $title:literal,
            family: $family:ident,
            severity: $severity:ident,
            $(also: [$($other:ident $when:literal),+ $(,)?],)?
            applicability: $applicability:ident,
            targets: $targets:literal,
            lesson: $lesson:expr,
            $(on_request: $on_request:literal,)?
            $(visit: [$($kind:ident),+ $(,)?],)?
            $(cuda: $cuda:ident,)?
            $(files: [$($language:ident),+ $(,)?] $files:ident,)?
        }
    ) => {
        $(#[doc = $doc])+
        pub(in crate::rules) static RULE: $crate::rules::RuleMeta = $crate::rules::RuleMeta {
            id: $id,
            name: $name,
            title: $crate::rules::listed($title),
            family: $crate::rules::Family::$family,
            severity: $crate::report::Severity::$severity,
            languages: &[
                $(
                    first!($crate::report::Language::Python, $($kind)+),
                    first!($crate::report::Language::Notebook, $($kind)+),
                )?
                $(first!($crate::report::Language::CudaCpp, $cuda),)?
                $($($crate::report::Language::$language,)+)?
            ],
            targets: $crate::rules::listed($targets),
            applicability: $crate::report::Applicability::$applicability,
            lesson: if $crate::rules::IS_LISTED { $lesson } else { None },
            $(on_request: $on_request,)?
            $(#[cfg(feature = "docs")] also: &[$(($crate::report::Severity::$other, $when)),+],)?
            #[cfg(feature = "docs")]
            page: &[$($doc),+],
            $(visit: &[$($crate::syntax::Kind::$kind),+], check: Some(check),)?
            $(#[cfg(feature = "all-languages")] cuda: Some($cuda),)?
            $(#[cfg(feature = "all-languages")] files: Some($files),)?
            ..$crate::rules::RuleMeta::READS_NOTHING
        };
    };
}

table! {
    vendor {
        pynvml,
        nvidia_smi,
        flash_attn,
        apex,
        cupy,
        xformers,
        bitsandbytes,
        tensorrt,
        dali,
        nvtx,
        cuda_python,
        cuda_only_library,
        onnxruntime_provider,
        cuda_shared_library,
        cuda_wheels,
    }
    environment {
        cuda_alloc_conf,
        cuda_launch_blocking,
        visible_devices,
        rccl_variable,
        torch_cuda_arch_list,
        cuda_home,
        cublas_workspace_config,
        max_autotune_variable,
        redundant_hip_variable,
        miopen_find_mode,
        set_too_late,
    }
    backend {
        version_cuda_gate,
        capability_gate,
        cudnn,
        tf32,
        nvcc_flags,
        device_name,
        launch_warp_size,
        fp8_dtype,
        causal_alignment,
        graph_capture,
        extension_libraries,
        error_text,
    }
    python {
        datetime_utc,
        tomllib,
        newer_python,
    }
    compile {
        compile_mode,
        recompile_limit,
        while_in_forward,
        host_tensor_in_forward,
        sync_in_forward,
        graph_break,
        inductor_option,
    }
    model {
        separate_qkv,
        separate_gate_up,
        manual_attention,
        manual_rms_norm,
        activation_mul,
        repeat_kv,
        contiguous_copy,
        constant_in_forward,
        expert_loop,
    }
    measure {
        unsynchronized_timing,
        wall_clock,
        no_warm_up,
        first_call_timed,
        mean_only,
        cached_inputs,
        unchecked_speedup,
    }
    ;
    triton {
        num_warps,
        num_stages,
        tanh,
        unclamped_exp,
        block_power_of_two,
        block_covers_row,
        missing_mask,
        store_dtype,
        inline_ptx,
        cuda_libdevice,
        fp8_name,
        warp_size,
        without_backward,
    }
    build {
        cuda_wheel_index,
        cuda_local_version,
        nvidia_package,
        nvidia_base_image,
        nvidia_container_runtime,
        nvcc_options,
        cmake_cuda,
        cmake_cuda_architectures,
        nvcc_command,
        nvidia_system_package,
        conda_cuda,
        cuda_variable,
        triton_package,
    }
    cuda {
        warp_size,
        lane_mask,
        ballot_width,
        cooperative_groups,
        inline_ptx,
        wmma,
        nvidia_library,
        cuda_arch,
        launch_bounds,
        shared_memory,
        texture,
        dynamic_parallelism,
        libcudacxx,
        fp8_format,
        vector_operator,
        kernel_launch,
        launch_braces,
        cuda_unsupported,
        cuda_header,
        cuda_api,
    }
}

/// The subject of a rule; the first digit of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// HW0: requirements, Dockerfiles, CMake.
    BuildFiles,
    /// HW1: libraries that only NVIDIA's stack has.
    VendorLibraries,
    /// HW2: environment variables.
    Environment,
    /// HW3: code that depends on the GPU it runs on.
    BackendCode,
    /// HW4: Python versions.
    PythonVersion,
    /// HW5: `torch.compile`.
    Compile,
    /// HW6: how a model is written.
    ModelPerformance,
    /// HW7: Triton kernels.
    Triton,
    /// HW8: measuring.
    Measuring,
    /// HW9: CUDA C++.
    CudaCpp,
}

impl Family {
    /// The digit after `HW`.
    pub fn digit(self) -> char {
        match self {
            Family::BuildFiles => '0',
            Family::VendorLibraries => '1',
            Family::Environment => '2',
            Family::BackendCode => '3',
            Family::PythonVersion => '4',
            Family::Compile => '5',
            Family::ModelPerformance => '6',
            Family::Triton => '7',
            Family::Measuring => '8',
            Family::CudaCpp => '9',
        }
    }

    /// For a heading.
    pub fn title(self) -> &'static str {
        match self {
            Family::BuildFiles => "Build files",
            Family::VendorLibraries => "Vendor libraries",
            Family::Environment => "Environment",
            Family::BackendCode => "Backend code",
            Family::PythonVersion => "Python version",
            Family::Compile => "torch.compile",
            Family::ModelPerformance => "Model performance",
            Family::Triton => "Triton",
            Family::Measuring => "Measuring",
            Family::CudaCpp => "CUDA C++",
        }
    }
}

/// Whether the list of rules is included. The module for Python has neither the list nor its texts.
const IS_LISTED: bool = cfg!(feature = "all-languages");

/// A text that only the list of rules needs.
const fn listed(text: &'static str) -> &'static str {
    if IS_LISTED { text } else { "" }
}

/// The metadata of a rule.
#[derive(Debug, serde::Serialize)]
pub struct RuleMeta {
    /// `HW101`.
    pub id: &'static str,
    /// The name, as in a suppression comment: `pynvml`.
    pub name: &'static str,
    /// A one-line description for a list.
    pub title: &'static str,
    /// The subject.
    pub family: Family,
    /// The usual severity of its findings.
    pub severity: Severity,
    /// The languages it checks.
    pub languages: &'static [Language],
    /// A description of the targets it applies to.
    pub targets: &'static str,
    /// The best applicability of its fixes.
    pub applicability: Applicability,
    /// The lesson about it: `01-port/02-vendor-libraries`.
    pub lesson: Option<&'static str>,
    /// True for an optional rewrite: the rule only runs if it is selected by name.
    #[serde(skip)]
    pub on_request: bool,
    /// Different severities of some findings, each with a description of these findings: `in a test`.
    #[cfg(feature = "docs")]
    #[serde(skip)]
    pub also: &'static [(Severity, &'static str)],
    #[cfg(feature = "docs")]
    #[serde(skip)]
    page: &'static [&'static str],
    #[serde(skip)]
    pub(crate) visit: &'static [Kind],
    #[serde(skip)]
    pub(crate) check: Option<fn(&Checker<'_>, Node)>,
    #[cfg(feature = "all-languages")]
    #[serde(skip)]
    pub(crate) cuda: Option<fn(&crate::cuda::Checker<'_>)>,
    #[cfg(feature = "all-languages")]
    #[serde(skip)]
    pub(crate) files: Option<fn(&crate::files::Checker<'_>)>,
}

impl RuleMeta {
    /// The defaults for `declare_rule!`.
    const READS_NOTHING: RuleMeta = RuleMeta {
        id: "",
        name: "",
        title: "",
        family: Family::BuildFiles,
        severity: Severity::Info,
        languages: &[],
        targets: "",
        applicability: Applicability::DisplayOnly,
        lesson: None,
        on_request: false,
        #[cfg(feature = "docs")]
        also: &[],
        #[cfg(feature = "docs")]
        page: &[],
        visit: &[],
        check: None,
        #[cfg(feature = "all-languages")]
        cuda: None,
        #[cfg(feature = "all-languages")]
        files: None,
    };

    /// The severities of findings, the usual one first, each with a description of its findings: `in a test`. The usual
    /// one has no description.
    #[cfg(feature = "docs")]
    pub fn severities(&self) -> Vec<(Severity, &'static str)> {
        let mut found = vec![(self.severity, "")];
        found.extend(self.also);
        // Severities that the checkers set for every rule.
        let has_error = found
            .iter()
            .any(|(severity, _)| *severity == Severity::Error);
        let is_cuda = self.languages.contains(&Language::CudaCpp);
        if is_cuda && has_error {
            found.push((
                Severity::Info,
                "in a source that tests for AMD in a condition",
            ));
        }
        if is_cuda && self.applicability != Applicability::DisplayOnly {
            found.push((
                Severity::Info,
                "where a safe fix applies in a Python string",
            ));
        }
        if self.languages.contains(&Language::Yaml) {
            found.push((Severity::Info, "in a workflow of continuous integration"));
        }
        if found
            .iter()
            .any(|(severity, _)| *severity != Severity::Info)
        {
            found.push((
                Severity::Info,
                "in a file for which AMD has a version of its own",
            ));
        }
        found
    }

    /// The rule's page, in Markdown.
    #[cfg(feature = "docs")]
    pub fn doc(&self) -> String {
        let mut page = String::new();
        for line in self.page {
            page.push_str(line.strip_prefix(' ').unwrap_or(line));
            page.push('\n');
        }
        page
    }
}

/// The rule with this id or name.
pub fn rule(id_or_name: &str) -> Option<&'static RuleMeta> {
    RULES
        .iter()
        .find(|rule| rule.id.eq_ignore_ascii_case(id_or_name) || rule.name == id_or_name)
        .copied()
}
