"""The queries of a job about its machine: vendor, device and dtype."""

import torch


def vendor() -> str | None:
    """The vendor PyTorch was built for, also without a GPU: "amd", "nvidia" or None."""
    # hole: vendor
    names = {"amd": torch.version.hip, "nvidia": torch.version.cuda}
    return next((name for name, build in names.items() if build), None)
    # end: vendor


def pick_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    # hole: device
    if torch.cuda.device_count() == 0:
        return torch.device("cpu")
    return torch.device("cuda")
    # end: device


def pick_dtype(device: torch.device) -> torch.dtype:
    """float16 on a GPU that only emulates bfloat16, else bfloat16."""
    # hole: dtype
    if device == torch.device("cpu") or torch.cuda.is_bf16_supported(False):
        return torch.bfloat16
    return torch.float16
    # end: dtype
