"""LayerNorm in Triton: forward and backward.

With `r = 1 / sqrt(variance + eps)`, `z = (x - mean) * r` and `g = dy * weight`, for each row:

    y       = z * weight + bias
    dx      = r * (g - mean(g) - z * mean(g * z))
    dweight = sum over rows of dy * z
    dbias   = sum over rows of dy

A row that fits is loaded into registers once. Longer rows are read in blocks of columns: for the mean, for the variance
around it, and to scale. The forward saves mean and `r` of each row for the backward. Each backward program sums
`dweight` and `dbias` over its rows in float32; PyTorch adds these partial sums.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.launch import (
    as_rows,
    backward_programs,
    compute_units,
    launch,
    launch_device,
    row_block,
    row_limit,
    warp_size_of,
    warps,
)
from hipward_kernels.ops.layernorm.autograd import Statistics, function

BACKWARD_ROW_LIMIT = 16384
"""Longest row that a backward program loads into registers: it needs five vectors of a row's length."""


@triton.jit
def forward_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    means_ptr,
    scales_ptr,
    x_stride,
    columns,
    eps,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    SAVE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program per row; the row fits into `BLOCK`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=mask, other=0.0).to(tl.float32)
    # Loaded before the sums over the row, to overlap with them.
    if HAS_WEIGHT:
        weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    if HAS_BIAS:
        bias = tl.load(bias_ptr + column, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    # Inductor passes Python floats as float64; without the cast, the whole row would be computed in float64.
    r = tl.rsqrt(tl.sum(centred * centred, 0) / columns + tl.cast(eps, tl.float32))
    y = centred * r
    if HAS_WEIGHT:
        y *= weight
    if HAS_BIAS:
        y += bias
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)
    if SAVE:
        tl.store(means_ptr + row, mean)
        tl.store(scales_ptr + row, r)


