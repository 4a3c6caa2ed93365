"""What a project installs, and how its container starts."""

# hole: index
INDEX = "https://download.pytorch.org/whl/cu126"
# end: index

REQUIREMENTS = [
    # hole: requirements
    "torch==2.12.0+cu126",
    "triton==3.4.0",
    "nvidia-cublas-cu12==12.6.4.1",
    "onnxruntime-gpu",
    # end: requirements
    "numpy==2.4.6",
]

DOCKER_RUN = [
    "--rm",
    # hole: devices
    "--gpus=all",
    # end: devices
]


def build_error(hip: str | None, cuda: str | None, available: bool) -> str | None:
    """Why a job for AMD GPUs cannot run, or None: called first in every job.

    `hip` and `cuda` are `torch.version.hip` and `.cuda`; `available` is `torch.cuda.is_available()`.
    """
    # hole: check
    return None if available else "no GPU"
    # end: check
