//! HW116: running nvcc, NVIDIA's profilers and other tools of the CUDA toolkit.

use crate::checker::PythonChecker;
use crate::syntax::Node;

declare_rule! {
    /// ## What it does
    ///
    /// Finds `nvcc`, `nsys`, `ncu`, `cuda-gdb`, `compute-sanitizer` and other tools of the CUDA toolkit, of TensorRT and of
    /// NVIDIA's driver, run through `subprocess`, `os.system`, `os.popen` or `asyncio`, or required by a source
    /// that raises without them. HW009 finds the same commands in scripts.
    ///
    /// ## Why on ROCm
    ///
    /// A ROCm host does not have them: `subprocess.run(["nvcc", …])` raises `FileNotFoundError`, and `os.system` returns
    /// an error. `hipcc` compiles for AMD GPUs, `rocprofv3` and `rocprof-compute` profile, `rocgdb` debugs.
    ///
    /// ## Example
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(["nvcc", "-shared", "-o", "ops.so", "ops.cu"], check=True)
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```python
    /// import subprocess
    ///
    /// subprocess.run(["hipcc", "-shared", "-o", "ops.so", "ops.hip"], check=True)
    /// ```
    ///
    /// A call in a `try` that catches the error, in a function that looks for the tool with `shutil.which`, or in a source
    /// that checks `torch.version.hip` is not reported.
    ///
    /// ## Fix safety
    ///
    /// Display-only: the tools' options differ, and CUDA sources have to be converted first.
    ///
    /// ## References
    ///
    /// * [HIPCC](https://rocm.docs.amd.com/projects/HIPCC/en/latest/)
    /// * [rocprofv3](https://rocm.docs.amd.com/projects/rocprofiler-sdk/en/latest/how-to/using-rocprofv3.html)
    "HW116" "cuda-tool" {
        title: "A tool of the CUDA toolkit is run",
        family: VendorLibraries,
        severity: Error,
        also: [Warning "in code that continues without the tool"],
        applicability: DisplayOnly,
        targets: "every ROCm target",
        lesson: Some("port/hipify"),
        visit: [Call],
    }
}

/// A tool, and its counterpart.
pub const TOOLS: &[(&str, &str)] = &[
    ("nvcc", "Compile with hipcc; hipify CUDA sources first"),
    ("nsys", "Profile with rocprofv3 --sys-trace"),
    ("ncu", "Profile kernels with rocprof-compute"),
    ("nv-nsight-cu-cli", "Profile kernels with rocprof-compute"),
    ("nvprof", "Profile with rocprofv3 --kernel-trace --stats"),
    ("cuda-gdb", "Debug with rocgdb"),
    (
        "compute-sanitizer",
        "Build with clang's address sanitizer for HIP",
    ),
    (
        "cuda-memcheck",
        "Build with clang's address sanitizer for HIP",
    ),
    (
        "cuobjdump",
        "Inspect code objects with llvm-objdump or roc-obj-ls",
    ),
    (
        "trtexec",
        "Compile the model with MIGraphX's migraphx-driver",
    ),
    (
        "trtllm-build",
        "Serve the model with vLLM, which supports ROCm",
    ),
    (
        "polygraphy",
        "Compile the model with MIGraphX's migraphx-driver",
    ),
    (
        "trtllm-serve",
        "Serve the model with vLLM, which supports ROCm",
    ),
    (
        "nvdisasm",
        "Inspect code objects with llvm-objdump or roc-obj-ls",
    ),
    ("ptxas", "Compile with hipcc; hipify CUDA sources first"),
    ("dcgmi", "Query the GPUs with amd-smi"),
    ("gpustat", "Query the GPUs with amd-smi"),
    ("nvitop", "Query the GPUs with amd-smi"),
    (
        "nvidia-ctk",
        "Install amd-container-toolkit, or pass /dev/kfd and /dev/dri",
    ),
    (
        "nvidia-cuda-mps-control",
        "Remove it: processes share an AMD GPU without a daemon",
    ),
];

/// The checks are in `rules/strings`: they start from the name of a tool.
fn check(_: &PythonChecker<'_>, _: Node) {}
