"""The queries of a job about its machine: vendor, device and dtype."""

import torch


def vendor() -> str | None:
    """The vendor PyTorch was built for, also without a GPU: "amd", "nvidia" or None."""
    # hole: vendor
    return "nvidia" if torch.cuda.is_available() else None
    # end: vendor


def pick_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    # hole: device
    if torch.version.cuda is None:
        raise RuntimeError("this job needs a CUDA build of PyTorch")
    return torch.device("cuda")
    # end: device


def pick_dtype(device: torch.device) -> torch.dtype:
    """float16 on a GPU that only emulates bfloat16, else bfloat16."""
    # hole: dtype
    major, _ = torch.cuda.get_device_capability()
    return torch.bfloat16 if major >= 8 else torch.float16
    # end: dtype
