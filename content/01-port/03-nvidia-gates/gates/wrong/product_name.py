# fails: case_hopper
# message: A list of product names misses products. Use the capability, on CUDA builds only.
"""`gpu` has what PyTorch reports: `name`, `major`, `minor`, `warp_size`, `gcnArchName`, `hip`.

`hip` is `torch.version.hip`: a string on a ROCm build, None on a CUDA build. `gcnArchName` is the
product name on a CUDA build.
"""

import torch


def runs_hopper_kernels(gpu) -> bool:
    """True on NVIDIA GPUs of compute capability 9.0 only."""
    # hole: hopper
    return "H100" in gpu.name
    # end: hopper


def fp8_dtype(gpu):
    """FP8 format of the matrix units, or None: fnuz on gfx942, fn on gfx950 and from sm_89 on."""
    # hole: fp8
    if gpu.hip is None:
        return torch.float8_e4m3fn if (gpu.major, gpu.minor) >= (8, 9) else None
    # The name has feature flags after a colon: gfx942:sramecc+:xnack-
    arch = gpu.gcnArchName.split(":")[0]
    return {"gfx942": torch.float8_e4m3fnuz, "gfx950": torch.float8_e4m3fn}.get(arch)
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
