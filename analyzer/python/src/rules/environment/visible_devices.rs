//! HW203: selecting GPUs through the environment.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::counterparts::sets_any;
use crate::rules::helpers::table_rules::{self, ApiFix, ApiPattern, ApiRule, api_rule};
use crate::semantic::{Access, environment_variable, string_parts};
use crate::syntax::Node;
use hipward_analyzer_core::{Applicability, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds device selections that HIP does not understand: an empty `CUDA_VISIBLE_DEVICES`, NVIDIA's UUIDs and MIG slices in
    /// it, and `NVIDIA_VISIBLE_DEVICES`. Also finds `HIP_VISIBLE_DEVICES` together with `ROCR_VISIBLE_DEVICES`, which
    /// changes the meaning of the indices.
    ///
    /// ## Why on ROCm
    ///
    /// `CUDA_VISIBLE_DEVICES="0,1"` works: HIP and PyTorch treat it like `HIP_VISIBLE_DEVICES`. An empty list, which hides
    /// all GPUs from CUDA, is the same as none for HIP: `torch.cuda.is_available()` stays true. `-1` hides them from both.
    /// No AMD GPU has a MIG slice or a UUID in NVIDIA's format, so such a list selects no device at all; AMD's UUIDs have 16
    /// hexadecimal digits after `GPU-`.
    /// `CUDA_DEVICE_ORDER` is not read, and does no harm. `ROCR_VISIBLE_DEVICES` is applied one level below and
    /// renumbers the remaining devices: with `ROCR_VISIBLE_DEVICES=2,3` the only indices for `HIP_VISIBLE_DEVICES` are
    /// 0 and 1, and PyTorch raises if the list has more entries than that.
    ///
    /// ## Example
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["CUDA_VISIBLE_DEVICES"] = ""
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import os
    ///
    /// os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    /// ```
    ///
    /// To use a part of an Instinct GPU, set its partition mode (`amd-smi set --compute-partition`); each partition
    /// then has its own index.
    ///
    /// ## Fix safety
    ///
    /// Safe for an empty list: `-1` hides all GPUs from CUDA as well. Otherwise display-only: the index of a UUID is known only
    /// on the machine itself.
    ///
    /// ## References
    ///
    /// * [HIP's filter of devices, `Device::init`](https://github.com/ROCm/clr/blob/amd-staging/rocclr/device/rocm/rocdevice.cpp)
    /// * [An empty list has no effect](https://github.com/ROCm/hip/issues/3001)
    /// * [GPU isolation techniques](https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html)
    /// * [AMD container toolkit](https://instinct.docs.amd.com/projects/container-toolkit/en/latest/)
    "HW203" "visible-devices" {
        title: "Only NVIDIA GPUs can be selected this way",
        family: Environment,
        severity: Warning,
        also: [Info "for a container with all devices, or with none"],
        applicability: Safe,
        targets: "every ROCm target",
        lesson: Some("port/environment"),
        visit: [Subscript, Call, Pair, KeywordArgument],
        files: [Dockerfile, Shell, Yaml],
    }
}
const fn container(values: &'static [&'static str], severity: Severity) -> ApiRule {
    api_rule(
        ApiPattern::Variable("NVIDIA_VISIBLE_DEVICES", values),
        severity,
        "NVIDIA_VISIBLE_DEVICES is for NVIDIA's container runtime; AMD's reads AMD_VISIBLE_DEVICES.",
        "Set AMD_VISIBLE_DEVICES, or pass --device=/dev/kfd --device=/dev/dri",
    )
}

pub const USES: &[ApiRule] = &[
    ApiRule {
        fix: ApiFix {
            title: "Set it to -1, as for CUDA",
            applicability: Applicability::Safe,
            instead: "CUDA_VISIBLE_DEVICES=-1",
        },
        ..api_rule(
            ApiPattern::Variable("CUDA_VISIBLE_DEVICES", &[""]),
            Severity::Warning,
            "HIP ignores an empty list: all GPUs stay visible.",
            "",
        )
    },
    container(&["all", "none", "void"], Severity::Info),
    container(&[], Severity::Warning),
];

fn check(cx: &PythonChecker<'_>, node: Node) {
    table_rules::check(cx, &RULE, USES, node);
    let names = ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"];
    let Some(variable) = environment_variable(&cx.semantics, node, &names) else {
        return;
    };
    let Some(value) = variable.value.filter(|_| variable.access != Access::Read) else {
        return;
    };
    // `GPU-8932f937-d72c-…`; AMD's have no second hyphen.
    let is_uuid = string_parts(&cx.semantics, value)
        .first()
        .is_some_and(|text| text.starts_with("MIG-") || text.get(12..13) == Some("-"));
    if is_uuid {
        cx.report(
            &RULE,
            value,
            "No AMD GPU has this name, so no device is visible.",
            RawFix::display_only("Use the GPU's index"),
        );
    } else if variable.name == "HIP_VISIBLE_DEVICES"
        && sets_any(cx, RULE.id, &["ROCR_VISIBLE_DEVICES"])
    {
        cx.report(
            &RULE,
            variable.key,
            "HIP_VISIBLE_DEVICES counts the devices that ROCR_VISIBLE_DEVICES selects, from 0.",
            RawFix::display_only("Set one of the two"),
        );
    }
}
