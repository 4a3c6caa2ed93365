"""Softmax of the rows of a matrix, one row for each program."""

import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, stride, N: tl.constexpr, BLOCK: tl.constexpr):
    """Normalizes one row of `N` numbers; `BLOCK` is the next power of two."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    x = tl.load(x_ptr + row * stride + at, mask=inside, other=-float("inf"))
    exponentials = tl.exp(x - tl.max(x))
    tl.store(y_ptr + row * stride + at, exponentials / tl.sum(exponentials), mask=inside)