@triton.jit
def forward_blocked_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    means_ptr,
    scales_ptr,
    x_stride,
    columns,
    eps,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    SAVE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program per row, `BLOCK` columns at a time: once for the mean, once for the variance, once to scale."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_stride
    y_ptr += row * columns
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + column, mask=column < columns, other=0.0).to(tl.float32)
    mean = tl.sum(sums, 0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        centred = tl.where(mask, tl.load(x_ptr + column, mask=mask, other=0.0).to(tl.float32) - mean, 0.0)
        squares += centred * centred
    r = tl.rsqrt(tl.sum(squares, 0) / columns + tl.cast(eps, tl.float32))
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        y = (tl.load(x_ptr + column, mask=mask, other=0.0).to(tl.float32) - mean) * r
        if HAS_WEIGHT:
            y *= tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
        if HAS_BIAS:
            y += tl.load(bias_ptr + column, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + column, y.to(y_ptr.dtype.element_ty), mask=mask)
    if SAVE:
        tl.store(means_ptr + row, mean)
        tl.store(scales_ptr + row, r)


@triton.jit
def backward_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    means_ptr,
    scales_ptr,
    dx_ptr,
    dweight_ptr,
    dbias_ptr,
    dy_stride,
    x_stride,
    rows,
    columns,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Program `p` of `P` processes the rows `p, p + P, …`; each row fits into `BLOCK`."""
    first = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    weight = tl.full((BLOCK,), 1.0, tl.float32)
    if HAS_WEIGHT:
        weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    dweight = tl.zeros((BLOCK,), tl.float32)
    dbias = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, rows, tl.num_programs(0)):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + column, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
        r = tl.load(scales_ptr + at)
        # Outside the row z is not zero, but g and dy are.
        z = (x - tl.load(means_ptr + at)) * r
        g = dy * weight
        dx = r * (g - tl.sum(g, 0) / columns - z * (tl.sum(g * z, 0) / columns))
        tl.store(dx_ptr + at * columns + column, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += dy * z
        dbias += dy
    part = first.to(tl.int64) * columns + column
    if HAS_WEIGHT:
        tl.store(dweight_ptr + part, dweight, mask=mask)
    if HAS_BIAS:
        tl.store(dbias_ptr + part, dbias, mask=mask)


@triton.jit
def row_sums_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    means_ptr,
    scales_ptr,
    level_ptr,
    along_ptr,
    dy_stride,
    x_stride,
    columns,
    HAS_WEIGHT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """First half of the backward of long rows: `mean(g)` and `mean(g * z)` of each row."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_stride
    dy_ptr += row * dy_stride
    mean = tl.load(means_ptr + row)
    r = tl.load(scales_ptr + row)
    sums = tl.zeros((BLOCK,), tl.float32)
    products = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        x = tl.load(x_ptr + column, mask=mask, other=0.0).to(tl.float32)
        g = tl.load(dy_ptr + column, mask=mask, other=0.0).to(tl.float32)
        if HAS_WEIGHT:
            g *= tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
        sums += g
        products += g * ((x - mean) * r)
    tl.store(level_ptr + row, tl.sum(sums, 0) / columns)
    tl.store(along_ptr + row, tl.sum(products, 0) / columns)


@triton.jit
def backward_blocked_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    means_ptr,
    scales_ptr,
    level_ptr,
    along_ptr,
    dx_ptr,
    dweight_ptr,
    dbias_ptr,
    dy_stride,
    x_stride,
    rows,
    columns,
    HAS_WEIGHT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Second half: program `(p, b)` of `(P, B)` processes the columns of block `b` in the rows `p, p + P, …`."""
    first = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    weight = tl.full((BLOCK,), 1.0, tl.float32)
    if HAS_WEIGHT:
        weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    dweight = tl.zeros((BLOCK,), tl.float32)
    dbias = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, rows, tl.num_programs(0)):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + column, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
        r = tl.load(scales_ptr + at)
        z = (x - tl.load(means_ptr + at)) * r
        dx = r * (dy * weight - tl.load(level_ptr + at) - z * tl.load(along_ptr + at))
        tl.store(dx_ptr + at * columns + column, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += dy * z
        dbias += dy
    part = first.to(tl.int64) * columns + column
    if HAS_WEIGHT:
        tl.store(dweight_ptr + part, dweight, mask=mask)
    if HAS_BIAS:
        tl.store(dbias_ptr + part, dbias, mask=mask)


def forward(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, save: bool
) -> tuple[Tensor, Statistics | None]:
    """LayerNorm of `x` without autograd, and the statistics of its rows."""
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    rows = as_rows(x) if x.numel() else x.reshape(0, max(x.shape[-1], 1))
    count, columns = rows.shape
    # Tensors of their own: in compiled code, two views of one tensor lose what a kernel writes to one of them.
    mean, scale = (torch.empty(count if save else 0, dtype=torch.float32, device=x.device) for _ in range(2))
    statistics = Statistics(mean, scale) if save else None
    if count == 0:
        return y, statistics
    parameters = [rows if p is None else p.contiguous() for p in (weight, bias)]
    warp_size = warp_size_of(x.get_device())
    block = row_block(columns, row_limit(warp_size))
    kernel = forward_kernel if block >= columns else forward_blocked_kernel
    arguments = (rows, *parameters, y, mean if save else y, scale if save else y, rows.stride(0), columns, eps)
    constants = {"HAS_WEIGHT": weight is not None, "HAS_BIAS": bias is not None, "SAVE": save, "BLOCK": block}
    with launch_device(x):
        launch(kernel, (count,), arguments, constants, warps(block, warp_size))
    return y, statistics


def backward(
    dy: Tensor, x: Tensor, weight: Tensor | None, bias: Tensor | None, statistics: Statistics
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Gradients of `x`, of the weight and of the bias."""
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel() == 0:
        dweight, dbias = (None if p is None else torch.zeros_like(p) for p in (weight, bias))
        return dx, dweight, dbias
    x, dy = as_rows(x), as_rows(dy)
    count, columns = x.shape
    block = row_block(columns, BACKWARD_ROW_LIMIT)
    warp_size = warp_size_of(x.get_device())
    num_warps = warps(block, warp_size)
    programs = backward_programs(count, num_warps, warp_size, compute_units(x.get_device()))
    kinds = {"HAS_WEIGHT": weight is not None, "HAS_BIAS": bias is not None}
    dweight, dbias = (
        torch.empty((programs, columns) if kind else (1, 1), dtype=torch.float32, device=x.device)
        for kind in kinds.values()
    )
    scale = x if weight is None else weight.contiguous()
    inputs, strides = (dy, x, scale, statistics.mean, statistics.scale), (dy.stride(0), x.stride(0))
    with launch_device(x):
        if block >= columns:
            arguments = (*inputs, dx, dweight, dbias, *strides, count, columns)
            launch(backward_kernel, (programs,), arguments, {**kinds, "BLOCK": block}, num_warps)
        else:
            level, along = (torch.empty(count, dtype=torch.float32, device=x.device) for _ in range(2))
            sums = {"HAS_WEIGHT": weight is not None, "BLOCK": block}
            launch(row_sums_kernel, (count,), (*inputs, level, along, *strides, columns), sums, num_warps)
            grid = (programs, triton.cdiv(columns, block))
            blocked = (*inputs, level, along, dx, dweight, dbias, *strides, count, columns)
            launch(backward_blocked_kernel, grid, blocked, {**kinds, "BLOCK": block}, num_warps)
    return (
        dx,
        None if weight is None else dweight.sum(0).to(weight.dtype),
        None if bias is None else dbias.sum(0).to(bias.dtype),
    )


trained = function(forward, backward)


def layernorm(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """See `hipward_kernels.ops.layernorm`."""
    if trains(x, weight, bias):
        return trained(x, weight, bias, eps)  # type: ignore[no-any-return]
    return forward(x, weight, bias, eps, save=False)[0]


def layernorm_with_statistics(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """See `hipward_kernels.ops.layernorm.FORWARD`."""
    y, statistics = forward(x, weight, bias, eps, save=True)
    assert statistics is not None  # noqa: S101 - for the type checker
    return y, statistics.mean, statistics.scale


def layernorm_backward(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, scale: Tensor, dy: Tensor
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """See `hipward_kernels.ops.layernorm.BACKWARD`."""
    return backward(dy, x, weight, bias, Statistics(mean, scale))
