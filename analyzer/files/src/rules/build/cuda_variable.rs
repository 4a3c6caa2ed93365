//! HW013: variables of the CUDA runtime and toolkit.

use crate::checker::FileChecker;
use crate::rules::helpers::variables;

declare_rule! {
    /// ## What it does
    ///
    /// Finds variables that only CUDA's runtime or toolkit reads, set in Dockerfiles, scripts, `.env` files and
    /// workflows: `NVCC_APPEND_FLAGS`, `CUDACXX`, `CUDA_MODULE_LOADING`, `CUDA_DEVICE_MAX_CONNECTIONS`, and
    /// `VK_ICD_FILENAMES` if it selects NVIDIA's Vulkan driver. Variables that
    /// Python code sets too, such as `TORCH_CUDA_ARCH_LIST` and `CUDA_HOME`, have rules of their own.
    ///
    /// ## Why on ROCm
    ///
    /// HIP and hipcc do not read them, so they have no effect. `NVCC_APPEND_FLAGS` has an equivalent,
    /// `HIPCC_COMPILE_FLAGS_APPEND`. ROCm also reads `NCCL_*` and `CUDA_VISIBLE_DEVICES`, which are not reported.
    ///
    /// ## Example
    ///
    /// ```shell
    /// export NVCC_APPEND_FLAGS="-O3"
    /// pip install .
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```shell
    /// export HIPCC_COMPILE_FLAGS_APPEND="-O3"
    /// pip install .
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: an NVIDIA host needs the original variable, and the values differ in meaning.
    ///
    /// ## References
    ///
    /// * [HIP environment variables](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html)
    /// * [HIPCC environment variables](https://rocm.docs.amd.com/projects/HIPCC/en/latest/env.html)
    "HW013" "cuda-variable" {
        title: "HIP does not read this variable",
        family: BuildFiles,
        severity: Warning,
        also: [Info "for a variable that does not change the results"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        files: [Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &FileChecker<'_>) {
    variables::check(cx, &RULE);
}
