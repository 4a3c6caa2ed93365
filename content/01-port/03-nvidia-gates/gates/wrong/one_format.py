# fails: case_fp8
# message: gfx942 and gfx950 have different formats, and gfx90a has none.
"""`gpu` has what PyTorch reports: `name`, `major`, `minor`, `warp_size`, `gcnArchName`, `hip`.

`hip` is `torch.version.hip`: a string on a ROCm build, None on a CUDA build. `gcnArchName` is the
product name on a CUDA build.
"""

import torch


def runs_hopper_kernels(gpu) -> bool:
    """True on NVIDIA GPUs of compute capability 9.0 only."""
    # hole: hopper
    # An MI250X has the capability (9, 0) too, so the vendor is part of the question.
    return gpu.hip is None and (gpu.major, gpu.minor) == (9, 0)
    # end: hopper


def fp8_dtype(gpu):
    """FP8 format of the matrix units, or None: fnuz on gfx942, fn on gfx950 and from sm_89 on."""
    # hole: fp8
    return torch.float8_e4m3fnuz if gpu.hip else torch.float8_e4m3fn
    # end: fp8


def is_out_of_memory(error: Exception) -> bool:
    """True for an out-of-memory error of either vendor."""
    # hole: memory
    # The class is the same on both vendors, the text is not.
    return isinstance(error, torch.OutOfMemoryError)
    # end: memory


def threads(gpu, warps: int) -> int:
    """Threads of a block with so many wavefronts (warps)."""
    # hole: lanes
    return warps * gpu.warp_size  # 64 on gfx90a, gfx942 and gfx950; 32 on NVIDIA and on RDNA
    # end: lanes
