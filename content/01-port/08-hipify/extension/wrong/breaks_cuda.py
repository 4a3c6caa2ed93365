# fails: case_cuda
# message: The CUDA build has changed. A port must leave it as it was.
"""The part of a setup.py that PyTorch's hipify does not translate."""


def extension(hip: str | None, version: str) -> dict:
    """Arguments of `CUDAExtension`; `hip` is `torch.version.hip`, None on a CUDA build."""
    # hole: libraries
    libraries = ["hipblas", "rccl"]
    # end: libraries
    # hole: flags
    # hipcc is clang: it stops at options of nvcc. PYTORCH_ROCM_ARCH chooses its architectures.
    flags = ["-O3", f"-DOPS_VERSION={version}"]
    if hip:
        flags += ["-ffast-math"]
    else:
        flags += ["--use_fast_math", "-gencode", "arch=compute_90,code=sm_90"]
    # end: flags
    return {
        "name": "ops",
        # hole: sources
        # The name stays: hipify finds the CUDA source and writes the HIP one beside it.
        "sources": ["ops.cpp", "ops.cu"],
        # end: sources
        "libraries": libraries,
        "extra_compile_args": {"cxx": ["-O3"], "nvcc": flags},
    }
