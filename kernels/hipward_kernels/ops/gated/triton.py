"""Gated activations in Triton: forward and backward, one pass over memory each.

With `y = f(gate) * up`:

    dgate = dy * up * f'(gate)
    dup   = dy * f(gate)

SiLU: `f(g) = g * s` with `s = sigmoid(g)`, so `f'(g) = s + f(g) * (1 - s)`. GELU's tanh form is the same with
`s = sigmoid(2 * i)` and `i = sqrt(2 / pi) * (g + 0.044715 * g**3)`, since `(1 + tanh(i)) / 2` is `sigmoid(2 * i)`: then
`f'(g) = s + f(g) * (1 - s) * 2 * i'`. This needs one exponential and no clamp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.gated.autograd import function
from hipward_kernels.ops.launch import (
    COLUMN_BLOCK,
    as_rows,
    launch,
    launch_device,
    next_power_of_two,
    warp_size_of,
    warps,
)
from hipward_kernels.ops.triton_math import sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable


@triton.jit
def activation(gate, GELU: tl.constexpr):
    """`f(gate)` and `f'(gate)`."""
    if GELU:
        # In this order, a large gate overflows to infinity and a sigmoid of 0 or 1, never to NaN.
        s = sigmoid(1.5957691216057308 * gate * (1 + 0.044715 * gate * gate))
        value = gate * s
        slope = s + value * (1 - s) * (1.5957691216057308 * (1 + 0.134145 * gate * gate))
    else:
        s = sigmoid(gate)
        value = gate * s
        slope = s + value * (1 - s)
    return value, slope


@triton.jit
def forward_kernel(gate_ptr, up_ptr, y_ptr, gate_stride, up_stride, columns, GELU: tl.constexpr, BLOCK: tl.constexpr):
    """Program `(r, b)` handles columns of block `b` in row `r`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    gate = tl.load(gate_ptr + row * gate_stride + column, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + column, mask=mask, other=0.0).to(tl.float32)
    value, _ = activation(gate, GELU)
    tl.store(y_ptr + row * columns + column, (value * up).to(y_ptr.dtype.element_ty), mask=mask)


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
    GELU: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Program `(r, b)` handles columns of block `b` in row `r`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    dy = tl.load(dy_ptr + row * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + row * gate_stride + column, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * up_stride + column, mask=mask, other=0.0).to(tl.float32)
    value, slope = activation(gate, GELU)
    at = row * columns + column
    tl.store(dgate_ptr + at, (dy * up * slope).to(dgate_ptr.dtype.element_ty), mask=mask)
    tl.store(dup_ptr + at, (dy * value).to(dup_ptr.dtype.element_ty), mask=mask)


def column_block(columns: int) -> int:
    """Columns of one program."""
    return min(next_power_of_two(columns), COLUMN_BLOCK)


def forward(gate: Tensor, up: Tensor, gelu: bool) -> Tensor:
    """`f(gate) * up`, without autograd."""
    y = torch.empty_like(gate, memory_format=torch.contiguous_format)
    if gate.numel() == 0:
        return y
    gate, up = as_rows(gate), as_rows(up)
    rows, columns = gate.shape
    block = column_block(columns)
    with launch_device(gate):
        launch(
            forward_kernel,
            (rows, triton.cdiv(columns, block)),
            (gate, up, y, gate.stride(0), up.stride(0), columns),
            {"GELU": gelu, "BLOCK": block},
            warps(block, warp_size_of(gate.get_device())),
        )
    return y


def backward(dy: Tensor, gate: Tensor, up: Tensor, gelu: bool) -> tuple[Tensor, Tensor]:
    """Gradients of `gate` and `up`."""
    dgate = torch.empty_like(gate, memory_format=torch.contiguous_format)
    dup = torch.empty_like(dgate)
    if gate.numel() == 0:
        return dgate, dup
    dy, gate, up = as_rows(dy), as_rows(gate), as_rows(up)
    rows, columns = gate.shape
    block = column_block(columns)
    with launch_device(gate):
        launch(
            backward_kernel,
            (rows, triton.cdiv(columns, block)),
            (dy, gate, up, dgate, dup, dy.stride(0), gate.stride(0), up.stride(0), columns),
            {"GELU": gelu, "BLOCK": block},
            warps(block, warp_size_of(gate.get_device())),
        )
    return dgate, dup


def gated(op: str, gelu: bool) -> Callable[[Tensor, Tensor], Tensor]:
    """`f(gate) * up`, with autograd if a gradient is required."""

    def run(gate: Tensor, up: Tensor) -> Tensor:
        return forward(gate, up, gelu)

    def differentiate(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
        return backward(dy, gate, up, gelu)

    trained = function(op, run, differentiate)

    def call(gate: Tensor, up: Tensor) -> Tensor:
        return trained(gate, up) if trains(gate, up) else run(gate, up)

    return call
