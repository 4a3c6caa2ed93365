//! HW915: textures.

use crate::{CudaChecker, Kind};
use hipward_analyzer_core::diagnostic::RawFix;

declare_rule! {
    /// ## What it does
    ///
    /// Finds texture references (`texture<float, 2> t`), reads of textures and surfaces in kernels, and, for gfx94x and
    /// gfx950, calls that create a texture object.
    ///
    /// ## Why on ROCm
    ///
    /// CUDA 12 removed texture references, and HIP has deprecated them. In addition, CDNA GPUs have no texture units.
    /// On them the device attribute for images is 0, creating a texture object fails, and HIP's
    /// headers disable the functions (`__HIP_NO_IMAGE_SUPPORT`).
    ///
    /// ## Example
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void k(hipTextureObject_t image, float* out, int width) {
    ///     out[threadIdx.x] = tex1Dfetch<float>(image, threadIdx.x);
    /// }
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```cuda
    /// #include <hip/hip_runtime.h>
    ///
    /// __global__ void k(const float* __restrict__ image, float* out, int width) {
    ///     out[threadIdx.x] = image[threadIdx.x];
    /// }
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: if filtering or border addressing was used, it has to be written by hand.
    ///
    /// ## References
    ///
    /// * [HIP: texture objects](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hip_runtime_api/modules/texture_management.html)
    "HW915" "texture" {
        title: "CDNA GPUs have no texture units",
        family: CudaCpp,
        severity: Error,
        applicability: DisplayOnly,
        targets: "CDNA GPUs",
        lesson: Some("port/hipify"),
        cuda: check,
    }
}

const READS: &str = "tex1D tex1Dfetch tex1DLayered tex1DLod tex2D tex2DLayered tex2DLod tex2Dgather tex2DGrad tex3D \
    tex3DLod texCubemap texCubemapLayered surf1Dread surf1Dwrite surf2Dread surf2Dwrite surf3Dread \
    surf3Dwrite surf2DLayeredread surf2DLayeredwrite";

const CREATES: &str =
    "cudaCreateTextureObject hipCreateTextureObject cuTexObjectCreate hipTexObjectCreate";

fn check(cx: &CudaChecker<'_>) {
    let source = cx.source;
    let arch = cx.target.arch.name();
    if !cx.target.arch.is_cdna() {
        return;
    }
    let fix = || RawFix::display_only("Read from a buffer");
    for at in cx.uses("texture") {
        // `texture<type, dimensions, mode> name;`.
        let is_reference = source.token_text(at + 1) == "<"
            && source
                .angle_end(at + 1)
                .is_some_and(|name| source.token_text(name + 1) == ";");
        if is_reference {
            let message =
                format!("CUDA 12 removed texture references, and {arch} has no texture units.");
            cx.report(&RULE, at..at + 1, message, fix());
        }
    }
    // gfx90a has images without filters.
    let fails = arch.starts_with("gfx94") || arch.starts_with("gfx95");
    let creates = if fails { CREATES } else { "" };
    for function in READS.split(' ').chain(creates.split(' ')) {
        for at in cx.uses(function) {
            let is_call = source.call(at).is_some();
            // `float tex2D(…) {`: a function of the project.
            let is_declared = at.checked_sub(1).is_some_and(|before| {
                source.kind(before) == Kind::Word && source.token_text(before) != "return"
            });
            if is_call && !is_declared && !source.is_macro(function) {
                let message = format!("{arch} has no texture units, so `{function}` fails.");
                cx.report(&RULE, at..at + 1, message, fix());
            }
        }
    }
}
