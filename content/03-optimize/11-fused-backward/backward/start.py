"""RMSNorm with a backward: one kernel for y, one for dx and the partial sums of dweight."""

import torch
import triton
import triton.language as tl

PROGRAMS = 4


@triton.jit
def forward_kernel(x_ptr, weight_ptr, y_ptr, rstd_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=mask, other=0.0)
    weight = tl.load(weight_ptr + column, mask=mask, other=0.0)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / columns + eps)
    tl.store(rstd_ptr + row, rstd)
    tl.store(y_ptr + row * columns + column, x * rstd * weight, mask=mask)


@triton.jit
def backward_kernel(dy_ptr, x_ptr, weight_ptr, rstd_ptr, dx_ptr, partial_ptr, rows, columns, BLOCK: tl.constexpr):
    """Each program processes every n-th row and writes one partial sum of the weight's gradient."""
    program = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    weight = tl.load(weight_ptr + column, mask=mask, other=0.0)
    dweight = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(program, rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * columns + column, mask=mask, other=0.0)
        dy = tl.load(dy_ptr + row * columns + column, mask=mask, other=0.0)
        rstd = tl.load(rstd_ptr + row)
        n, g = x * rstd, dy * weight
        # hole: dx
        dx = rstd * g
        # end: dx
        tl.store(dx_ptr + row * columns + column, dx, mask=mask)
        # hole: dweight
        dweight += dy
        # end: dweight
    tl.store(partial_ptr + program * columns + column, dweight, mask=mask)


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rows, columns = x.shape
        y, rstd = torch.empty_like(x), torch.empty(rows)
        forward_kernel[(rows,)](x, weight, y, rstd, columns, eps, BLOCK=triton.next_power_of_2(columns))
        ctx.save_for_backward(x, weight, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        rows, columns = x.shape
        programs = min(rows, PROGRAMS)
        dx, partial = torch.empty_like(x), torch.empty(programs, columns)
        backward_kernel[(programs,)](
            dy.contiguous(), x, weight, rstd, dx, partial, rows, columns, BLOCK=triton.next_power_of_2(columns)
        )
        # hole: results
        return dx, None, None
        # end: results


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return RMSNorm.apply(x, weight, eps)
