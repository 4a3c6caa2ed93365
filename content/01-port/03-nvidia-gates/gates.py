# test: analyze
"""Five gates, as they occur in real code. Each one decides about AMD GPUs by accident."""

import torch

WARP_SIZE = 32


def use_hopper_kernels() -> bool:
    return torch.cuda.get_device_capability()[0] >= 9


def is_supported() -> bool:
    return torch.cuda.get_device_capability() in [(8, 0), (9, 0)]


def is_large_gpu() -> bool:
    return "H100" in torch.cuda.get_device_name()


def is_out_of_memory(error: Exception) -> bool:
    return "CUDA out of memory" in str(error)


def num_warps(columns: int) -> int:
    return max(1, min(16, columns // (8 * WARP_SIZE)))
