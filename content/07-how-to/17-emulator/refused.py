# test: run
"""Two programs that the emulator refuses, with the reason."""

import torch
import triton
import triton.language as tl
from hipward_kernels.emulate import EmulationError, launch


@triton.jit
def double(x_ptr, sums_ptr, BLOCK: tl.constexpr, PRINT: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if PRINT:
        tl.device_print("x", x)
    tl.store(sums_ptr, tl.sum(x, axis=0))
    tl.store(x_ptr + at, x * 2)


# anchor: attempts
ATTEMPTS = {"another architecture": ("gfx1100", False), "a print in the kernel": ("gfx942", True)}
for name, (arch, with_print) in ATTEMPTS.items():
    try:
        launch(arch, double, (1,), (torch.zeros(64), torch.zeros(1)), {"BLOCK": 64, "PRINT": with_print}, num_warps=1)
    except EmulationError as error:
        print(f"{name}: {error}")
    else:
        raise AssertionError(f"{name} was not refused")
# end: attempts
