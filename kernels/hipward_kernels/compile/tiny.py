"""The smallest kernel, which a worker compiles to warm up."""

import triton
import triton.language as tl

SIGNATURE = {"x_ptr": "*fp32", "BLOCK": "constexpr"}


@triton.jit
def tiny_kernel(x_ptr, BLOCK: tl.constexpr):
    """Adds one to each of `BLOCK` numbers."""
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at) + 1)
