"""Rounding rows to 8 bits in Triton: a row is read twice, the second time from cache, and written once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hipward_kernels.gpu.arch import fp8_dtype, get_gfx
from hipward_kernels.ops.launch import (
    COLUMN_BLOCK,
    as_rows,
    launch,
    launch_device,
    next_power_of_two,
    warp_size_of,
    warps,
)
from hipward_kernels.quantization.eager import SMALLEST_SCALE


@triton.jit
def quantize_kernel(x_ptr, y_ptr, scales_ptr, stride, columns, largest, smallest, BLOCK: tl.constexpr):
    """One program per row, `BLOCK` columns at a time."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride
    y_ptr += row * columns
    tops = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + column, mask=column < columns, other=0.0, eviction_policy="evict_last").to(tl.float32)
        tops = tl.maximum(tops, tl.abs(x), propagate_nan=tl.PropagateNan.ALL)
    limit = tl.cast(largest, tl.float32)
    scale = tl.maximum(tl.max(tops, 0) / limit, tl.cast(smallest, tl.float32), propagate_nan=tl.PropagateNan.ALL)
    tl.store(scales_ptr + row, scale)
    inverse = 1.0 / scale
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = column < columns
        x = tl.load(x_ptr + column, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        y = tl.clamp(x * inverse, -limit, limit)
        tl.store(y_ptr + column, y.to(y_ptr.dtype.element_ty), mask=mask)


def column_block(columns: int) -> int:
    """Columns per iteration of a program."""
    return min(next_power_of_two(columns), COLUMN_BLOCK)


def quantize_rows(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Values and scales; see `hipward_kernels.quantization.quantize`."""
    # Compilers can round only to the format of the matrix units.
    if not x.numel() or fp8_dtype(get_gfx(x.get_device())) is not dtype:
        return NotImplemented  # type: ignore[no-any-return]
    rows = as_rows(x)
    count, columns = rows.shape
    values = torch.empty((count, columns), dtype=dtype, device=x.device)
    scales = torch.empty((count, 1), dtype=torch.float32, device=x.device)
    block = column_block(columns)
    with launch_device(x):
        launch(
            quantize_kernel,
            (count,),
            (rows, values, scales, rows.stride(0), columns, torch.finfo(dtype).max, SMALLEST_SCALE),
            {"BLOCK": block},
            warps(block, warp_size_of(x.get_device())),
        )
    return values, scales
