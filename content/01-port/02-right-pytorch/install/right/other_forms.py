"""What a project installs, and how its container starts."""

# hole: index
# Used beside PyPI. Its builds have a local version, which pip prefers: 2.12.0+rocm7.2 > 2.12.0.
INDEX = "https://download.pytorch.org/whl/rocm7.2"
# end: index

REQUIREMENTS = [
    # hole: requirements
    "torch == 2.12.0",
    "onnxruntime-migraphx",
    "triton-rocm",
    # end: requirements
    "numpy==2.4.6",
]

DOCKER_RUN = [
    "--rm",
    # hole: devices
    "--device",
    "/dev/dri",
    "--device",
    "/dev/kfd",
    "--group-add",
    "render",
    # end: devices
]


def build_error(hip: str | None, cuda: str | None, available: bool) -> str | None:
    """Why a job for AMD GPUs cannot run, or None: called first in every job.

    `hip` and `cuda` are `torch.version.hip` and `.cuda`; `available` is `torch.cuda.is_available()`.
    """
    # hole: check
    if hip and available:
        return None
    if hip:
        return "no device"
    return "CUDA build" if cuda else "CPU build"
    # end: check
