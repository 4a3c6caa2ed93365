"""`gpu` has what PyTorch reports: `name`, `major`, `minor`, `warp_size`, `gcnArchName`, `hip`.

`hip` is `torch.version.hip`: a string on a ROCm build, None on a CUDA build. `gcnArchName` is the
product name on a CUDA build.
"""

import torch


def runs_hopper_kernels(gpu) -> bool:
    """True on NVIDIA GPUs of compute capability 9.0 only."""
    # hole: hopper
    return gpu.major >= 9
    # end: hopper


def fp8_dtype(gpu):
    """FP8 format of the matrix units, or None: fnuz on gfx942, fn on gfx950 and from sm_89 on."""
    # hole: fp8
    return torch.float8_e4m3fn if (gpu.major, gpu.minor) >= (8, 9) else None
    # end: fp8


def is_out_of_memory(error: Exception) -> bool:
    """True for an out-of-memory error of either vendor."""
    # hole: memory
    return "CUDA out of memory" in str(error)
    # end: memory


def threads(gpu, warps: int) -> int:
    """Threads of a block with so many wavefronts (warps)."""
    # hole: lanes
    return warps * 32
    # end: lanes
