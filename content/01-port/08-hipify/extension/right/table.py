"""The part of a setup.py that PyTorch's hipify does not translate."""


def extension(hip: str | None, version: str) -> dict:
    """Arguments of `CUDAExtension`; `hip` is `torch.version.hip`, None on a CUDA build."""
    # hole: libraries
    libraries = ["cublas", "nccl"]
    if hip is not None:
        libraries = ["rocblas", "hipblas", "rccl"]
    # end: libraries
    # hole: flags
    flags = [f"-DOPS_VERSION={version}", "-O3"]
    flags += ["-ffast-math", "-munsafe-fp-atomics"] if hip else ["-gencode=arch=compute_90,code=sm_90", "-use_fast_math"]
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
