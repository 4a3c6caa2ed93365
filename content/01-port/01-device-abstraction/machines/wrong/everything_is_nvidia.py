# fails: case_vendor
# message: `torch.cuda` is the name of the GPU on both vendors. A ROCm build has `torch.version.hip`.
"""The queries of a job about its machine: vendor, device and dtype."""

import torch


def vendor() -> str | None:
    """The vendor PyTorch was built for, also without a GPU: "amd", "nvidia" or None."""
    # hole: vendor
    if torch.cuda.is_available():
        return "nvidia"
    if torch.version.hip is not None:
        return "amd"
    return "nvidia" if torch.version.cuda is not None else None
    # end: vendor


def pick_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    # hole: device
    # "cuda" is the name of an AMD GPU as well.
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # end: device


def pick_dtype(device: torch.device) -> torch.dtype:
    """float16 on a GPU that only emulates bfloat16, else bfloat16."""
    # hole: dtype
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16
    return torch.bfloat16
    # end: dtype
