//! HW910: NVIDIA's warp matrix functions.

use crate::lines::also_in;
use crate::{CudaChecker, Setting};
use hipward_analyzer_core::diagnostic::RawFix;
use hipward_analyzer_core::sort;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `mma.h` and the namespace `nvcuda::wmma`.
    ///
    /// ## Why on ROCm
    ///
    /// They use NVIDIA's tensor cores. The matrix units of an AMD GPU execute MFMA instructions (gfx9) or WMMA
    /// instructions (gfx11 and later). rocWMMA is a
    /// header library that provides fragments, `load_matrix_sync`, `mma_sync` and `store_matrix_sync` on top of them,
    /// with the same names in the namespace `rocwmma`. The available tile shapes differ: 16×16×16 and 32×32×8 for
    /// halves on CDNA, no 8×32×16.
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <mma.h>
    ///
    /// using namespace nvcuda;
    ///
    /// __global__ void clear(float* c) {
    ///     wmma::fragment<wmma::accumulator, 16, 16, 16, float> tile;
    ///     wmma::fill_fragment(tile, 0.0f);
    ///     wmma::store_matrix_sync(c, tile, 16, wmma::mem_row_major);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    /// #include <rocwmma/rocwmma.hpp>
    ///
    /// namespace wmma = rocwmma;
    ///
    /// __global__ void clear(float* c) {
    ///     wmma::fragment<wmma::accumulator, 16, 16, 16, float> tile;
    ///     wmma::fill_fragment(tile, 0.0f);
    ///     wmma::store_matrix_sync(c, tile, 16, wmma::mem_row_major);
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Unsafe: the elements of a fragment are distributed differently over the lanes, and on gfx9 a tile needs a
    /// wavefront of 64 lanes instead of a warp of 32, so launches change.
    ///
    /// ## References
    ///
    /// * [rocWMMA](https://rocm.docs.amd.com/projects/rocWMMA/en/latest/)
    /// * [AMD matrix instruction calculator](https://github.com/ROCm/amd_matrix_instruction_calculator)
    "HW910" "wmma" {
        title: "wmma is for NVIDIA's tensor cores",
        family: CudaCpp,
        severity: Error,
        applicability: Unsafe,
        targets: "every ROCm target",
        lesson: Some("how-to/native-libraries"),
        cuda: check,
    }
}

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let mut edits = Vec::new();
    let mut first = None;
    let mut all = true;
    for (header, token) in source.includes() {
        if matches!(header, "mma.h" | "crt/mma.h") && cx.is_for_both(token) {
            edits.push((
                source.span(token..token + 1),
                "<rocwmma/rocwmma.hpp>".to_owned(),
            ));
            first = first.or(Some(token));
        }
    }
    for at in source.places("nvcuda") {
        let at = *at;
        if !cx.is_for_both(at) {
            continue;
        }
        first = first.or(Some(at));
        if source.before(at, 1) == "namespace" && source.before(at, 2) == "using" {
            edits.push((
                source.span(at - 2..at + 1),
                "namespace wmma = rocwmma".to_owned(),
            ));
        } else if source.reads(at + 1, &["::", "wmma"]) {
            edits.push((source.span(at..at + 3), "rocwmma".to_owned()));
        } else {
            all = false;
        }
    }
    let Some(first) = first else {
        return;
    };
    let mut others: Vec<u32> = [source.places("nvcuda"), source.places("wmma")].concat();
    others.retain(|at| *at > first && cx.is_for_both(*at));
    let others = sort::by_key(others, |at| [*at as usize, 0, 0]);
    let message = format!(
        "`nvcuda::wmma` is for NVIDIA's tensor cores; on {} rocWMMA has its functions, using {}.{}",
        cx.target.arch.name(),
        cx.target.arch.matrix_instructions(),
        also_in(cx, first, others.into_iter())
    );
    let fix = if cx.setting == Setting::PyTorchExtension || !all {
        // An extension is also built for NVIDIA.
        RawFix::display_only(format!("Use rocWMMA under `#ifdef {}`", cx.amd_macro()))
    } else {
        RawFix::unsafe_edits("Use rocWMMA", edits)
    };
    cx.report(&RULE, first..first + 1, message, fix);
}
