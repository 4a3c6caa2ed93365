# test: compile
"""The forward kernel of the page before, to compile for several GPUs."""

import triton
import triton.language as tl


@triton.jit
def rms_norm_forward(
    x_ptr, weight_ptr, y_ptr, rstd_ptr, stride, columns, eps, BLOCK: tl.constexpr
):
    """One program per row: read the row once, keep it in registers, write it once."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * stride + column, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    tl.store(rstd_ptr + row, rstd)
    y = (x * rstd * weight).to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + row * columns + column, y, mask=mask)
