# fails: case_dx, case_dweight, case_sum, case_kernels, case_model
# message: The module launches the kernel itself. Call `RMSNormFunction.apply`.
"""RMSNorm as a module. Both kernels are right; autograd must record the launch of the first one."""

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

EPS = 1e-6
ROWS = 8  # per program


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, y_ptr, rows, columns, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (column < columns)
    x = tl.load(x_ptr + row * columns + column, mask=mask, other=0.0)
    weight = tl.load(weight_ptr + column, mask=column < columns, other=0.0)
    r = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / columns + eps)
    tl.store(y_ptr + row * columns + column, x * r * weight, mask=mask)


@triton.jit
def rmsnorm_backward_kernel(
    dy_ptr, x_ptr, weight_ptr, dx_ptr, parts_ptr, rows, columns, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Writes dx, and to `parts` the share of each element of x in dweight, which is its sum over the rows."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (column < columns)
    at = row * columns + column
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + at, mask=mask, other=0.0)
    g = dy * tl.load(weight_ptr + column, mask=column < columns, other=0.0)
    r = tl.rsqrt(tl.sum(x * x, axis=1, keep_dims=True) / columns + eps)
    dot = tl.sum(g * x, axis=1, keep_dims=True) / columns
    tl.store(dx_ptr + at, r * (g - x * r * r * dot), mask=mask)
    tl.store(parts_ptr + at, dy * x * r, mask=mask)


def launch(kernel, *tensors: Tensor) -> None:
    """Launches a kernel on contiguous tensors, of which the first has the shape (rows, columns)."""
    rows, columns = tensors[0].shape
    grid, block = (triton.cdiv(rows, ROWS),), triton.next_power_of_2(columns)
    kernel[grid](*tensors, rows, columns, EPS, ROWS=ROWS, BLOCK=block)


class RMSNormFunction(torch.autograd.Function):
    # hole: function
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        y = torch.empty_like(x)
        launch(rmsnorm_kernel, x, weight, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dx, parts = torch.empty_like(x), torch.empty_like(x)
        # The gradient of a sum is one value with strides of 0, and the kernel computes addresses.
        launch(rmsnorm_backward_kernel, dy.contiguous(), x, weight, dx, parts)
        return dx, parts.sum(0)
    # end: function


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        # hole: module
        y = torch.empty_like(x)
        launch(rmsnorm_kernel, x, self.weight, y)
        return y
        # end: module


def without_gradient(model: nn.Module, loss: Tensor) -> list[str]:
    """Names of the parameters that need a gradient, and have none after the backward of the loss."""
    # hole: names
    loss.backward()
    return [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    # end: names
