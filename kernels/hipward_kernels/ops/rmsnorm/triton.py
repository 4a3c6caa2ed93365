"""RMSNorm in Triton: forward and backward.

With `r = 1 / sqrt(mean(x**2) + eps)` and `g = dy * weight`, for each row:

    y       = x * r * weight
    dx      = r * (g - x * r**2 * mean(g * x))
    dweight = sum over rows of dy * x * r

Rows that fit are held in registers, so that `x` is read once. Longer rows are
read twice, in blocks of columns. The backward computes `r` anew instead of saving it: it has to read `x`
in any case. Each backward program sums its rows' part of `dweight` in float32; PyTorch adds the parts.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import refuse_second_derivative
from hipward_kernels.ops.launch import (
    WARP_SIZE,
    as_rows,
    compute_units,
    launch_device,
    row_block,
    warps,
)

FORWARD_ROW_LIMIT = 32768
"""Longest row that a forward program holds in registers: past it, gfx942 spills with its most waves, 16."""

BACKWARD_ROW_LIMIT = 16384
"""The same for a backward program, which holds four vectors of a row's length."""

PROGRAMS_PER_COMPUTE_UNIT = 4
"""Backward programs in flight: enough to hide memory latency, few enough to keep `dweight`'s parts small."""


@triton.jit
def forward_kernel(x_ptr, weight_ptr, y_ptr, x_stride, columns, eps, HAS_WEIGHT: tl.constexpr, BLOCK: tl.constexpr):
    """One program a row; the row fits into `BLOCK`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=mask, other=0.0).to(tl.float32)
    # Inductor passes Python floats as float64; without the cast the whole row would be computed in it.
    y = x * tl.rsqrt(tl.sum(x * x, 0) / columns + tl.cast(eps, tl.float32))
    if HAS_WEIGHT:
        y *= tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def forward_blocked_kernel(
    x_ptr, weight_ptr, y_ptr, x_stride, columns, eps, HAS_WEIGHT: tl.constexpr, BLOCK: tl.constexpr
):
    """One program a row, `BLOCK` columns at a time: once for the mean square, once to scale."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_stride
    y_ptr += row * columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + column, mask=column < columns, other=0.0).to(tl.float32)
        squares += x * x
    r = tl.rsqrt(tl.sum(squares, 0) / columns + tl.cast(eps, tl.float32))
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        y = tl.load(x_ptr + column, mask=mask, other=0.0).to(tl.float32) * r
        if HAS_WEIGHT:
            y *= tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + column, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    dx_ptr,
    dweight_ptr,
    dy_stride,
    x_stride,
    rows,
    columns,
    eps,
    HAS_WEIGHT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Program `p` of `P` handles the rows `p, p + P, …`; each row fits into `BLOCK`."""
    first = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    weight = tl.full((BLOCK,), 1.0, tl.float32)
    if HAS_WEIGHT:
        weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    dweight = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, rows, tl.num_programs(0)):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + column, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
        r = tl.rsqrt(tl.sum(x * x, 0) / columns + tl.cast(eps, tl.float32))
        g = dy * weight
        dx = r * (g - x * (r * r * tl.sum(g * x, 0) / columns))
        tl.store(dx_ptr + at * columns + column, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += dy * x * r
    if HAS_WEIGHT:
        tl.store(dweight_ptr + first.to(tl.int64) * columns + column, dweight, mask=mask)


@triton.jit
def row_sums_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    r_ptr,
    dot_ptr,
    dy_stride,
    x_stride,
    columns,
    eps,
    HAS_WEIGHT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """First half of the blocked backward: `r` and `mean(g * x)` of each row."""
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros((BLOCK,), tl.float32)
    products = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        x = tl.load(x_ptr + row * x_stride + column, mask=mask, other=0.0).to(tl.float32)
        g = tl.load(dy_ptr + row * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
        if HAS_WEIGHT:
            g *= tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
        squares += x * x
        products += g * x
    tl.store(r_ptr + row, tl.rsqrt(tl.sum(squares, 0) / columns + tl.cast(eps, tl.float32)))
    tl.store(dot_ptr + row, tl.sum(products, 0) / columns)


@triton.jit
def backward_blocked_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    r_ptr,
    dot_ptr,
    dx_ptr,
    dweight_ptr,
    dy_stride,
    x_stride,
    rows,
    columns,
    HAS_WEIGHT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Second half: program `(p, b)` of `(P, B)` handles columns of block `b` in the rows `p, p + P, …`."""
    first = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    weight = tl.full((BLOCK,), 1.0, tl.float32)
    if HAS_WEIGHT:
        weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    dweight = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, rows, tl.num_programs(0)):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + column, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + at)
        dx = r * (dy * weight - x * (r * r * tl.load(dot_ptr + at)))
        tl.store(dx_ptr + at * columns + column, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += dy * x * r
    if HAS_WEIGHT:
        tl.store(dweight_ptr + first.to(tl.int64) * columns + column, dweight, mask=mask)


def _forward(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return y
    rows = as_rows(x)
    count, columns = rows.shape
    weight = None if weight is None else weight.contiguous()
    block = row_block(columns, FORWARD_ROW_LIMIT)
    kernel = forward_kernel if columns <= FORWARD_ROW_LIMIT else forward_blocked_kernel
    with launch_device(x):
        kernel[(count,)](
            rows,
            x if weight is None else weight,
            y,
            rows.stride(0),
            columns,
            eps,
            HAS_WEIGHT=weight is not None,
            BLOCK=block,
            num_warps=warps(block, WARP_SIZE),
        )
    return y


def _backward(dy: Tensor, x: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor | None]:
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return dx, None if weight is None else torch.zeros_like(weight)
    x, dy = as_rows(x), as_rows(dy)
    count, columns = x.shape
    programs = min(count, compute_units(x.get_device()) * PROGRAMS_PER_COMPUTE_UNIT)
    has_weight = weight is not None
    scale = x if weight is None else weight.contiguous()
    parts = torch.empty((programs, columns) if has_weight else (1, 1), dtype=torch.float32, device=x.device)
    strides = (dy.stride(0), x.stride(0))
    block = row_block(columns, BACKWARD_ROW_LIMIT)
    options: dict[str, Any] = {
        "HAS_WEIGHT": has_weight,
        "BLOCK": block,
        "num_warps": warps(block, WARP_SIZE),
    }
    with launch_device(x):
        if columns <= BACKWARD_ROW_LIMIT:
            backward_kernel[(programs,)](dy, x, scale, dx, parts, *strides, count, columns, eps, **options)
        else:
            r, dot = torch.empty((2, count), dtype=torch.float32, device=x.device).unbind()
            row_sums_kernel[(count,)](dy, x, scale, r, dot, *strides, columns, eps, **options)
            grid = (programs, triton.cdiv(columns, block))
            backward_blocked_kernel[grid](dy, x, scale, r, dot, dx, parts, *strides, count, columns, **options)
    return dx, None if weight is None else parts.sum(0).to(weight.dtype)


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        return _forward(x, weight, eps)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor | None, None]:
        refuse_second_derivative("rmsnorm")
        x, weight = ctx.saved_tensors
        return (*_backward(dy, x, weight, ctx.eps), None)


def rmsnorm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """See `hipward_kernels.ops.rmsnorm`."""
    trains = x.requires_grad or (weight is not None and weight.requires_grad)
    if trains and torch.is_grad_enabled():
        return _RMSNorm.apply(x, weight, eps)  # type: ignore[no-any-return]
    return _forward(x, weight, eps)
