"""The part of a setup.py that PyTorch's hipify does not translate."""


def extension(hip: str | None, version: str) -> dict:
    """Arguments of `CUDAExtension`; `hip` is `torch.version.hip`, None on a CUDA build."""
    # hole: libraries
    libraries = ["cublas", "nccl"]
    # end: libraries
    # hole: flags
    flags = ["-O3", f"-DOPS_VERSION={version}", "--use_fast_math"]
    flags += ["-gencode", "arch=compute_90,code=sm_90"]
    # end: flags
    return {
        "name": "ops",
        # hole: sources
        "sources": ["ops.cpp", "ops.hip" if hip else "ops.cu"],
        # end: sources
        "libraries": libraries,
        "extra_compile_args": {"cxx": ["-O3"], "nvcc": flags},
    }
