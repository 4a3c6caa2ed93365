"""Arithmetic for Triton kernels that takes few instructions on AMD GPUs.

Triton compiles `tl.exp` for AMD with a scaling that keeps results below 2^-126, and a division to the IEEE sequence of
ten instructions. The kernels of this package need neither: what they add such results to, or multiply by them, is of
the order of one.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def exponential(x):
    """`exp(x)` by one multiplication and the GPU's instruction for `exp2`; results below 2^-126 are zero."""
    return tl.exp2(x * 1.4426950408889634)


@triton.jit
def sigmoid(x):
    """`1 / (1 + exp(-x))`, within 4 units in the last place.

    Triton has no approximate reciprocal that its interpreter runs as well. The square of the reciprocal square root
    takes two instructions.
    """
    root = tl.rsqrt(1 + exponential(-x))
    return root * root
