"""SiLU×mul in Triton: forward and backward, one pass over memory each.

With `s = sigmoid(gate)`:

    y     = gate * s * up
    dgate = dy * up * s * (1 + gate * (1 - s))
    dup   = dy * gate * s
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative
from hipward_kernels.ops.launch import (
    COLUMN_BLOCK,
    WARP_SIZE,
    as_rows,
    launch_device,
    next_power_of_two,
    warps,
)


@triton.jit
def forward_kernel(gate_ptr, up_ptr, y_ptr, gate_stride, up_stride, columns, BLOCK: tl.constexpr):
    """Program `(r, b)` handles columns of block `b` in row `r`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    gate = tl.load(gate_ptr + row * gate_stride + column, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + column, mask=mask, other=0.0).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_kernel(
    dy_ptr,
    gate_ptr,
    up_ptr,
    dgate_ptr,
    dup_ptr,
    dy_stride,
    gate_stride,
    up_stride,
    columns,
    BLOCK: tl.constexpr,
):
    """Program `(r, b)` handles columns of block `b` in row `r`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    dy = tl.load(dy_ptr + row * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + row * gate_stride + column, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + column, mask=mask, other=0.0).to(tl.float32)
    s = tl.sigmoid(gate)
    dgate = dy * up * s * (1 + gate * (1 - s))
    dup = dy * gate * s
    at = row * columns + column
    tl.store(dgate_ptr + at, dgate.to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + at, dup.to(dup_ptr.dtype.element_ty), mask=mask)


def column_block(columns: int) -> int:
    """Columns that one program handles."""
    return min(next_power_of_two(columns), COLUMN_BLOCK)


def _forward(gate: Tensor, up: Tensor) -> Tensor:
    y = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    if gate.numel() == 0:
        return y
    gate, up = as_rows(gate), as_rows(up)
    rows, columns = gate.shape
    block = column_block(columns)
    with launch_device(gate):
        forward_kernel[(rows, triton.cdiv(columns, block))](
            gate,
            up,
            y,
            gate.stride(0),
            up.stride(0),
            columns,
            BLOCK=block,
            num_warps=warps(block, WARP_SIZE),
        )
    return y


def _backward(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    dgate = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
    dup = torch.empty_like(dgate)
    if gate.numel() == 0:
        return dgate, dup
    dy, gate, up = as_rows(dy), as_rows(gate), as_rows(up)
    rows, columns = gate.shape
    block = column_block(columns)
    with launch_device(gate):
        backward_kernel[(rows, triton.cdiv(columns, block))](
            dy,
            gate,
            up,
            dgate,
            dup,
            dy.stride(0),
            gate.stride(0),
            up.stride(0),
            columns,
            BLOCK=block,
            num_warps=warps(block, WARP_SIZE),
        )
    return dgate, dup


class _SiLUMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        return _forward(gate, up)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        refuse_second_derivative("silu_mul")
        return _backward(dy, *ctx.saved_tensors)


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """See `hipward_kernels.ops.silu_mul`."""
    if (gate.requires_grad or up.requires_grad) and torch.is_grad_enabled():
        return _SiLUMul.apply(gate, up)  # type: ignore[no-any-return]
    return _forward(gate, up)
