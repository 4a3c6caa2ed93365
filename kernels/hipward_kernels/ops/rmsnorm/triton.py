"""RMSNorm in Triton: forward and backward.

With `r = 1 / sqrt(mean(x**2) + eps)` and `g = dy * weight`, for each row:

    y       = x * r * weight
    dx      = r * (g - x * r**2 * mean(g * x))
    dweight = sum over rows of dy * x * r

For add+RMSNorm, `x` is the rounded sum of two tensors, which is stored too; a gradient that reaches the sum is added
to `dx`.

A row that fits is loaded into registers once. Longer rows are read twice, in blocks of columns. The backward recomputes
`r` instead of saving it, because it reads `x` in any case. Each backward program sums `dweight` over its rows in
float32; PyTorch adds these partial sums.
"""

from __future__ import annotations

from functools import lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.dispatch import tuning
from hipward_kernels.gpu.arch import get_gfx
from hipward_kernels.ops.autograd import trains
from hipward_kernels.ops.launch import (
    INTERPRETING,
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
from hipward_kernels.ops.rmsnorm.autograd import functions

BACKWARD_ROW_LIMIT = 16384
"""Longest row that a backward program loads into registers: it needs four vectors of a row's length."""


@triton.jit
def forward_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    total_ptr,
    x_stride,
    residual_stride,
    columns,
    eps,
    ADD: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program per row; the row fits into `BLOCK`."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * x_stride + column, mask=mask, other=0.0).to(tl.float32)
    # Loaded before the sum over the row, to overlap with it.
    weight = tl.full((BLOCK,), 1.0, tl.float32)
    if HAS_WEIGHT:
        weight = tl.load(weight_ptr + column, mask=mask, other=0.0).to(tl.float32)
    if ADD:
        residual = tl.load(residual_ptr + row * residual_stride + column, mask=mask, other=0.0).to(tl.float32)
        total = (x + residual).to(total_ptr.dtype.element_ty)
        tl.store(total_ptr + row * columns + column, total, mask=mask)
        x = total.to(tl.float32)
    # Inductor passes Python floats as float64; without the cast, the whole row would be computed in float64.
    y = x * tl.rsqrt(tl.sum(x * x, 0) / columns + tl.cast(eps, tl.float32))
    if HAS_WEIGHT:
        y *= weight
    tl.store(y_ptr + row * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def row_part(ptr, column, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, POLICY: tl.constexpr):
    """`BLOCK` columns of a row, in float32. Leaving out an unnecessary mask saves 2 % on an H200."""
    if COLUMNS % BLOCK == 0:
        part = tl.load(ptr + column, eviction_policy=POLICY)
    else:
        part = tl.load(ptr + column, mask=column < COLUMNS, other=0.0, eviction_policy=POLICY)
    return part.to(tl.float32)


@triton.jit
def forward_blocked_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    y_ptr,
    total_ptr,
    x_stride,
    residual_stride,
    eps,
    ADD: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program per row, `BLOCK` columns at a time: once for the mean square, once to scale.

    The cache policies keep the row in the first-level cache after the first read, and evict it after the second.
    """
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * x_stride
    residual_ptr += row * residual_stride
    y_ptr += row * COLUMNS
    total_ptr += row * COLUMNS
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, COLUMNS, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = row_part(x_ptr, column, COLUMNS, BLOCK, "evict_last")
        if ADD:
            # The sum is computed again below: that costs a read, but needs no barrier between a store and a load of it.
            x += row_part(residual_ptr, column, COLUMNS, BLOCK, "evict_last")
            x = x.to(total_ptr.dtype.element_ty).to(tl.float32)
        squares += x * x
    r = tl.rsqrt(tl.sum(squares, 0) / COLUMNS + tl.cast(eps, tl.float32))
    for start in range(0, COLUMNS, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = None if COLUMNS % BLOCK == 0 else column < COLUMNS
        x = row_part(x_ptr, column, COLUMNS, BLOCK, "evict_first")
        if ADD:
            x += row_part(residual_ptr, column, COLUMNS, BLOCK, "evict_first")
            total = x.to(total_ptr.dtype.element_ty)
            tl.store(total_ptr + column, total, mask=mask)
            x = total.to(tl.float32)
        y = x * r
        if HAS_WEIGHT:
            y *= row_part(weight_ptr, column, COLUMNS, BLOCK, "evict_last")
        tl.store(y_ptr + column, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def backward_kernel(
    dy_ptr,
    x_ptr,
    weight_ptr,
    dtotal_ptr,
    dx_ptr,
    dweight_ptr,
    dy_stride,
    x_stride,
    dtotal_stride,
    rows,
    columns,
    eps,
    ADD: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
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
    for row in range(first, rows, tl.num_programs(0)):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + column, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
        r = tl.rsqrt(tl.sum(x * x, 0) / columns + tl.cast(eps, tl.float32))
        g = dy * weight
        dx = r * (g - x * (r * r * tl.sum(g * x, 0) / columns))
        if ADD:
            dx += tl.load(dtotal_ptr + at * dtotal_stride + column, mask=mask, other=0.0).to(tl.float32)
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
    dtotal_ptr,
    dx_ptr,
    dweight_ptr,
    dy_stride,
    x_stride,
    dtotal_stride,
    rows,
    columns,
    ADD: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
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
    for row in range(first, rows, tl.num_programs(0)):
        at = tl.cast(row, tl.int64)
        x = tl.load(x_ptr + at * x_stride + column, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at * dy_stride + column, mask=mask, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + at)
        dx = r * (dy * weight - x * (r * r * tl.load(dot_ptr + at)))
        if ADD:
            dx += tl.load(dtotal_ptr + at * dtotal_stride + column, mask=mask, other=0.0).to(tl.float32)
        tl.store(dx_ptr + at * columns + column, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dweight += dy * x * r
    if HAS_WEIGHT:
        tl.store(dweight_ptr + first.to(tl.int64) * columns + column, dweight, mask=mask)


def forward_plan(op: str, x: Tensor, rows: int, columns: int) -> tuple[int, int, bool]:
    """Columns per iteration, warps, and whether a row is read twice; from the tuned table if it has the shape."""
    if torch.compiler.is_compiling() or INTERPRETING:
        block, num_warps = default_plan(columns, warp_size_of(x.get_device()))
        return block, num_warps, block < columns
    return _tuned_plan(tuning.generation, op, x.get_device(), x.dtype, rows, columns)


def default_plan(columns: int, warp_size: int) -> tuple[int, int]:
    """Columns per iteration and warps without a tuned row: the whole row up to a limit."""
    block = row_block(columns, row_limit(warp_size))
    return block, warps(block, warp_size)


@lru_cache(maxsize=4096)
def _tuned_plan(
    _generation: int, op: str, device: int, dtype: torch.dtype, rows: int, columns: int
) -> tuple[int, int, bool]:
    choice = tuning.choice(get_gfx(device), op, dtype, rows, columns)
    numbers = choice.numbers() if choice is not None and choice.tier == "triton" else {}
    block, num_warps = default_plan(columns, warp_size_of(device))
    block, num_warps = numbers.get("block", block), numbers.get("warps", num_warps)
    return block, num_warps, block < columns or bool(numbers.get("again", 0))


def forward(op: str, x: Tensor, residual: Tensor | None, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """RMSNorm of `x`, or of `x + residual`, without autograd; and the normalized input."""
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    total = x if residual is None else torch.empty_like(y)
    if x.numel() == 0:
        return y, total
    rows = as_rows(x)
    more = rows if residual is None else as_rows(residual)
    count, columns = rows.shape
    scale = rows if weight is None else weight.contiguous()
    block, num_warps, again = forward_plan(op, x, count, columns)
    arguments = (rows, more, scale, y, total, rows.stride(0), more.stride(0))
    kinds = {"ADD": residual is not None, "HAS_WEIGHT": weight is not None}
    with launch_device(x):
        if again:
            constants = {**kinds, "COLUMNS": columns, "BLOCK": block}
            launch(forward_blocked_kernel, (count,), (*arguments, eps), constants, num_warps)
        else:
            launch(forward_kernel, (count,), (*arguments, columns, eps), {**kinds, "BLOCK": block}, num_warps)
    return y, total


def backward(
    dy: Tensor,
    dtotal: Tensor | None,
    x: Tensor,
    weight: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor | None]:
    """Gradients of the normalized input `x` and of the weight; `dtotal` is added to the first."""
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    if x.numel() == 0:
        return dx, None if weight is None else torch.zeros_like(weight)
    x, dy = as_rows(x), as_rows(dy)
    count, columns = x.shape
    block = row_block(columns, BACKWARD_ROW_LIMIT)
    warp_size = warp_size_of(x.get_device())
    num_warps = warps(block, warp_size)
    programs = backward_programs(count, num_warps, warp_size, compute_units(x.get_device()))
    has_weight = weight is not None
    scale = x if weight is None else weight.contiguous()
    more = x if dtotal is None else as_rows(dtotal)
    parts = torch.empty((programs, columns) if has_weight else (1, 1), dtype=torch.float32, device=x.device)
    strides = (dy.stride(0), x.stride(0))
    constants = {"ADD": dtotal is not None, "HAS_WEIGHT": has_weight, "BLOCK": block}
    with launch_device(x):
        if columns <= BACKWARD_ROW_LIMIT:
            arguments = (dy, x, scale, more, dx, parts, *strides, more.stride(0), count, columns, eps)
            launch(backward_kernel, (programs,), arguments, constants, num_warps)
        else:
            # Two tensors: in compiled code, two views of one tensor lose what a kernel writes to one of them.
            r, dot = (torch.empty(count, dtype=torch.float32, device=x.device) for _ in range(2))
            sums = {"HAS_WEIGHT": has_weight, "BLOCK": block}
            launch(row_sums_kernel, (count,), (dy, x, scale, r, dot, *strides, columns, eps), sums, num_warps)
            grid = (programs, triton.cdiv(columns, block))
            blocked = (dy, x, scale, r, dot, more, dx, parts, *strides, more.stride(0), count, columns)
            launch(backward_blocked_kernel, grid, blocked, constants, num_warps)
    return dx, None if weight is None else parts.sum(0).to(weight.dtype)


trained_rmsnorm, trained_add_rmsnorm = functions(forward, backward)


def rmsnorm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """See `hipward_kernels.ops.rmsnorm`."""
    if trains(x, weight):
        return trained_rmsnorm(x, weight, eps)  # type: ignore[no-any-return]
    return forward("rmsnorm", x, None, weight, eps)[0]
