"""SwiGLU's activation in Triton: the forward kernel is that of `gated`, the backward writes both halves of one tensor.

With `s = sigmoid(gate)`:

    dgate = dy * up * (s + gate * s * (1 - s))
    dup   = dy * gate * s
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.gated.triton import activation, column_block
from hipward_kernels.ops.gated.triton import forward as gated_forward
from hipward_kernels.ops.launch import as_rows, launch, launch_device, warp_size_of, warps
from hipward_kernels.ops.swiglu.autograd import function


@triton.jit
def swiglu_backward_kernel(dy_ptr, x_ptr, dx_ptr, dy_stride, x_stride, columns, BLOCK: tl.constexpr):
    """Program `(r, b)` processes the columns of block `b` in row `r`, of both halves."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    x_ptr += row * x_stride
    dx_ptr += row * 2 * columns
    dy = tl.load(dy_ptr + row * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(x_ptr + column, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + columns + column, mask=mask, other=0.0).to(tl.float32)
    value, slope = activation(gate, False)
    tl.store(dx_ptr + column, (dy * up * slope).to(dx_ptr.dtype.element_ty), mask=mask)
    tl.store(dx_ptr + columns + column, (dy * value).to(dx_ptr.dtype.element_ty), mask=mask)


def forward(gate_up: Tensor) -> Tensor:
    """The activation, without autograd."""
    gate, up = gate_up.chunk(2, dim=-1)
    return gated_forward(gate, up, False)


def backward(dy: Tensor, gate_up: Tensor) -> Tensor:
    """The gradient of `gate_up`."""
    dx = torch.empty_like(gate_up, memory_format=torch.contiguous_format)
    if dx.numel() == 0:
        return dx
    x, dy = as_rows(gate_up), as_rows(dy)
    rows, columns = dy.shape
    block = column_block(columns)
    with launch_device(x):
        launch(
            swiglu_backward_kernel,
            (rows, triton.cdiv(columns, block)),
            (dy, x, dx, dy.stride(0), x.stride(0), columns),
            {"BLOCK": block},
            warps(block, warp_size_of(x.get_device())),
        )
    return dx


trained = function(forward, backward)


def swiglu(gate_up: Tensor) -> Tensor:
    """See `hipward_kernels.ops.swiglu`."""
    return trained(gate_up) if trains(gate_up) else forward(gate_up)


def swiglu_backward(gate_up: Tensor, dy: Tensor) -> Tensor:
    """See `hipward_kernels.ops.swiglu.BACKWARD`."""
    return backward(dy, gate_up)
