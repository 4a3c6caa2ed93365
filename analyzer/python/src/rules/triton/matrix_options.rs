//! HW715: options for AMD's matrix instructions that do not do what they are for, and options of the CUDA backend.

use crate::checker::{PythonChecker, RawFix};
use crate::rules::helpers::calls::has_text;
use crate::rules::helpers::configurations::{Configuration, configurations};
use crate::rules::helpers::kernels::{is_kernel, is_tl};
use crate::semantic::integer;
use crate::syntax::{Kind, Node};
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds Triton configurations with
    ///
    /// * `matrix_instr_nonkdim` other than 0, 16 or 32, which are the sizes of the matrix instructions,
    /// * `matrix_instr_nonkdim` or `kpack` for a kernel without `tl.dot`,
    /// * `kpack=2` on gfx950,
    /// * `waves_per_eu` so large that the sums of a `tl.dot` alone need all registers of a wavefront,
    /// * `maxnreg`, `launch_pdl` or `num_ctas` above 1, in a source that does not distinguish the backends.
    ///
    /// ## Why on ROCm
    ///
    /// These options exist in Triton's AMD backend only. By default it selects instructions with 32 rows; AMD's guide
    /// recommends to try 16 as well. Triton accepts other sizes silently and then uses no matrix instruction. `waves_per_eu=w`
    /// limits a wavefront to 512/w registers: what does not fit is spilled to memory. `maxnreg` and `launch_pdl` exist in the
    /// CUDA backend only: the launch raises `KeyError`.
    ///
    /// Measured: Triton 3.9 for gfx942, a float16 product with blocks of 256 × 128 × 64 and 8 wavefronts, whose sums are 64 of its
    /// registers. `waves_per_eu` 0, 1 and 2 spill nothing, 3 spills 13 registers, 4 spills 73 and 8 spills 867. With
    /// `matrix_instr_nonkdim` 4, 8 or 64 and blocks of 128 × 128 × 64, the kernel has no MFMA instruction, and spills 223
    /// registers.
    ///
    /// ## Example
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    ///
    /// @triton.autotune([triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "matrix_instr_nonkdim": 8})], key=["k"])
    /// @triton.jit
    /// def product(a, b, c, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    ///     tl.store(c, tl.dot(tl.load(a), tl.load(b)))
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import triton
    /// import triton.language as tl
    ///
    ///
    /// @triton.autotune([triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "matrix_instr_nonkdim": 16})], key=["k"])
    /// @triton.jit
    /// def product(a, b, c, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    ///     tl.store(c, tl.dot(tl.load(a), tl.load(b)))
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the best value has to be measured.
    ///
    /// ## References
    ///
    /// * [MI300X workload optimization: Triton kernel performance](https://rocm.docs.amd.com/en/latest/how-to/rocm-for-ai/inference-optimization/workload.html)
    /// * [Triton, AMD backend](https://github.com/triton-lang/triton/blob/main/third_party/amd/backend/compiler.py)
    "HW715" "triton-matrix-options" {
        title: "An option for matrix instructions has no or the wrong effect",
        family: Triton,
        severity: Warning,
        also: [Advice "if the option has no effect", Error "if the launch fails"],
        applicability: DisplayOnly,
        targets: "targets with MFMA",
        lesson: Some("optimize/wavefronts-and-loads"),
        visit: [FunctionDefinition],
    }
}

/// Registers of a lane for all wavefronts of a SIMD together.
const REGISTERS: i64 = 512;

/// `num_warps`, if a configuration does not set it.
const DEFAULT_WARPS: i64 = 4;

fn check(cx: &PythonChecker<'_>, kernel: Node) {
    if cx.target().arch.matrix_instructions() != "MFMA" || !is_kernel(cx, kernel) {
        return;
    }
    let tree = cx.tree();
    let multiplies = cx.any_within(kernel, &|node| {
        tree.kind(node) == Kind::Call && (is_tl(cx, node, "dot") || is_tl(cx, node, "dot_scaled"))
    });
    for one in configurations(cx, kernel) {
        check_one(cx, one, multiplies);
    }
}

fn check_one(cx: &PythonChecker<'_>, one: Configuration, multiplies: bool) {
    let arch = cx.target().arch;
    for name in ["maxnreg", "launch_pdl", "num_ctas"] {
        if let Some(value) = one.value(cx, name)
            && cx.tree().kind(value) != Kind::None
            && (name != "num_ctas" || integer(&cx.semantics, value).is_some_and(|ctas| ctas > 1))
            && !one.is_parameter(cx, name)
            && !cx.mentions_hip()
            && !has_text(cx, "is_cuda")
        {
            cx.report_as(
                &RULE,
                Severity::Error,
                value,
                format!(
                    "Triton's AMD backend has no {name} on {}: the launch raises an error.",
                    arch.name()
                ),
                RawFix::display_only("Remove the option"),
            );
        }
    }
    let set = |name| {
        let value = one.value(cx, name)?;
        Some((value, integer(&cx.semantics, value)?))
    };
    let advise = |node: Node, message: String| {
        let fix = RawFix::display_only("Remove the option");
        cx.report_as(&RULE, Severity::Advice, node, message, fix);
    };
    for name in ["matrix_instr_nonkdim", "kpack"] {
        match set(name) {
            Some((node, value)) if value > 1 && !multiplies => {
                advise(node, format!("{name} has no effect: the kernel has no tl.dot."));
            }
            Some((node, 2)) if name == "kpack" && arch.name() == "gfx950" => {
                advise(node, "Triton replaces kpack by 1 on gfx950.".to_owned());
            }
            Some((node, size)) if name != "kpack" && !matches!(size, 0 | 16 | 32) => cx.report(
                &RULE,
                node,
                format!("No matrix instruction has {size} rows here: Triton compiles this tl.dot without them."),
                RawFix::display_only("Use 16 or 32, or 0 for Triton's choice"),
            ),
            _ => {}
        }
    }
    let blocks = one.block(cx, 'M').zip(one.block(cx, 'N'));
    let Some(((m, n), (node, waves))) = blocks.zip(set("waves_per_eu")).filter(|_| multiplies)
    else {
        return;
    };
    // Of an unknown number only the default would be a guess.
    let warps = match one.value(cx, "num_warps") {
        Some(_) => one.number(cx, "num_warps"),
        None => Some(DEFAULT_WARPS),
    };
    let Some(lanes) = warps
        .and_then(|warps| warps.checked_mul(64))
        .filter(|lanes| *lanes > 0)
    else {
        return;
    };
    let sums = m.saturating_mul(n) / lanes;
    if (1..=8).contains(&waves) && sums >= REGISTERS / waves {
        cx.report(
            &RULE,
            node,
            format!(
                "waves_per_eu={waves} leaves {} registers, and the sums of tl.dot need {sums}: the kernel spills.",
                REGISTERS / waves
            ),
            RawFix::display_only("Use a smaller value, or 0 for no limit"),
        );
    }
}
