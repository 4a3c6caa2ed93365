"""RMSNorm as a Triton kernel: one program for each row."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, y_ptr, x_stride, y_stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    # hole: mask
    # BLOCK is a power of two, the row need not be one. The lanes beyond the row load and store nothing.
    mask = column < columns
    # end: mask
    x = tl.load(x_ptr + row * x_stride + column, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    # hole: reduce
    # The zeros beyond the row add nothing to the sum. The mean is over `columns`, not over BLOCK.
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    # end: reduce
    y = x * rstd * weight
    # hole: store
    # The dtype of the output is that of its pointer: one kernel for float32, float16 and bfloat16.
    tl.store(y_ptr + row * y_stride + column, y.to(y_ptr.dtype.element_ty), mask=mask)
    # end: store


def rms_norm(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor, eps: float) -> None:
    """Writes the norm of each row of `x` to `y`. The last dimension of both is contiguous."""
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    rms_norm_kernel[(rows,)](x, weight, y, x.stride(0), y.stride(0), columns, eps, BLOCK=block)
