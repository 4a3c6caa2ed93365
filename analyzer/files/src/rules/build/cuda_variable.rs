//! HW013: variables of the CUDA runtime and toolkit.

use crate::checker::Checker;
use crate::rules::helpers::variables;

declare_rule! {
    /// ## What it does
    ///
    /// Finds variables that only CUDA's runtime or toolkit reads, set in Dockerfiles, scripts, `.env` files and
    /// workflows: `NVCC_APPEND_FLAGS`, `CUDACXX`, `CUDA_MODULE_LOADING`, `CUDA_DEVICE_MAX_CONNECTIONS`. Those that code
    /// sets too, such as `TORCH_CUDA_ARCH_LIST` and `CUDA_HOME`, are found under their own rules' names.
    ///
    /// ## Why on ROCm
    ///
    /// HIP and hipcc do not read them, so what they were set for does not happen. `NVCC_APPEND_FLAGS` has a counterpart,
    /// `HIPCC_COMPILE_FLAGS_APPEND`. `NCCL_*` and `CUDA_VISIBLE_DEVICES` are read on ROCm too and are left alone.
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
    /// Display-only: an NVIDIA host needs the old variable, and the values mean other things.
    ///
    /// ## References
    ///
    /// * [HIP environment variables](https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html)
    /// * [HIPCC environment variables](https://rocm.docs.amd.com/projects/HIPCC/en/latest/env.html)
    "HW013" "cuda-variable" {
        title: "HIP does not read this variable",
        family: BuildFiles,
        severity: Warning,
        also: [Info "for a variable without which the results are the same"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: None,
        files: [Dockerfile, Shell, Yaml] check,
    }
}

fn check(cx: &Checker<'_>) {
    variables::check(cx, &RULE);
}
