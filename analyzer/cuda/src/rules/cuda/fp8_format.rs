//! HW918: CUDA's fp8 types, whose equivalent depends on the target.

use crate::{CudaChecker, Setting};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::{Fp8Format, HandledBy, Severity};

declare_rule! {
    /// ## What it does
    ///
    /// Finds CUDA's 8-bit floating-point types, `__nv_fp8_e4m3` and `__nv_fp8_e5m2` and their vectors, and the library
    /// constants of their formats, such as `CUDA_R_8F_E4M3`. Also checks such as `TORCH_CHECK(x.dtype() == torch::kFloat8_e4m3fn)`. The message names the HIP format that the target supports.
    ///
    /// ## Why on ROCm
    ///
    /// There are two formats of each type. gfx942 computes in the FNUZ formats (one zero, `e4m3` up to 240); gfx950,
    /// gfx1200, gfx1201 and gfx1250 in the same OCP formats as NVIDIA (`e4m3` up to 448); other AMD GPUs in neither.
    /// The same bits represent a different number in the other format: twice as large or half.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_fp8.h>
    ///
    /// __device__ __nv_fp8_e4m3 narrow(float x);
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_fp8.h>
    ///
    /// __device__ __hip_fp8_e4m3_fnuz narrow(float x);
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe on gfx942: scales and checkpoints made for 448 have to be converted. On targets with the OCP formats the
    /// fix is safe. On targets without fp8 no library supports such a format, so `CUDA_R_8F_E4M3` is not changed.
    ///
    /// ## References
    ///
    /// * [HIP: low-precision types](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/low_fp_types.html)
    "HW918" "fp8-format" {
        title: "fp8 has another format on gfx942",
        family: CudaCpp,
        severity: Error,
        also: [Warning "for a check that accepts one format only"],
        applicability: Unsafe,
        targets: "every ROCm target; the format depends on the architecture",
        lesson: Some("optimize/eight-bits"),
        cuda: check,
    }
}

/// CUDA's name, and HIP's name for the OCP format; the other format has the suffix `_fnuz`.
const TYPES: &[(&str, &str)] = &[
    ("__nv_fp8_e4m3", "__hip_fp8_e4m3"),
    ("__nv_fp8_e5m2", "__hip_fp8_e5m2"),
    ("__nv_fp8x2_e4m3", "__hip_fp8x2_e4m3"),
    ("__nv_fp8x2_e5m2", "__hip_fp8x2_e5m2"),
    ("__nv_fp8x4_e4m3", "__hip_fp8x4_e4m3"),
    ("__nv_fp8x4_e5m2", "__hip_fp8x4_e5m2"),
    ("__NV_E4M3", "__HIP_E4M3"),
    ("__NV_E5M2", "__HIP_E5M2"),
    ("CUDA_R_8F_E4M3", "HIP_R_8F_E4M3"),
    ("CUDA_R_8F_E5M2", "HIP_R_8F_E5M2"),
];

/// The constant that PyTorch's hipify replaces by its OCP form.
const HIPIFIED: &str = "CUDA_R_8F_E4M3";

fn check(cx: &CudaChecker<'_>) {
    if cx.target.arch.fp8() == Some(Fp8Format::Fnuz) {
        required_dtypes(cx);
    }
    let arch = cx.target.arch.name();
    let format = cx.target.arch.fp8();
    let in_extension = cx.setting == Setting::PyTorchExtension;
    for (cuda, ocp) in TYPES {
        if cx.source.definition(cuda).is_some() || cx.has_hip_names {
            continue;
        }
        if in_extension && format == Some(Fp8Format::Ocp) && *cuda == HIPIFIED {
            continue;
        }
        // The type of an operand, as a library argument.
        let is_for_a_library = cuda.starts_with("CUDA_R");
        let is_type = cuda.starts_with("__nv");
        let fnuz = if is_type { "_fnuz" } else { "_FNUZ" };
        let hip = match format {
            Some(Fp8Format::Ocp) => (*ocp).to_owned(),
            _ => format!("{ocp}{fnuz}"),
        };
        for at in cx.uses(cuda) {
            let edits = vec![(cx.source.span(at..at + 1), hip.clone())];
            let title = format!("Write `{hip}`");
            let (message, fix) = match format {
                None if is_for_a_library => (
                    format!("{arch} has no fp8: no ROCm library multiplies `{cuda}` on it."),
                    RawFix::display_only("Use `HIP_R_16BF` or `HIP_R_16F` on this target"),
                ),
                None => (
                    format!("{arch} has no fp8: `{hip}` converts in software."),
                    RawFix::unsafe_edits(title, edits),
                ),
                Some(Fp8Format::Fnuz) => {
                    let range = match cuda.to_ascii_lowercase().contains("e4m3") {
                        true => "with a maximum of 240 instead of 448",
                        false => "where the same bits are half the number",
                    };
                    (
                        format!("`{cuda}` is `{hip}` on {arch}: the FNUZ format, {range}."),
                        RawFix::unsafe_edits(title, edits),
                    )
                }
                Some(_) => (
                    format!("`{cuda}` is `{hip}` on {arch}: the same OCP format."),
                    RawFix::safe_edits(title, edits),
                ),
            };
            let fix = if in_extension {
                RawFix::display_only(format!(
                    "Use `{hip}`, or `c10::Float8_…`, under `#ifdef USE_ROCM`"
                ))
            } else {
                fix
            };
            cx.report(&RULE, at..at + 1, message, fix);
        }
    }
}

/// PyTorch's names of the OCP formats and of the FNUZ formats.
const DTYPES: [(&str, &str); 4] = [
    ("Float8_e4m3fn", "Float8_e4m3fnuz"),
    ("kFloat8_e4m3fn", "kFloat8_e4m3fnuz"),
    ("Float8_e5m2", "Float8_e5m2fnuz"),
    ("kFloat8_e5m2", "kFloat8_e5m2fnuz"),
];

/// `TORCH_CHECK(scale.dtype() == torch::kFloat8_e4m3fn)` in a source that does not know the other format.
fn required_dtypes(cx: &CudaChecker<'_>) {
    /// An upper limit for the tokens between the macro's name and the dtype.
    const MAX: u32 = 20;
    let source = cx.source;
    if DTYPES
        .iter()
        .any(|(_, fnuz)| !source.places(fnuz).is_empty())
    {
        return;
    }
    let is_checked = |at: u32| {
        (at.saturating_sub(MAX)..at)
            .rev()
            .take_while(|before| !matches!(source.token_text(*before), ";" | "{" | "}"))
            .any(|before| source.token_text(before).contains("CHECK"))
    };
    for (name, fnuz) in DTYPES {
        for at in source
            .places(name)
            .iter()
            .copied()
            .filter(|at| is_checked(*at))
        {
            let message = format!(
                "{} computes in the FNUZ formats, and this accepts `{name}` only.",
                cx.target.arch.name()
            );
            let fix = RawFix::display_only(format!("Accept `{fnuz}` on AMD"));
            cx.report_as(
                &RULE,
                Severity::Warning,
                HandledBy::You,
                at..at + 1,
                message,
                fix,
            );
        }
    }
}
