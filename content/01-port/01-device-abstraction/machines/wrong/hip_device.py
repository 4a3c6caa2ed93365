# fails: case_device
# message: PyTorch has no device of this name. The name of an AMD GPU is `cuda`.
"""The queries of a job about its machine: vendor, device and dtype."""

import torch


def vendor() -> str | None:
    """The vendor PyTorch was built for, also without a GPU: "amd", "nvidia" or None."""
    # hole: vendor
    # The build decides, so the answer is right on a login node without a GPU too.
    if torch.version.hip is not None:
        return "amd"
    return "nvidia" if torch.version.cuda is not None else None
    # end: vendor


def pick_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    # hole: device
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("hip" if vendor() == "amd" else "cuda")
    # end: device


def pick_dtype(device: torch.device) -> torch.dtype:
    """float16 on a GPU that only emulates bfloat16, else bfloat16."""
    # hole: dtype
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16
    return torch.bfloat16
    # end: dtype
