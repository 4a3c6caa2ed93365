# fails: case_login
# message: Without a GPU there is no name to look at. `torch.version` has the build.
"""The queries of a job about its machine: vendor, device and dtype."""

import torch


def vendor() -> str | None:
    """The vendor PyTorch was built for, also without a GPU: "amd", "nvidia" or None."""
    # hole: vendor
    if not torch.cuda.is_available():
        return None
    return "amd" if "MI" in torch.cuda.get_device_name() else "nvidia"
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
