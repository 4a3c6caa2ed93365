# fails: case_triton
# message: PyPI's triton is installed over the one that torch requires.
"""What a project installs, and how its container starts."""

# hole: index
# Used beside PyPI. Its builds have a local version, which pip prefers: 2.12.0+rocm7.2 > 2.12.0.
INDEX = "https://download.pytorch.org/whl/rocm7.2"
# end: index

REQUIREMENTS = [
    # hole: requirements
    "torch==2.12.0",
    "triton==3.4.0",
    "onnxruntime-migraphx",
    # end: requirements
    "numpy==2.4.6",
]

DOCKER_RUN = [
    "--rm",
    # hole: devices
    # Compute goes through /dev/kfd, memory and the devices themselves through /dev/dri.
    "--device=/dev/kfd",
    "--device=/dev/dri",
    "--group-add=video",
    # end: devices
]


def build_error(hip: str | None, cuda: str | None, available: bool) -> str | None:
    """Why a job for AMD GPUs cannot run, or None: called first in every job.

    `hip` and `cuda` are `torch.version.hip` and `.cuda`; `available` is `torch.cuda.is_available()`.
    """
    # hole: check
    if hip is None:
        return f"PyTorch was built for CUDA {cuda}" if cuda else "PyTorch was built for the CPU"
    # A ROCm build without a device: the container has no /dev/kfd, or the user lacks the group.
    return None if available else "PyTorch finds no GPU: check /dev/kfd and the group video"
    # end: check
