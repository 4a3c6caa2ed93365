//! HW112: other libraries of NVIDIA's stack.

use crate::checker::PythonChecker;
use crate::rules::helpers::table_rules::{self, ApiPattern, ApiRule, api_rule, may_import};
use crate::syntax::Node;
use hipward_analyzer_core::Severity;

declare_rule! {
    /// ## What it does
    ///
    /// Finds unguarded imports of libraries whose releases contain CUDA code, and that have no rule of their own:
    /// Transformer Engine, FlashInfer, DeepGEMM, DeepEP, CUTLASS, RAPIDS, KvikIO, nvshmem, nvImageCodec,
    /// PyNvVideoCodec, cuEquivariance, tiny-cuda-nn, nvdiffrast, spconv, fast-hadamard-transform, ExLlamaV3, TinyChat, AutoGPTQ, BitBLAS, MXNet, and monitoring tools that query NVIDIA's
    /// driver, such as GPUtil and py3nvml. Also finds the indexes of Faiss on GPUs, `device="cuda"` for CTranslate2 and faster-whisper, names that exist on NVIDIA GPUs only, such as `torch.ops.trtllm`,
    /// requirements on the best-known of these libraries, and imported functions that are
    /// named after an NVIDIA architecture (`attention_sm90`).
    ///
    /// ## Why on ROCm
    ///
    /// `pip install` installs CUDA code: the import fails, or the first kernel does. Most of them have a port, a fork
    /// by AMD, or an alternative library, and the finding names it.
    ///
    /// ## Example
    ///
    /// ```python
    /// from deep_gemm import fp8_gemm_nt
    /// ```
    ///
    /// ## Use instead
    ///
    /// Import the library that the finding names in the branch for ROCm:
    ///
    /// ```python
    /// import torch
    ///
    /// if torch.version.hip:
    ///     from aiter import gemm_a8w8_blockscale
    /// else:
    ///     from deep_gemm import fp8_gemm_nt
    /// ```
    ///
    /// ## Fix safety
    ///
    /// Display-only: the alternative has a different interface.
    ///
    /// ## References
    ///
    /// * [ROCm AI ecosystem: supported frameworks](https://rocm.docs.amd.com/projects/ai-ecosystem/en/latest/)
    /// * [Transformer Engine on ROCm](https://github.com/ROCm/TransformerEngine)
    /// * [aiter](https://github.com/ROCm/aiter)
    /// * [MORI](https://github.com/ROCm/mori)
    /// * [rocSHMEM](https://github.com/ROCm/rocSHMEM)
    /// * [rocPyDecode](https://github.com/ROCm/rocPyDecode)
    "HW112" "cuda-only-library" {
        title: "A library of NVIDIA's stack",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "for a requirement of the package, and for CTranslate2 and Faiss"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/vendor-libraries"),
        visit: [ImportStatement, ImportFromStatement, Call],
        files: [Requirements, Pyproject, Dockerfile, Shell, Yaml],
    }
}
const fn ported(module: &'static str, title: &'static str) -> ApiRule {
    api_rule(
        ApiPattern::Import(module),
        Severity::Warning,
        "The releases of this library on the package index are CUDA code; AMD has a separate port for ROCm.",
        title,
    )
}

const USES: &[ApiRule] = &[
    ported(
        "transformer_engine",
        "Build AMD's fork, ROCm/TransformerEngine",
    ),
    ported(
        "flashinfer",
        "Install AMD's amd-flashinfer, or use aiter's attention",
    ),
    api_rule(
        ApiPattern::Import("auto_gptq"),
        Severity::Warning,
        "PyPI's auto-gptq is built for CUDA, and the project is archived.",
        "Use GPTQModel, which can be built for ROCm",
    ),
];

/// Modules without a ROCm release, and what to use instead. In one string they make the browser's module smaller.
const LIBRARIES: &[(&str, &str)] = &[
    (
        "deep_gemm",
        "Use aiter's gemm_a8w8_blockscale, or hipBLASLt through torch._scaled_mm",
    ),
    ("deep_ep", "Use AMD's MORI for expert parallelism"),
    ("cutlass", "Use Composable Kernel, FlyDSL or Triton"),
    ("nvshmem", "Use rocSHMEM"),
    ("kvikio", "Read through the CPU, or with AMD's hipFile"),
    (
        "nvidia.nvimgcodec",
        "Use rocJPEG, or decode with torchvision",
    ),
    ("PyNvVideoCodec", "Use AMD's rocPyDecode"),
    (
        "cuequivariance cuequivariance_torch",
        "Use e3nn or OpenEquivariance",
    ),
    ("tinycudann", "Write the network in PyTorch and compile it"),
    (
        "triton_pre_mlir",
        "Use Triton, whose releases support AMD GPUs",
    ),
    (
        "nvdiffrast spconv fast_hadamard_transform",
        "Use a library that has a HIP build",
    ),
    ("exllamav3", "Use exllamav2, which has a ROCm build"),
    (
        "tinychat awq_inference_engine torch_int bitblas",
        "Run quantized models with vLLM, which has Triton kernels for them",
    ),
    (
        "quiver graphlearn_torch dgNN",
        "Use the loaders and layers of PyTorch Geometric",
    ),
    (
        "cudf cuml cugraph rmm dask_cuda dask_cudf",
        "Use AMD's ROCm-DS (hipDF for cuDF), or pandas and scikit-learn",
    ),
];

const MONITORS: &[(&str, &str)] = &[(
    "GPUtil py3nvml nvidia_smi nvsmi nvgpu",
    "Use amdsmi, or torch.cuda.mem_get_info() and torch.cuda.utilization()",
)];

/// Reports the names of `table` as `pattern`s.
pub(in crate::rules) fn check_table(
    cx: &PythonChecker<'_>,
    node: Node,
    table: &'static [(&str, &str)],
    pattern: fn(&'static str) -> ApiPattern,
    message: &'static str,
) {
    for (names, title) in table {
        for name in names.split(' ') {
            let row = api_rule(pattern(name), Severity::Error, message, title);
            table_rules::check(cx, &RULE, &[row], node);
        }
    }
}

pub(in crate::rules) const MISSING: &str = "This library is CUDA code without a ROCm release, so the import, or its first kernel, fails on a ROCm host.";

fn check(cx: &PythonChecker<'_>, node: Node) {
    if may_import(cx, node) {
        table_rules::check(cx, &RULE, USES, node);
        check_table(cx, node, LIBRARIES, ApiPattern::Import, MISSING);
        let driver = "This library queries NVIDIA's driver or nvidia-smi, so on a ROCm host it raises or finds no GPU.";
        check_table(cx, node, MONITORS, ApiPattern::Import, driver);
    }
}
